//! Pages, JSON and plain text as a caller gets them.

use airlock::model::id::CallerName;
use airlock::model::manifest::{Repeat, Risk};
use airlock_tests::site::{Page, Site};
use insta::assert_snapshot;
use serde_json::json;

use super::{fetched, refused, shown, told, toward};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_comes_as_markdown_with_whole_addresses() {
    let page = r##"<!doctype html><html><head><title>Bread &amp; time</title><script>alert(1)</script></head><body>
        <nav><a href="/">Home</a></nav><h1>Bread</h1><p>See <a href="../yeast?x=1#heat">yeast</a>, <b>now</b>.</p>
        <table><tr><th>Flour</th><th>Water</th></tr><tr><td>500 g</td><td>350 g</td></tr></table>
        <pre><code class="language-sh">bake --hot</code></pre></body></html>"##;
    let site = Site::start().await.with("/docs/bread?lang=en", Page::html(page));
    let open = toward(&site).await;
    let reply = open.call("web.fetch", json!({ "url": site.at("/docs/bread?lang=en#top") })).await;
    assert_eq!(reply.meta.attempts, 1);
    assert_snapshot!(shown(&airlock_tests::world::body(&reply), &site), @r##"
    {
      "url": "SITE/docs/bread?lang=en",
      "status": 200,
      "content_type": "text/html",
      "title": "Bread & time",
      "text": "# Bread\n\nSee [yeast](SITE/yeast?x=1#heat), **now**.\n\n| Flour | Water |\n| --- | --- |\n| 500 g | 350 g |\n\n```sh\nbake --hot\n```",
      "truncated": false,
      "total_chars": 142,
      "chars_left": 0
    }
    "##);
    let asked = site.asked();
    assert_eq!((asked.len(), asked[0].target.as_str()), (1, "/docs/bread?lang=en"));
    assert_eq!(asked[0].headers["accept-encoding"], "identity");
    assert!(asked[0].headers["user-agent"].starts_with("airlock-web/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_declares_a_read_of_the_lowest_risk_and_no_origin_of_its_own() {
    let site = Site::start().await;
    let open = toward(&site).await;
    let view = open.host.tool(&CallerName("local".to_owned()), None, "web.fetch").unwrap();
    assert_eq!((view.tool.risk, view.tool.repeat), (Risk::L1, Repeat::Reads));
    assert!(!view.confirm);
    assert_snapshot!(serde_json::to_string_pretty(&view.tool.input_schema).unwrap(), @r#"
    {
      "type": "object",
      "properties": {
        "url": {
          "type": "string",
          "description": "The whole address of a page: `https://example.com/docs/start`.",
          "examples": [
            "https://example.com/docs/start"
          ],
          "minLength": 1,
          "maxLength": 8000,
          "x-message": "give one whole address: https://example.com/docs/start"
        },
        "max_chars": {
          "type": "integer",
          "default": 10000,
          "minimum": 1,
          "description": "The most characters of text to give back.",
          "maximum": 24000
        },
        "start": {
          "type": "integer",
          "default": 0,
          "minimum": 0,
          "description": "Where to begin in a long text: `next_start` of the answer before."
        }
      },
      "required": [
        "url"
      ],
      "additionalProperties": false
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_laid_out_and_no_value_is_changed() {
    let given = r#"{"id":12345678901234567890123,"price":1.50,"tags":["a","\u202eb"],"none":{}}"#;
    let site = Site::start()
        .await
        .with("/api", Page::new("application/hal+json", given))
        .with("/broken", Page::new("application/json", "{\"a\":"));
    let open = toward(&site).await;
    assert_snapshot!(shown(&fetched(&open, &site.at("/api")).await, &site), @r#"
    {
      "url": "SITE/api",
      "status": 200,
      "content_type": "application/hal+json",
      "text": "{\n  \"id\": 12345678901234567890123,\n  \"price\": 1.50,\n  \"tags\": [\n    \"a\",\n    \"\\u202eb\"\n  ],\n  \"none\": {}\n}",
      "truncated": false,
      "total_chars": 106,
      "chars_left": 0
    }
    "#);
    let broken = fetched(&open, &site.at("/broken")).await;
    assert_eq!(broken["text"], "{\"a\":", "what is no JSON comes as it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_text_comes_as_it_is_without_what_nobody_sees() {
    let text = "# not *touched* <b>\r\n\tnext\u{202e}\u{200b}\u{1b}[31m line\u{0}\n";
    let site = Site::start()
        .await
        .with("/text", Page::new("text/plain; charset=utf-8", text))
        .with("/feed", Page::new("application/rss+xml", "<rss>x</rss>"))
        .with("/empty", Page::status(204))
        .with("/untyped", Page::new("", "<!DOCTYPE html><title>T</title><p>Text"));
    let open = toward(&site).await;
    assert_eq!(fetched(&open, &site.at("/text")).await["text"], "# not *touched* <b>\n\tnext[31m line\n");
    let feed = fetched(&open, &site.at("/feed")).await;
    assert_eq!(
        (&feed["text"], &feed["content_type"]),
        (&json!("<rss>x</rss>"), &json!("application/rss+xml"))
    );
    let empty = fetched(&open, &site.at("/empty")).await;
    assert_eq!(
        (&empty["status"], &empty["text"], &empty["total_chars"]),
        (&json!(204), &json!(""), &json!(0))
    );
    let untyped = fetched(&open, &site.at("/untyped")).await;
    assert_eq!((&untyped["title"], &untyped["text"]), (&json!("T"), &json!("Text")));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_in_other_encodings_is_read() {
    let meta =
        [b"<meta charset=iso-8859-1><title>Stra\xdfe</title><p>".as_slice(), b"M\xfcller \x80 5"].concat();
    let site = Site::start()
        .await
        .with("/header", Page::new("text/html; charset=ISO-8859-1", b"<p>M\xfcller \x80 5".to_vec()))
        .with("/meta", Page::new("text/html", meta))
        .with("/plain", Page::new("text/plain; charset=windows-1252", b"\x84caf\xe9\x93".to_vec()))
        .with("/unnamed", Page::new("text/plain", b"caf\xe9".to_vec()))
        .with("/utf-16", Page::new("text/plain", b"\xff\xfeM\0\xfc\0".to_vec()))
        .with("/japanese", Page::new("text/html; charset=shift_jis", b"<p>\x82\xb1\x82\xf1".to_vec()));
    let open = toward(&site).await;
    for (place, text) in [
        ("/header", "Müller € 5"),
        ("/meta", "Müller € 5"),
        ("/plain", "„café“"),
        ("/unnamed", "café"),
        ("/utf-16", "Mü"),
        ("/japanese", "こん"),
    ] {
        let page = fetched(&open, &site.at(place)).await;
        assert_eq!(page["text"], text, "{place}");
        assert!(page["title"].is_null() || page["title"] == "Straße", "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_comes_in_parts_that_are_the_whole() {
    let paragraphs: String =
        (0..2000).map(|number| format!("<p>Paragraph {number} of many, with ümläuts.")).collect();
    let site = Site::start().await.with("/long", Page::html(paragraphs));
    let open = toward(&site).await;
    let url = site.at("/long");
    let (mut whole, mut start, mut parts) = (String::new(), json!(0), 0);
    while !start.is_null() {
        let part = open.data("web.fetch", json!({ "url": url, "start": start, "max_chars": 24_000 })).await;
        let text = part["text"].as_str().unwrap();
        assert!(text.ends_with("ümläuts.\n\n") || part["next_start"].is_null(), "a part ends with its line");
        whole.push_str(text);
        parts += 1;
        let read = u64::try_from(whole.chars().count()).unwrap();
        assert_eq!(part["total_chars"].as_u64().unwrap(), read + part["chars_left"].as_u64().unwrap());
        assert_eq!(part["truncated"], !part["next_start"].is_null());
        start = part["next_start"].clone();
    }
    assert!(parts > 3);
    let all: Vec<String> =
        (0..2000).map(|number| format!("Paragraph {number} of many, with ümläuts.")).collect();
    assert_eq!(whole, all.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_as_long_as_the_caller_says() {
    let site = Site::start().await.with("/text", Page::new("text/plain", "0123456789".repeat(3000)));
    let open = toward(&site).await;
    let url = site.at("/text");
    let part = |input| open.data("web.fetch", input);
    let first = part(json!({ "url": url })).await;
    assert_eq!((&first["next_start"], &first["chars_left"]), (&json!(10_000), &json!(20_000)));
    let middle = part(json!({ "url": url, "start": 7, "max_chars": 5 })).await;
    assert_eq!((&middle["text"], &middle["next_start"]), (&json!("78901"), &json!(12)));
    let last = part(json!({ "url": url, "start": 29_998 })).await;
    assert_eq!((&last["text"], &last["truncated"]), (&json!("89"), &json!(false)));
    let reply = open.call("web.fetch", json!({ "url": url, "start": 30_000 })).await;
    let error = airlock_tests::world::body(&reply);
    assert_snapshot!(told(&error), @"invalid_input START_BEYOND_END: `start` is beyond the end: the text has 30000 characters");
    for wrong in [json!({ "url": url, "max_chars": 0 }), json!({ "url": url, "max_chars": 24_001 })] {
        assert_eq!(open.code("web.fetch", wrong).await, "INVALID_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_read_as_browsers_do_or_said_to_be_none() {
    let site = Site::start().await.with("/a%20b?q=%C3%A4", Page::new("text/plain", "found"));
    let open = toward(&site).await;
    let page = fetched(&open, &format!("  {}/x/../a b?q=ä#part ", site.url)).await;
    assert_eq!(
        (&page["text"], shown(&page["url"], &site).as_str()),
        (&json!("found"), "\"SITE/a%20b?q=%C3%A4\"")
    );
    let mut said = Vec::new();
    for url in [
        "example.com/page",
        "/page",
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "data:text/plain,x",
        "http://user:password@127.0.0.1/",
        "http://user@127.0.0.1/",
        "http://[bad/",
        "http://127.0.0.1/a%2Fb",
        "http://127.0.0.1/a%5Cb",
    ] {
        said.push(format!("{url}\n  {}", told(&refused(&open, url).await)));
    }
    assert_snapshot!(said.join("\n"), @r#"
    example.com/page
      invalid_input INVALID_URL: `url` must be a whole address, with https:// and its host; is https://example.com/page meant?
    /page
      invalid_input INVALID_URL: `url` must be a whole address, with https:// and its host
    ftp://127.0.0.1/x
      invalid_input INVALID_URL: `url` must begin with https:// or http://, and not with ftp:
    file:///etc/passwd
      invalid_input INVALID_URL: `url` must begin with https:// or http://, and not with file:
    data:text/plain,x
      invalid_input INVALID_URL: `url` must begin with https:// or http://, and not with data:
    http://user:password@127.0.0.1/
      invalid_input INVALID_URL: `url` may not hold a user or a password
    http://user@127.0.0.1/
      invalid_input INVALID_URL: `url` may not hold a user or a password
    http://[bad/
      invalid_input INVALID_URL: `url` cannot be read: invalid IPv6 address
    http://127.0.0.1/a%2Fb
      invalid_input INVALID_URL: the path may not hold `.` or `..` segments, %2F or %5C
    http://127.0.0.1/a%5Cb
      invalid_input INVALID_URL: the path may not hold `.` or `..` segments, %2F or %5C
    "#);
    assert_eq!(site.targets().len(), 1);
}
