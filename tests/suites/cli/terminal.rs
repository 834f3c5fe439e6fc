//! What a guest says reaches a terminal as text, and never as commands to it.

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Place, Ran};

/// Clears the screen, turns the text around, forges a line.
const NASTY: &str = "a\u{1b}[2Jb\u{202e}c\r\nerror: d\u{7}\u{200b}";

fn say(place: &Place, say: &Value, more: &[&str]) -> Ran {
    let input = json!({ "say": say }).to_string();
    place.airlock(&[&["call", "twoface.say", &input], more].concat())
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| letter == '\n' || !(letter.is_control() || "\u{202e}\u{200b}".contains(letter)))
}

#[test]
fn what_a_guest_says_comes_without_control_characters() {
    let place = Place::with_config("");
    place.with_plugin(guests::TWOFACE);
    let note = json!({ "count": 1, "note": NASTY });
    let error = json!({
        "kind": "rejected", "code": "NASTY", "message": NASTY, "user_message": NASTY,
        "details": json!({ "candidates": [NASTY, { "name": NASTY }] }).to_string(),
    });
    let said = [
        json!({ "reply": note.to_string() }),
        json!({ "error": error }),
        json!({ "log": json!({ "field": NASTY }).to_string() }),
    ];
    for one in &said {
        for more in [&[][..], &["--json"]] {
            let ran = say(&place, one, more);
            assert!(is_plain(&ran.out) && is_plain(&ran.err), "{:?}", ran.to_string());
        }
        for more in [&[][..], &["--json"]] {
            let ran = place.airlock(&[&["runs", &place.latest()], more].concat());
            assert!(is_plain(&ran.out) && is_plain(&ran.err), "{:?}", ran.to_string());
        }
    }
    assert_snapshot!(say(&place, &said[1], &[]), @r#"
    exit 1
    -- out
    -- err
    error[NASTY]: a\u{1b}[2Jb\u{202e}c\r\nerror: d\u{7}\u{200b}
      - a\u{1b}[2Jb\u{202e}c\r\nerror: d\u{7}\u{200b}
      - name a\u{1b}[2Jb\u{202e}c\r\nerror: d\u{7}\u{200b}
    "#);
    let document = say(&place, &said[0], &["--json"]).document();
    assert_eq!(document["data"]["note"], NASTY);
}

#[test]
fn what_is_said_beside_a_result_comes_without_control_characters() {
    let place = Place::with_config("[limits]\nreply = \"2 KiB\"\n");
    place.with_plugin(guests::DISCREET);
    let names = json!({ "names": [format!("{NASTY}.txt")], "bytes": 1 }).to_string();
    for more in [&["--out", "out"][..], &["--json"], &["--json", "--out", "out"]] {
        let ran = place.airlock(&[&["call", "discreet.give_back", &names], more].concat());
        assert!(ran.exit == Some(0) && is_plain(&ran.out) && is_plain(&ran.err), "{:?}", ran.to_string());
    }
    let long = json!({ "names": [], "media_type": NASTY.repeat(1000) }).to_string();
    place.airlock(&["call", "discreet.give_back", &long]);
    for more in [&[][..], &["--output"], &["--private"], &["--json"]] {
        let ran = place.airlock(&[&["runs", &place.latest()], more].concat());
        assert!(is_plain(&ran.out) && is_plain(&ran.err), "{:?}", ran.to_string());
    }
}

#[test]
fn colours_are_for_terminals() {
    let place = Place::with_config("");
    let coloured = |variable: &str| {
        let mut command = place.command(&["runs", "none"]);
        place.ran(command.env(variable, "1")).err.contains("\u{1b}[")
    };
    assert!(!place.airlock(&["runs", "none"]).err.contains('\u{1b}'));
    assert!(coloured("CLICOLOR_FORCE") && !coloured("NO_COLOR"));
}
