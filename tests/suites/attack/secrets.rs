//! Secrets: where they go, where they do not, and that what comes back of them is nowhere to be found.

use std::fs;
use std::path::Path;

use airlock_tests::backend::{Backend, Listener};
use airlock_tests::guests::KEEPER;
use airlock_tests::world::{World, body, code};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Open, open_world};

const TOKEN: &str = "tk-9f8e7d6c5b4a39281706-plain";
const BODY_TOKEN: &str = "bt-00112233445566778899-body";
const PINNED: &str = "pn-ffeeddccbbaa99887766-home";

/// The keeper with all its secrets, at home at this origin, and allowed to send to these.
fn keeper(token: &str, home: &str, origins: &[&str]) -> World {
    let mut world = World::new()
        .with_plugins(&[KEEPER])
        .with_config(
            "[secrets]\ntoken = { env = \"T\" }\nbody_token = { env = \"B\" }\npinned = { env = \"P\" }",
        )
        .with_config("[plugin.keeper]\nsecrets = [\"token\", \"body_token\", \"pinned\"]")
        .with_config(&format!("config = {{ home_url = \"{home}\" }}"));
    for (variable, value) in [("T", token), ("B", BODY_TOKEN), ("P", PINNED)] {
        world = world.with_variable(variable, value);
    }
    origins.iter().fold(world, |world, origin| world.with_grant("keeper", origin, &["127.0.0.1"]))
}

async fn open_keeper(token: &str, backend: &Backend) -> Open {
    open_world(keeper(token, &backend.url, &[&backend.url])).await
}

/// The files of a folder in which any of these stands.
fn found_in(folder: &Path, needles: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(found_in(&entry.path(), needles));
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        for needle in needles {
            if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                found.push(format!("{needle} in {}", entry.file_name().display()));
            }
        }
    }
    found
}

/// A value in the ways in which it may be written down.
fn written(value: &str) -> Vec<String> {
    let escaped = Value::from(value).to_string();
    let mut forms = vec![value.to_owned(), escaped.trim_matches('"').to_owned()];
    forms.dedup();
    forms
}

/// Makes a call that gives a secret away, and looks for it in the reply, the log and the record.
async fn left_of(token: &str, open: &Open, tool: &str, input: Value) -> String {
    let reply = open.call(tool, input.clone()).await;
    assert!(reply.meta.effects > 0, "the secret was to be sent: {}", body(&reply));
    let shown = serde_json::to_string(&reply).unwrap();
    let log = open.log(&reply).await;
    let record = open.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    for form in written(token) {
        assert!(!shown.contains(&form), "{input}: the reply holds it: {shown}");
        assert!(!log.contains(&form), "{input}: the log holds it: {log}");
        assert!(!format!("{record:?}").contains(&form), "{input}: the record holds it");
    }
    format!("{shown}\n{log}")
}

