//! A second one that is wanted: asked for by the run of the first, and done once too.

use airlock::host::Request;
use airlock_tests::world::{code, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{heard, mail, once_more, run_of, said_in};
use crate::call::{Scene, as_caller, text, with};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_once_more_on_purpose_is_done_once_more_and_no_more() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let first = heard(&host, mail(&scene, "x")).await;
    let asked = || once_more(&mail(&scene, "x"), &run_of(&first));
    let second = heard(&host, asked()).await;
    assert!(second.ok() && !second.meta.replayed, "{}", text(&second));
    assert_eq!((second.meta.dropped.len(), scene.mails()), (0, 2));
    let again = heard(&host, asked()).await;
    assert_eq!((again.meta.replayed, again.meta.run, scene.mails()), (true, second.meta.run, 2));
    // Without it, the second is what was done before; and by the second a third is asked for.
    let plain = heard(&host, mail(&scene, "x")).await;
    assert_eq!((code(&plain).as_str(), run_of(&plain)), ("ALREADY_DONE", run_of(&second)));
    let third = heard(&host, once_more(&mail(&scene, "x"), &run_of(&second))).await;
    assert_eq!((code(&third).as_str(), scene.mails()), ("ok", 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_something_else_asks_for_nothing() {
    let scene = Scene::courier("[callers.bot]\nmax_risk = \"L4\"").await;
    let host = scene.open().await;
    let first = run_of(&heard(&host, mail(&scene, "x")).await);
    let put = said_in("a", request("courier.put", &scene.setting("x")));
    let put = run_of(&heard(&host, put).await);
    let of = |call: Request, run: &str| once_more(&call, run);
    let number = with(scene.mail("x"), json!({ "airlock_repeat_of": 7 }));
    let wrong = [
        of(mail(&scene, "y"), &first),
        of(as_caller("bot", mail(&scene, "x")), &first),
        of(mail(&scene, "x"), &put),
        of(mail(&scene, "x"), "01JD8XK3V5R8Y2W6T9Q4M7N1BC"),
        of(mail(&scene, "x"), "the first"),
        said_in("a", request("courier.post_once", &number)),
    ];
    let mut told = Vec::new();
    for call in wrong {
        told.push(text(&heard(&host, call).await).to_owned());
    }
    told.dedup();
    assert_snapshot!(told.join("\n"), @r#"{"code":"INVALID_INPUT","kind":"invalid_input","message":"the input of courier.post_once cannot be used; /airlock_repeat_of: names no earlier call of this tool with this input; give the run that an ALREADY_DONE or ALREADY_RUNNING answer names, or leave it out","retryable":false,"action":"fix_input","retry_after_ms":0,"details":{"faults":["/airlock_repeat_of: names no earlier call of this tool with this input; give the run that an ALREADY_DONE or ALREADY_RUNNING answer names, or leave it out"]}}"#);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_field_is_there_where_it_does_something_and_a_preview_leaves_it_out() {
    let field = |schema: &Value| schema["properties"]["airlock_repeat_of"].clone();
    for (config, there) in [("", true), ("[limits]\nsame_action = \"0s\"", false)] {
        let scene = Scene::courier(config).await;
        let host = scene.open().await;
        let caller = request("", &json!({})).caller;
        for (tool, held) in [("post_once", true), ("post_keyed", true), ("put", false), ("fetch", false)] {
            let view = host.tool(&caller, None, &format!("courier.{tool}")).unwrap();
            assert_eq!(!field(&view.tool.input_schema).is_null(), held && there, "{tool}");
        }
    }
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let mail = json!({ "to": "ada@example.com", "subject": "x", "body": "y", "airlock_repeat_of": "x" });
    let preview = host.preview(request("desk.send_mail", &mail)).await;
    assert!(preview.ok() && preview.meta.dropped.is_empty(), "{}", text(&preview));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_decides_alone_where_the_caller_gives_one() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let first = run_of(&heard(&host, mail(&scene, "x")).await);
    let under = |call: Request, key: &str| Request { key: Some(key.to_owned()), ..call };
    let asked = || once_more(&mail(&scene, "x"), &first);
    assert_eq!(code(&heard(&host, under(asked(), "k1")).await), "ok");
    assert!(heard(&host, under(asked(), "k1")).await.meta.replayed);
    assert_eq!(code(&heard(&host, under(mail(&scene, "x"), "k1")).await), "KEY_REUSED");
    assert_eq!(scene.mails(), 2);
}
