//! Help, the first steps, faults of the configuration, and what cannot be understood.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::Stdio;

use airlock::host::Config;
use airlock_tests::skip::skip;
use insta::assert_snapshot;
use serde_json::Value;

use super::Place;

#[test]
fn help_names_every_command() {
    assert_snapshot!(Place::new().airlock(&["--help"]), @"
    exit 0
    -- out
    Runs the tools that AI agents call: each in a sandbox, once, and with a record of what was done

    Usage: airlock [OPTIONS] <COMMAND>

    Commands:
      init         Write a commented airlock.toml and a folder for plugins
      tools        List the tools, or show one in full
      call         Call a tool
      runs         List the latest runs, or show one in full
      decide       Settle a run of which nobody knows whether it happened
      stats        Say how the calls of each tool went: how many, how they ended, how long they took,
                   what they cost
      costs        Say what calls cost, and what is left of budgets
      trace        Show all that was called in one conversation
      breakers     List the backends that are left alone, or say what holds for one
      mcp          Serve an MCP client over standard input and output
      serve        Make the calls that are left to the background, until it is ended
      setup        Print the lines by which an MCP client starts this host
      trust        Accept a plugin that changed, or list those that wait for it
      new          Begin a plugin in Rust: a folder that builds
      build        Build a plugin, put it into the folder of plugins, and accept it there
      check        Say what a component declares, imports and would be granted
      doctor       Say whether everything here is as it should be, and what would mend it
      explain      Say what a code means and what to do about it
      completions  Print what a shell needs to complete this command
      help         Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>  The configuration; else ./airlock.toml, else the one in your configuration
                           folder
          --json           Give one JSON document on standard output, also for errors
      -h, --help           Print help
      -V, --version        Print version

    Exit: 0 done, 1 the answer is `ok: false`, 2 usage or configuration, 3 the host or its store is at
    fault
    -- err
    ");
}

#[test]
fn help_of_a_command_names_what_it_takes() {
    assert_snapshot!(Place::new().airlock(&["call", "--help"]), @"
    exit 0
    -- out
    Call a tool

    Usage: airlock call [OPTIONS] <TOOL> [INPUT]

    Arguments:
      <TOOL>   The tool, such as desk.find_order
      [INPUT]  Its input as JSON, or - for standard input; where it is left out, what is piped in, else
               {}

    Options:
          --config <FILE>         The configuration; else ./airlock.toml, else the one in your
                                  configuration folder
          --key <KEY>             One key for one action: the same call with the same key is done once
          --json                  Give one JSON document on standard output, also for errors
          --preview               Say what the call would do, and do nothing: neither --key nor --out
                                  goes with it
          --background            Do not wait for it: it is made in the background, by `airlock serve`
                                  or an MCP server, and goes on for as long as a day
          --attach <FILE[:TYPE]>  A file that goes with the call, with its media type where the ending
                                  does not tell it: photo:image/png
          --out <FOLDER>          The folder to save in what comes back beside the output
          --as <CALLER>           The caller to act as: one under [callers] of the configuration
                                  [default: local]
          --user <USER>           The user on whose behalf that caller asks
          --scene <SCENE>         The scene that it asks in: one under [scenes] of the configuration
      -h, --help                  Print help
    -- err
    ");
    assert_snapshot!(Place::new().airlock(&["decide", "--help"]), @r#"
    exit 0
    -- out
    Settle a run of which nobody knows whether it happened

    Usage: airlock decide [OPTIONS] <RUN> <FOUND>

    Arguments:
      <RUN>
              The run, or the beginning of its id

      <FOUND>
              What you found out

              Possible values:
              - happened: It happened: the run is completed
              - did-not:  It did not: the run is failed, and nothing is left of it
              - again:    Do it again: another attempt

    Options:
          --config <FILE>
              The configuration; else ./airlock.toml, else the one in your configuration folder

          --data <JSON>
              With happened: what the call is to answer

          --json
              Give one JSON document on standard output, also for errors

      -h, --help
              Print help (see a summary with '-h')
    -- err
    "#);
}

#[test]
fn init_writes_the_reference_and_says_what_comes_next() {
    let place = Place::new();
    assert_snapshot!(place.airlock(&["init"]), @r#"
    exit 0
    -- out
    -- err
    wrote airlock.toml and the folder plugins
    next:
      1. put plugins (.wasm files) into plugins
      2. `airlock tools` lists their tools, `airlock tools NAME` what one needs
      3. grant what they need in airlock.toml
      4. `airlock call NAME '{…}'` calls one
    "#);
    assert_eq!(fs::read_to_string(place.path().join("airlock.toml")).unwrap(), Config::reference());
    assert_eq!(fs::read_dir(place.path().join("plugins")).unwrap().count(), 0);
}

#[test]
fn init_overwrites_nothing() {
    let place = Place::with_config("plugins = \"mine\"");
    assert_snapshot!(place.airlock(&["init"]), @r#"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: airlock.toml is there already and was left as it is
    hint: `airlock init --config FILE` writes it elsewhere
    "#);
    assert_eq!(fs::read_to_string(place.path().join("airlock.toml")).unwrap(), "plugins = \"mine\"");
    assert!(!place.path().join("mine").exists());
}

#[test]
fn init_writes_where_it_is_told() {
    let place = Place::new();
    let ran = place.airlock(&["init", "--config", "conf/airlock.toml", "--json"]);
    assert_eq!((ran.exit, ran.document()["data"]["plugins"].as_str()), (Some(0), Some("conf/plugins")));
    assert!(place.path().join("conf/plugins").is_dir());
}

#[test]
fn without_a_configuration_it_says_how_to_have_one() {
    assert_snapshot!(Place::new().airlock(&["tools"]), @r#"
    exit 2
    -- out
    -- err
    error: there is no configuration
     |
     = note: looked for airlock.toml and HOME/.config/airlock/airlock.toml
     = help: `airlock init` writes one here; `--config FILE` names another
    "#);
}

#[test]
fn a_configuration_that_is_not_there_is_told_by_name() {
    assert_snapshot!(Place::new().airlock(&["tools", "--config", "none.toml"]), @r#"
    exit 2
    -- out
    -- err
    error: none.toml cannot be read: No such file or directory (os error 2)
     |
     = help: `airlock init --config none.toml` writes one
    "#);
}

#[test]
fn the_configuration_of_the_user_is_found() {
    let place = Place::new();
    fs::create_dir_all(place.path().join(".config/airlock")).unwrap();
    let file = place.path().join(".config/airlock/airlock.toml");
    fs::write(&file, "limts = 1").unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    assert_snapshot!(place.airlock(&["runs"]), @r#"
    exit 2
    -- out
    -- err
    error: unknown setting `limts`
     --> HOME/.config/airlock/airlock.toml:1:1
      |
    1 | limts = 1
      | ^^^^^ not a setting at the top of the file
      |
      = help: did you mean `limits`?
    "#);
}

#[test]
fn a_configuration_that_others_could_have_written_is_not_obeyed() {
    let place = Place::with_config("plugins = \"mine\"");
    let set = |mode| {
        fs::set_permissions(place.path().join("airlock.toml"), Permissions::from_mode(mode)).unwrap();
    };
    set(0o664);
    assert_snapshot!(place.airlock(&["runs"]), @r#"
    exit 2
    -- out
    -- err
    error: airlock.toml is not obeyed: others than its owner can write it
     |
     = note: a file that nobody else can write
     = help: if you want what is in it: `chmod go-w airlock.toml`
    "#);
    // Nor for everybody's hand, nor where it is named.
    set(0o646);
    for arguments in [&["runs"][..], &["runs", "--config", "airlock.toml"]] {
        let ran = place.airlock(arguments);
        assert_eq!(ran.exit, Some(2));
        assert!(ran.err.contains("others than its owner can write it"), "{}", ran.err);
    }
    assert!(!place.path().join(".airlock").exists(), "nothing was begun");
    set(0o644);
    assert_eq!(place.airlock(&["runs"]).exit, Some(0));
}

#[test]
fn a_configuration_of_another_user_is_not_obeyed() {
    let place = Place::with_config("plugins = \"mine\"");
    if chown(place.path().join("airlock.toml"), Some(54321), None).is_err() {
        return skip("only root can give a file to another user");
    }
    let found = place.airlock(&["runs"]);
    assert_snapshot!(found, @r#"
    exit 2
    -- out
    -- err
    error: airlock.toml is not obeyed: it belongs to the user 54321
     |
     = note: a file of your own, or of root
     = help: if you want what is in it: `chown root airlock.toml`
    "#);
    let named = place.airlock(&["runs", "--config", "airlock.toml"]);
    assert_eq!((named.exit, named.err), (Some(2), found.err));
}

#[test]
fn a_faulty_configuration_is_told_whole_and_starts_nothing() {
    let text = "[limits]\natempt = \"5s\"\nmemory = 64\n[secrets]\ntoken = { env = \"TOKEN\" }\n";
    let place = Place::with_config(text);
    assert_snapshot!(place.airlock(&["call", "desk.find_order"]), @r#"
    exit 2
    -- out
    -- err
    error: unknown setting `limits.atempt`
     --> airlock.toml:2:1
      |
    2 | atempt = "5s"
      | ^^^^^^ not a setting of `limits`
      |
      = help: did you mean `attempt`?

    error: `limits.memory` is a number
     --> airlock.toml:3:10
      |
    3 | memory = 64
      |          ^^ a size with its unit, such as "64 KiB" or "8 MiB"
      |
      = help: write it in quotes

    error: the secret `token` is missing: the variable TOKEN is not set
     --> airlock.toml:5:17
      |
    5 | token = { env = "TOKEN" }
      |                 ^^^^^^^ a variable that holds the secret
      |
      = help: export TOKEN='…'

    airlock.toml has 3 faults
    "#);
    assert!(!place.path().join(".airlock").exists());

    let ran = place.airlock(&["call", "desk.find_order", "--json"]);
    let document = ran.document();
    assert_eq!((ran.exit, ran.err.as_str(), &document["ok"]), (Some(2), "", &Value::Bool(false)));
    assert_eq!(document["error"]["code"], "INVALID_CONFIGURATION");
    let lines = document["error"]["details"]["faults"].as_array().unwrap().iter().map(|fault| &fault["line"]);
    assert_eq!(lines.collect::<Vec<_>>(), [2, 3, 5]);
}

#[test]
fn explain_knows_every_code() {
    let place = Place::new();
    assert_snapshot!(place.airlock(&["explain"]), @"
    exit 0
    -- out
    CODE                   MEANING
    INVALID_INPUT          The input does not satisfy the tool's schema, or is no clean JSON.
    INVALID_KEY            The idempotency key cannot be used.
    UNKNOWN_TOOL           There is no such tool for this caller. A tool outside a caller's patterns or its scene, or above its highest risk, is not there for it.
    KEY_REUSED             The key was used before for another tool or another input. Nothing was run.
    KEY_EXPIRED            The key's result is no longer kept, and the tool would do its work a second time. Nothing was run.
    INVALID_CONFIGURATION  The configuration has faults, so nothing was started.
    INVALID_USAGE          The command line cannot be understood, or names a file, a folder, a caller or a scene that is not there.
    FAULTS_FOUND           What was examined has faults. Nothing was changed.
    PERMISSION_DENIED      The caller, or the user that it asks for, lacks a permission that the tool asks for; the caller or its scene is not known; or the tool's plugin changed since it was accepted (`details.suspended` names it), and waits for its operator. Nothing was run.
    NEEDS_PERSON           The tool's risk, or a rule of the operator's, asks for a person's yes, and nobody can be asked here. Nothing was run.
    BUDGET_EXCEEDED        Too little is left of what may be spent today: by all callers, by this one, or by its user, as the message says. What a call may cost at most is held before it begins. Nothing was run.
    LOOP_DETECTED          The agent calls the same in circles: the same tools with the same input, and the same reply each time. Nothing was run. The circle ends with another call, or with a reply that is another one.
    ROLLED_BACK            A person has taken the call back: whatever it did is undone. Its key gives this from then on, and nothing is run.
    OVERLOADED             Every place is taken and the queue is full, or holds as many calls of this caller or of this plugin as it may; or the sandboxes that run leave no memory for another. Nothing was run.
    CIRCUIT_OPEN           A backend that the tool needs failed again and again, so it is left alone for a while. Nothing was run; of a tool that goes to several, nothing was sent to that one.
    STORE_UNAVAILABLE      The host cannot write down what it is about to do, so it does not do it. Nothing was run.
    INTERRUPTED            The process that ran the call ended before the call did, or its caller withdrew it; nothing was left behind.
    OUTCOME_UNKNOWN        The action may have happened and may not; no answer tells.
    PARTLY_DONE            The call failed after part of its work was done; `details.done` lists it, and says in `left_because` of a change in a folder why that was not put back. Changes of folders are put back, but for those that somebody else changed since and those of a call that also did something else.
    ALREADY_DONE           The same call was made before in this conversation, and was done: `details.first` is its result, `details.run` its run. Nothing was run.
    ALREADY_RUNNING        The same call was made before in this conversation, and is under way in the run of `details.run`. Nothing was run.
    STILL_RUNNING          The call is still running, or waits to be made in the background; it goes on without the caller.
    TIME_LIMIT             An attempt took longer than it may, or all attempts of the call together did, or a call in the background was not done in its time: the message says which.
    FUEL_LIMIT             The tool computed more than a call may.
    MEMORY_LIMIT           The tool asked for more memory, or for more of the host's, than a call may have.
    OUTPUT_LIMIT           The tool gave more output, or larger attachments, than a call may.
    REQUEST_LIMIT          The tool sent more requests, or changed more files, than a call may.
    INTERNAL               The tool or the host failed inside. The caller gets no more than this; the text is in the log, under the trace id.
    INVALID_OUTPUT         The tool's output is no JSON object, or does not satisfy the schema that the tool declares for it.
    NOT_CONFIGURED         The configuration does not set a value that the tool needs. Nothing more was done.
    NOT_OFFERED            The tool has none of what it was asked for beside a call: a preview, a rollback, a fingerprint or a probe. Nothing was done.
    NO_TEXT                What the plugin keeps under a key is no text, and it asked for a text.
    REQUEST_REFUSED        The host did not let a request leave: its origin, method, path or address is not declared, or not granted.
    SECRET_REFUSED         A secret was not given to the tool: it is not declared, not granted, or is not to be used so.
    FILE_REFUSED           The host did not touch a file: its folder is not lent, or only to be read, or the path leads out of it.
    KEY_VALUE_REFUSED      The host did not read or keep a value of the plugin's own: no store is declared or granted, or what is there is as much as may be.
    SAVE_REFUSED           The host did not save something for the next attempt: it is longer than 1 MiB, or the attempt saved a hundred times.
    COST_REFUSED           The host did not enter a cost: it is more than the tool declares or than the budget of a call allows, the tool declares none where what is spent is bounded, or it spends on too many things.
    BACKEND_DENIED         The backend refuses the credentials that the tool sent (401 or 403).
    NOT_FOUND              What was asked for is not there: the backend answered 404, or the tool knows of no such thing.
    BACKEND_REJECTED       The backend refuses the request (another 4xx): nothing was done.
    FILE_NOT_FOUND         There is no such file or folder in what is lent to the plugin.
    FILE_EXISTS            There is something of that name already, and it was left as it is.
    FILE_TOO_LARGE         That is more than may be read or written at once.
    FILE_CHANGED           Somebody else has changed a file or a folder since the tool read it, or is changing it: nothing was done.
    FILE_FAILED            The system did not do what was asked with a file, for the reason that the message gives.
    BACKEND_THROTTLED      The backend asks to slow down (429): nothing was done.
    BACKEND_UNREACHABLE    Nothing left the host: there is no address, no connection or no TLS towards the backend.
    BACKEND_FAILED         The backend failed (408 or 5xx). Where the request only reads, or this status says that nothing was done, it is transient; else it may have been done.
    ANSWER_BROKEN          The answer broke off or came too late. Where the request only reads it is transient; else it may have been done.
    ANSWER_TOO_LARGE       The backend's answer is larger than a tool may be given.
    UNEXPECTED_ANSWER      The backend answered with a status that the tool has no use for, such as a redirect.
    -- err
    ");
    let ran = place.airlock(&["explain", "--json"]);
    for page in ran.document()["data"]["codes"].as_array().unwrap() {
        assert_eq!(place.airlock(&["explain", page["code"].as_str().unwrap()]).exit, Some(0));
    }
}

#[test]
fn explain_says_what_a_code_means_and_what_to_do() {
    assert_snapshot!(Place::new().airlock(&["explain", "outcome_unknown"]), @r#"
    exit 0
    -- out
    OUTCOME_UNKNOWN (unknown_outcome)

    The action may have happened and may not; no answer tells.

    What to do: Do not repeat it under a fresh key. Where `details.key` is given, the same key is safe. Else a person looks at the backend and then says `airlock decide RUN happened`, `did-not` or `again`.
    -- err
    "#);
    assert_snapshot!(Place::new().airlock(&["explain", "OUTCOME_UNKOWN"]), @"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: there is no page for the code OUTCOME_UNKOWN
    hint: did you mean OUTCOME_UNKNOWN?
    ");
}

#[test]
fn a_command_line_that_cannot_be_understood_ends_with_2() {
    let place = Place::new();
    assert_snapshot!(place.airlock(&["cal"]), @r#"
    exit 2
    -- out
    -- err
    error: unrecognized subcommand 'cal'

      tip: a similar subcommand exists: 'call'

    Usage: airlock [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    let ran = place.airlock(&["call", "--json"]);
    assert_eq!((ran.exit, ran.document()["error"]["code"].as_str()), (Some(2), Some("INVALID_USAGE")));
}

#[test]
fn a_caller_that_is_not_configured_is_no_caller() {
    let place = Place::with_config("[callers.support]\n");
    assert_snapshot!(place.airlock(&["call", "desk.find_order", "--as", "suport"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: there is no caller suport
    hint: did you mean support? else define it in airlock.toml: [callers.suport]
    ");
}

#[test]
fn a_decision_is_one_that_can_be_made() {
    let place = Place::with_config("");
    assert_snapshot!(place.airlock(&["decide", "01J", "again", "--data", "{}"]), @r#"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: --data is the answer of what happened
    hint: leave --data out, or say `happened`
    "#);
    assert_snapshot!(place.airlock(&["decide", "01J", "happened", "--data", "{"]), @r#"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: what --data gives is no JSON: EOF while parsing an object at line 1 column 1
    "#);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        Place::new().command(&["explain"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = child.wait_with_output().unwrap();
    assert_eq!((ran.status.code(), String::from_utf8(ran.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Place::new().command(&["explain"]).stdout(full).output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(
        String::from_utf8(ran.stderr).unwrap().starts_with("error[INTERNAL]: the answer cannot be written")
    );
}

/// 2 where the command line cannot be understood, or names what its writer should know: a caller, a scene, a file, a folder. What
/// is asked of the host and is not there is an answer, which is no.
#[test]
fn what_is_not_there_ends_with_1_and_what_cannot_be_asked_with_2() {
    let place = Place::with_config("");
    place.with_plugin(airlock_tests::guests::ECHO);
    let absent = [
        &["tools", "nope"][..],
        &["call", "nope.x"],
        &["runs", "nope"],
        &["runs", "01ZZ"],
        &["decide", "NOPE", "happened"],
        &["decide", "01ZZ", "again"],
        &["trace", "nope"],
        &["breakers", "open", "nope.x"],
        &["breakers", "auto", "echo.echo", "--origin", "https://nope.test"],
        &["trust", "nope"],
        &["explain", "NOPE"],
    ];
    let wrong = [
        &["nope"][..],
        &["tools", "--as", "nope"],
        &["tools", "--scene", "nope"],
        &["call", "echo.echo", "--as", "nope"],
        &["call", "echo.echo", "--attach", "nope.png"],
        &["call", "echo.echo", "--preview", "--key", "k"],
        &["mcp", "--as", "nope"],
        &["setup", "nope"],
        &["decide", "01ZZ", "nope"],
        &["decide", "01ZZ", "again", "--data", "{}"],
        &["breakers", "nope"],
        &["stats", "--since", "nope"],
        &["stats", "--tool", "no pe"],
        &["runs", "--limit", "0"],
        &["check", "nope.wasm"],
        &["build", "nope"],
        &["new", "No Pe"],
        &["completions", "nope"],
    ];
    for (exit, all) in [(1, &absent[..]), (2, &wrong)] {
        for arguments in all {
            let ran = place.airlock(arguments);
            assert_eq!(ran.exit, Some(exit), "{arguments:?}: {ran}");
            assert_eq!(ran.out, "", "{arguments:?}: {ran}");
            assert!(ran.err.starts_with("error"), "{arguments:?}: {ran}");
            let document = place.airlock(&[&["--json"], *arguments].concat()).document();
            assert_eq!(
                (&document["ok"], document["error"]["code"] == "INVALID_USAGE"),
                (&false.into(), exit == 2),
                "{arguments:?}"
            );
        }
    }
}
