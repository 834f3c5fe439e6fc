//! Secrets from files and commands: used, masked, and told where they are missing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use insta::assert_snapshot;

use super::{Place, TICKET};
use airlock_tests::backend::Backend;

/// The desk, with its token from elsewhere than a variable.
fn with_token_from(source: &str) -> (Place, Backend) {
    let (place, desk) = Place::with_desk("");
    let file = place.path().join("airlock.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("{ env = \"DESK_TOKEN\" }", source)).unwrap();
    (place, desk)
}

fn write(file: &Path, text: &str, mode: u32) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_secret_comes_from_a_file_beside_the_configuration_without_the_end_of_its_line() {
    let (place, desk) = with_token_from("{ file = \"token.txt\" }");
    write(&place.path().join("token.txt"), "desk-token\n", 0o600);
    let ran = place.airlock(&["call", "desk.create_ticket", TICKET]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(desk.counts().tickets.len(), 1);
}

#[test]
fn a_secret_comes_from_what_a_command_prints_with_the_environment_and_no_input() {
    let script = "cat; pwd >&2; printf '%s\\\\n' $DESK_TOKEN";
    let (place, desk) = with_token_from(&format!("{{ command = [\"sh\", \"-c\", \"{script}\"] }}"));
    let ran = place.airlock_reading(&["call", "desk.create_ticket", TICKET], "not-the-token");
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(desk.counts().tickets.len(), 1);
    // A program beside the configuration, and no shell: `$HOME` is a word.
    let (place, desk) = with_token_from("{ command = [\"./token.sh\", \"desk-token\", \"$HOME\"] }");
    write(&place.path().join("token.sh"), "#!/bin/sh\n[ \"$2\" = '$HOME' ] && echo \"$1\"\n", 0o700);
    let file = place.path().join("airlock.toml");
    let mut elsewhere = place.command(&["call", "desk.create_ticket", TICKET, "--config"]);
    let ran = place.ran(elsewhere.arg(&file).current_dir("/"));
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(desk.counts().tickets.len(), 1);
}

#[test]
fn secrets_that_are_missing_are_told_all_at_once_and_nothing_starts() {
    let place = Place::with_config(
        r#"[secrets]
variable = { env = "UNSET" }
absent = { file = "absent.txt" }
open = { file = "open.txt" }
empty = { file = "empty.txt" }
folder = { file = "." }
long = { file = "long.txt" }
binary = { command = ["printf", '\377'] }
silent = { command = ["true"] }
failing = { command = ["sh", "-c", "echo 'no entry named desk' >&2; exit 2"] }
unknown = { command = ["no-such-program-here", "show"] }
hollow = { command = [] }
both = { env = "DESK_TOKEN", file = "open.txt" }
nowhere = {}
"#,
    );
    write(&place.path().join("open.txt"), "s3cr3t", 0o640);
    write(&place.path().join("empty.txt"), "\n", 0o600);
    write(&place.path().join("long.txt"), &"s".repeat((64 << 10) + 1), 0o600);
    let ran = place.airlock(&["call", "desk.find_order", "{}"]);
    assert_snapshot!(ran, @r#"
    exit 2
    -- out
    -- err
    error: the secret `variable` is missing: the variable UNSET is not set
     --> airlock.toml:2:20
      |
    2 | variable = { env = "UNSET" }
      |                    ^^^^^^^ a variable that holds the secret
      |
      = help: export UNSET='…'

    error: the secret `absent` is missing: absent.txt cannot be read: No such file or directory (os error 2)
     --> airlock.toml:3:19
      |
    3 | absent = { file = "absent.txt" }
      |                   ^^^^^^^^^^^^ a file that holds the secret
      |
      = help: write it there, for your eyes alone: `install -m 600 /dev/stdin absent.txt`

    error: the secret `open` is missing: open.txt is not used: others can read it
     --> airlock.toml:4:17
      |
    4 | open = { file = "open.txt" }
      |                 ^^^^^^^^^^ a file that holds the secret
      |
      = help: `chmod 600 open.txt`, and think of who may have read it

    error: the secret `empty` is missing: empty.txt gives nothing
     --> airlock.toml:5:18
      |
    5 | empty = { file = "empty.txt" }
      |                  ^^^^^^^^^^^ a file that holds the secret
      |
      = help: write it there, for your eyes alone: `install -m 600 /dev/stdin empty.txt`

    error: the secret `folder` is missing: . cannot be read: it is no regular file
     --> airlock.toml:6:19
      |
    6 | folder = { file = "." }
      |                   ^^^ a file that holds the secret
      |
      = help: write it there, for your eyes alone: `install -m 600 /dev/stdin .`

    error: the secret `long` is missing: long.txt gives more than 64 KiB
     --> airlock.toml:7:17
      |
    7 | long = { file = "long.txt" }
      |                 ^^^^^^^^^^ a file that holds the secret
      |
      = help: write it there, for your eyes alone: `install -m 600 /dev/stdin long.txt`

    error: the secret `binary` is missing: `printf \377` gives something that is no UTF-8
     --> airlock.toml:8:22
      |
    8 | binary = { command = ["printf", '\377'] }
      |                      ^^^^^^^^^^^^^^^^^^ a command that prints the secret and nothing else
      |
      = help: run it by hand in the folder of this file, and see what it says

    error: the secret `silent` is missing: `true` gives nothing
     --> airlock.toml:9:22
      |
    9 | silent = { command = ["true"] }
      |                      ^^^^^^^^ a command that prints the secret and nothing else
      |
      = help: run it by hand in the folder of this file, and see what it says

    error: the secret `failing` is missing: `sh -c echo 'no entry named desk' >&2; exit 2` ended with exit status: 2 and said: no entry named desk
      --> airlock.toml:10:23
       |
    10 | failing = { command = ["sh", "-c", "echo 'no entry named desk' >&2; exit 2"] }
       |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a command that prints the secret and nothing else
       |
       = help: run it by hand in the folder of this file, and see what it says

    error: the secret `unknown` is missing: `no-such-program-here show` cannot be started: No such file or directory (os error 2)
      --> airlock.toml:11:23
       |
    11 | unknown = { command = ["no-such-program-here", "show"] }
       |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a command that prints the secret and nothing else
       |
       = help: run it by hand in the folder of this file, and see what it says

    error: the command of the secret `hollow` is empty
      --> airlock.toml:12:22
       |
    12 | hollow = { command = [] }
       |                      ^^ a program and what it takes, such as ["pass", "show", "desk"]

    error: the secret `both` comes from several places
      --> airlock.toml:13:1
       |
    13 | both = { env = "DESK_TOKEN", file = "open.txt" }
       | ^^^^ needs one of `env`, `file` and `command`
       |
       = help: both = { env = "BOTH" }

    error: the secret `nowhere` comes from nowhere
      --> airlock.toml:14:1
       |
    14 | nowhere = {}
       | ^^^^^^^ needs one of `env`, `file` and `command`
       |
       = help: nowhere = { env = "NOWHERE" }

    airlock.toml has 13 faults
    "#);
    assert!(!place.path().join(".airlock").exists(), "nothing was begun");
    // Commands that run no tool need none, and run none of the commands.
    let looked =
        Place::with_config("[secrets]\na = { command = [\"touch\", \"ran\"] }\nb = { file = \"none\" }\n");
    assert_eq!(looked.airlock(&["runs"]).exit, Some(0));
    assert!(!looked.path().join("ran").exists());
    assert_eq!(looked.airlock(&["tools"]).exit, Some(2));
    assert!(looked.path().join("ran").exists());
}

#[test]
fn a_secret_file_is_used_if_nobody_else_can_read_it() {
    let (place, desk) = with_token_from("{ file = \"token.txt\" }");
    for (mode, exit) in [(0o600, 0), (0o400, 0), (0o700, 0), (0o640, 2), (0o604, 2), (0o620, 2)] {
        write(&place.path().join("token.txt"), "desk-token", 0o600);
        write_mode(&place.path().join("token.txt"), mode);
        let ran = place.airlock(&["call", "desk.create_ticket", TICKET]);
        assert_eq!(ran.exit, Some(exit), "{mode:o}: {ran}");
    }
    assert_eq!(desk.counts().tickets.len(), 3);
}

fn write_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
}