/// Closes the host and looks for a secret in every byte of every file that it keeps.
async fn nowhere_on_disk(open: Open, forms: &[String]) {
    open.host.close().await;
    assert_eq!(found_in(&open.world.state(), forms), [""; 0]);
    assert_ne!(found_in(&open.world.state(), &["keeper.".to_owned()]), [""; 0], "what is written is found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_comes_back_is_masked_wherever_a_guest_puts_it() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let url = format!("{}/echo", backend.url);
    for place in
        "output code message user_message details log log_fields stdout stderr trap".split_whitespace()
    {
        for bare in [false, true] {
            let input = json!({ "name": "token", "url": url, "to": place, "bare": bare });
            let left = left_of(TOKEN, &open, "keeper.leak", input).await;
            assert!(left.contains("[secret token]"), "{place}: where it stood its name stands: {left}");
        }
    }
    let sent = backend.requests().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {TOKEN}")), "the backend got it");
    nowhere_on_disk(open, &written(TOKEN)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_quotes_and_backslashes_is_masked_in_its_escapes_too() {
    let token = r#"q"uo\te-of-some-length"and\more"#;
    let backend = Backend::start().await;
    let open = open_keeper(token, &backend).await;
    let url = format!("{}/echo", backend.url);
    for place in ["output", "message", "details", "log", "log_fields", "stdout", "trap"] {
        for bare in [false, true] {
            let input = json!({ "name": "token", "url": url, "to": place, "bare": bare });
            let left = left_of(token, &open, "keeper.leak", input).await;
            assert!(left.contains("[secret token]"), "{place}: {left}");
        }
    }
    nowhere_on_disk(open, &written(token)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_looks_like_a_code_is_masked_there() {
    const TOKEN: &str = "TOKEN_IN_CAPITALS_0123456789";
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let url = format!("{}/echo", backend.url);
    let input = json!({ "name": "token", "url": url, "to": "code", "bare": true });
    let left = left_of(TOKEN, &open, "keeper.leak", input).await;
    assert!(left.contains("[secret token]"), "{left}");
    nowhere_on_disk(open, &written(TOKEN)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_the_path_of_an_effect_is_masked_in_the_journal() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let (url, to) = (format!("{}/echo", backend.url), format!("{}/settings/", backend.url));
    left_of(TOKEN, &open, "keeper.forward", json!({ "name": "token", "url": url, "to": to })).await;
    let sent = backend.requests().pop().unwrap();
    assert_eq!(sent.target, format!("/settings/{TOKEN}"), "the effect was sent");
    nowhere_on_disk(open, &written(TOKEN)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_come_back_are_masked_as_the_backend_wrote_them() {
    let backend = Backend::start().await;
    for token in [TOKEN, "hunter2"] {
        let input = json!({ "name": "token", "url": format!("{}/echo", backend.url), "place": "basic" });
        let open = open_keeper(token, &backend).await;
        let reply = open.call("keeper.use_secret", input).await;
        assert!(reply.ok(), "{}", body(&reply));
        let sent = backend.requests().pop().unwrap();
        let sent = sent.header("authorization").unwrap().strip_prefix("Basic ").unwrap().to_owned();
        assert!(sent.len() > 16, "airlock:{token} was sent");
        assert!(!body(&reply).to_string().contains(&sent), "{}", body(&reply));
        nowhere_on_disk(open, &[sent]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_several_lines_is_masked_line_by_line_wherever_a_guest_prints_it() {
    const LINES: [&str; 2] =
        ["MC4CAQAwBQYDK2VwBCIEIJ1hsZ3vU4m9Xc0aQ5tYb7Rw", "pL2kE8fGd6NjW3oVzHsTqA1yCxMuBi0J"];
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", LINES.join("\n"));
    let backend = Backend::start().await;
    let world = keeper(TOKEN, &backend.url, &[&backend.url]).with_variable("B", &key);
    let open = open_world(world).await;
    let url = format!("{}/echo", backend.url);
    for place in ["output", "message", "details", "log", "log_fields", "stdout", "stderr", "trap"] {
        for bare in [false, true] {
            let input =
                json!({ "name": "body_token", "url": url, "to": place, "bare": bare, "in_body": true });
            let left = left_of(LINES[0], &open, "keeper.leak", input).await;
            assert!(!left.contains(LINES[1]), "{place}: {left}");
            assert!(left.contains("[secret body_token]"), "{place}: {left}");
        }
    }
    let sent = backend.requests().pop().unwrap();
    assert_eq!(sent.body, format!("before {key} after").into_bytes(), "the backend got it");
    nowhere_on_disk(open, &LINES.map(str::to_owned)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_url_is_masked_in_whichever_digits_it_is_escaped() {
    let token = "k/Y+2:long?enough~and=more";
    let escaped = "k%2fY%2B2%3along%3Fenough~and%3dmore";
    let backend = Backend::start().await;
    let open = open_keeper(token, &backend).await;
    let url = format!("{}/echo?token={escaped}&end=%2f", backend.url);
    for place in ["output", "message", "log", "stdout"] {
        let input = json!({ "name": "token", "url": url, "to": place });
        let left = left_of(token, &open, "keeper.leak", input).await;
        assert!(!left.contains("enough"), "{place}: {left}");
        assert!(left.contains("token=[secret token]&end=%2f"), "{place}: what is none stays: {left}");
    }
    assert!(backend.requests().pop().unwrap().target.contains(escaped), "it was sent so");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_secret_is_masked_where_it_stands_alone_and_words_that_hold_it_are_left() {
    let backend = Backend::start().await;
    let open = open_keeper("cat", &backend).await;
    let url = format!("{}/echo?concatenate", backend.url);
    for place in ["output", "message", "log"] {
        let input = json!({ "name": "token", "url": url, "to": place });
        let reply = open.call("keeper.leak", input).await;
        let left = format!("{}\n{}", body(&reply), open.log(&reply).await);
        assert!(left.contains("Bearer [secret token]") && !left.contains("Bearer cat"), "{left}");
        assert!(left.contains("concatenate"), "{left}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_in_which_a_secret_stands_is_masked_at_every_place() {
    // Lines of standard streams come to the host in pieces, and no piece may hold half of a secret.
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let host = backend.url.strip_prefix("http://").unwrap();
    let before = format!(
        "{{\"method\":\"POST\",\"path\":\"/echo\",\"query\":\"\",\"headers\":{{\"host\":\"{host}\",\"authorization\":\"Bearer "
    );
    for place in ["output", "stdout", "stderr", "log"] {
        for piece in [1024, 4096, 8192] {
            // The secret begins a little before the end of a piece.
            let query = "x".repeat(piece - before.len() - TOKEN.len() / 2);
            let input =
                json!({ "name": "token", "url": format!("{}/echo?{query}", backend.url), "to": place });
            let left = left_of(TOKEN, &open, "keeper.leak", input).await;
            for half in [&TOKEN[..8], &TOKEN[TOKEN.len() - 8..]] {
                assert!(!left.contains(half), "{place} {piece}: {left}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_sent_to_the_origins_that_it_is_declared_for_and_to_no_other() {
    let backend = Backend::start().await;
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let elsewhere = format!("http://{}", listener.address());
    // Requests to both are granted; the secret is at home at one.
    let open = open_world(keeper(TOKEN, &backend.url, &[&backend.url, &elsewhere])).await;
    for place in ["bearer", "basic", "body"] {
        let input = json!({ "name": "pinned", "url": format!("{elsewhere}/echo"), "place": place });
        let reply = open.call("keeper.use_secret", input).await;
        assert_eq!(code(&reply), "REQUEST_REFUSED", "{place}");
        assert_eq!(body(&reply)["message"], "the secret `pinned` is not declared for this origin");
        assert!(open.log(&reply).await.contains("the secret `pinned` is not declared for this origin"));
    }
    assert_eq!(listener.connections(), 0);
    let input = json!({ "name": "pinned", "url": format!("{}/echo", backend.url) });
    assert_eq!(open.code("keeper.use_secret", input).await, "ok");
    assert_eq!(backend.requests()[0].header("authorization"), Some(&*format!("Bearer {PINNED}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_whose_place_nobody_granted_is_not_sent() {
    let backend = Backend::start().await;
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let open = open_keeper(TOKEN, &backend).await;
    let input = json!({ "name": "token", "url": format!("http://{}/echo", listener.address()) });
    assert_eq!(open.code("keeper.use_secret", input).await, "REQUEST_REFUSED");
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_stands_in_a_body_only_where_that_is_declared_and_never_in_a_url() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let used = |name: &str, place: &str| json!({ "name": name, "url": format!("{}/echo", backend.url), "place": place });
    let reply = open.call("keeper.use_secret", used("token", "body")).await;
    assert_eq!(code(&reply), "REQUEST_REFUSED");
    assert_eq!(body(&reply)["message"], "the secret `token` is not declared for bodies");
    let reply = open.call("keeper.use_secret", used("token", "query")).await;
    assert_eq!(code(&reply), "INTERNAL");
    assert!(open.log(&reply).await.contains("a secret may stand in headers, not in the URL"));
    assert_eq!(backend.counts().connections, 0);
    let data = open.data("keeper.use_secret", used("body_token", "body")).await;
    assert_eq!(backend.requests()[0].body, format!("before {BODY_TOKEN} after").into_bytes());
    assert!(data["text"].as_str().unwrap().contains("before [secret body_token] after"), "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_full_of_secrets_is_filled_in_at_once_and_up_to_its_limit() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let url = format!("{}/things/a", backend.url);
    let job = |times: usize| json!({ "name": "body_token", "url": url, "place": "body", "times": times });
    // Almost as many as a body of 8 MiB holds.
    assert_eq!(open.code("keeper.use_secret", job(170_000)).await, "ok");
    let sent = backend.requests().pop().unwrap().body;
    assert_eq!(sent.len(), "before  after".len() + 170_000 * BODY_TOKEN.len());

    // A secret that is longer than what stands for it makes a body longer.
    let long = keeper(TOKEN, &backend.url, &[&backend.url]).with_variable("B", &"b".repeat(1000));
    let open = open_world(long.with_config("[limits]\nbody = \"64 KiB\"")).await;
    assert_eq!(open.code("keeper.use_secret", job(65)).await, "ok");
    let reply = open.call("keeper.use_secret", job(66)).await;
    assert_eq!(body(&reply)["message"], "the body with its secrets may have 65536 bytes");
    assert_eq!(backend.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_stand_for_secrets_are_given_out_in_small_numbers() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let reply = open.call("keeper.placeholder", json!({ "name": "token", "users": 1000 })).await;
    assert_eq!(code(&reply), "SECRET_REFUSED");
    assert_eq!(body(&reply)["message"], "one call is given at most 64 texts that stand for secrets");
    assert_eq!(open.code("keeper.placeholder", json!({ "name": "token", "users": 10 })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_basic_credentials_cannot_hold_more_than_a_name() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    for user in ["ada:admin", "ada\r\nx-a: b", "ada\0", &"a".repeat(1025)] {
        let reply = open.call("keeper.placeholder", json!({ "name": "token", "user": user })).await;
        assert_eq!(code(&reply), "SECRET_REFUSED", "{user:?}");
        let rule = "a user of Basic credentials has at most 1024 bytes, no colon and no control character";
        assert_eq!(body(&reply)["message"], rule, "{user:?}");
    }
    for user in [String::new(), "ada lovelace".to_owned(), "a".repeat(1024)] {
        assert_eq!(open.code("keeper.placeholder", json!({ "name": "token", "user": user })).await, "ok");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_nobody_granted_is_refused_with_the_line_that_would_grant_it() {
    let world = World::new()
        .with_plugins(&[KEEPER])
        .with_config("[secrets]\ntoken = { env = \"T\" }\nother = { env = \"T\" }\n[plugin.keeper]\nsecrets = [\"other\"]")
        .with_variable("T", TOKEN);
    let open = open_world(world).await;
    let asked = [
        ("keeper.placeholder", json!({ "name": "token" })),
        ("keeper.sign", json!({ "name": "token", "text": "x", "hash": "sha256" })),
        ("keeper.use_secret", json!({ "name": "token", "url": "http://127.0.0.1/", "place": "basic" })),
    ];
    let mut all = Vec::new();
    for (tool, input) in asked {
        let reply = open.call(tool, input).await;
        all.push(format!("{}: {}\n{}", code(&reply), body(&reply)["message"], open.log(&reply).await));
    }
    assert_snapshot!(all[0], @r#"
    SECRET_REFUSED: "the secret `token` is not declared or not granted"
    host: refused a secret: the secret `token` is not declared or not granted; where it is declared, [plugin.keeper] secrets = ["token"] would allow it
    "#);
    assert_eq!(all, [all[0].as_str(); 3]);
    // What is granted and not declared is refused as well, and no line would help.
    let reply = open.call("keeper.placeholder", json!({ "name": "other" })).await;
    let told = format!("{}: {}\n{}", code(&reply), body(&reply)["message"], open.log(&reply).await);
    assert_snapshot!(told, @r#"
    SECRET_REFUSED: "the secret `other` is not declared or not granted"
    host: refused a secret: the secret `other` is not declared or not granted; where it is declared, [plugin.keeper] secrets = ["other"] would allow it
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_made_without_the_key_being_seen() {
    let backend = Backend::start().await;
    let open = open_keeper("Jefe", &backend).await;
    let sign = |hash: &str| json!({ "name": "token", "text": "what do ya want for nothing?", "hash": hash });
    // RFC 4231, test case 2.
    assert_eq!(
        open.data("keeper.sign", sign("sha256")).await["text"],
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
    let reply = open.call("keeper.sign", sign("sha512")).await;
    assert_eq!(open.log(&reply).await, "host: signed once with the secret `token`\n");
    assert!(
        body(&reply)["text"]
            .as_str()
            .unwrap()
            .starts_with("164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_says_nothing_about_the_secret_and_is_worth_nothing_in_another_call() {
    let backend = Backend::start().await;
    let open = open_keeper(TOKEN, &backend).await;
    let first = open.data("keeper.placeholder", json!({ "name": "token" })).await["text"].clone();
    let second = open.data("keeper.placeholder", json!({ "name": "token" })).await["text"].clone();
    assert_ne!(first, second);
    assert!(!first.as_str().unwrap().contains(&TOKEN[..8]), "{first}");
    // Given to a call that did not ask for it, it stays what it is.
    let url = format!("{}/echo?{}", backend.url, first.as_str().unwrap());
    let reply = open.call("keeper.leak", json!({ "name": "body_token", "url": url, "to": "output" })).await;
    assert!(body(&reply).to_string().contains(first.as_str().unwrap()), "{}", body(&reply));
}
