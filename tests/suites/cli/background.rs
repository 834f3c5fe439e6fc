//! Calls in the background as a person meets them: left at the command line, made by `airlock serve`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use airlock_tests::backend::{Backend, Fault, Moment};
use insta::assert_snapshot;
use serde_json::Value;

use super::{Place, TICKET};

/// `airlock serve`, until it is told to end.
struct Serving {
    child: Child,
}

impl Serving {
    fn start(place: &Place) -> Self {
        let mut child =
            place.command(&["serve"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let log = child.stderr.take().unwrap();
        // Nobody but the system may stop it from writing.
        std::thread::spawn(move || BufReader::new(log).lines().for_each(drop));
        Self { child }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.child.id())).status();
        assert!(sent.unwrap().success());
    }

    fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// Waits with the key of a call until it has its result.
fn waited(place: &Place, key: &str) -> Value {
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", key, "--json"]).document()
}

/// Holds the next ticket until what is given back is dropped.
fn held(desk: &Backend) -> std::sync::mpsc::Sender<()> {
    crate::call::hold(desk, "POST /tickets", Moment::BeforeWork, 1)
}

#[test]
fn a_call_is_left_to_the_background_and_it_is_told_that_nothing_makes_it_yet() {
    let (place, desk) = Place::with_desk("");
    let left = place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1", "--background"]);
    assert_snapshot!(left.told(), @"
    exit 1
    -- out
    -- err
    error[STILL_RUNNING]: the call is made in the background, as run 0100000000000000000000RUN1
    hint: `airlock runs 0100000000000000000000RUN1` shows how far it is
    hint: nothing makes calls in the background at this moment: `airlock serve` does, for as long as it runs
    ");
    let run = place.airlock(&["runs", &place.latest()]).told();
    assert_snapshot!(run.split("\ninput").next().unwrap(), @"
    exit 0
    -- out
    run       0100000000000000000000RUN1
    state     backing_off
    tool      desk.create_ticket
    caller    local
    key       k1
    trace     ffffffffffffffffffffffffffffffff
    began     2026-01-31T08:00:00.000Z (0s ago)
    waits     until 2026-01-31T08:00:00.000Z
    time      in the background, until 2026-01-31T08:00:00.000Z
    ");
    assert!(run.contains("left to the background"), "{run}");
    assert_eq!(desk.counts().tickets.len(), 0);
}

#[test]
fn serve_makes_what_was_left_and_its_key_gives_the_result() {
    let (place, desk) = Place::with_desk("");
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1", "--background"]);
    let serving = Serving::start(&place);
    let told = waited(&place, "k1");
    assert_eq!((told["ok"].as_bool(), told["meta"]["attempts"].as_u64()), (Some(true), Some(1)), "{told}");
    let left = place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k2", "--background"]);
    assert!(!left.err.contains("airlock serve"), "{left}");
    assert_eq!(waited(&place, "k2")["ok"], true);
    assert_eq!(desk.counts().tickets.len(), 2);
    serving.signal("TERM");
    assert_eq!(serving.ended(), Some(0));
}

#[test]
fn serve_ends_what_it_is_at_when_it_is_told_to_end_and_takes_nothing_more() {
    let (place, desk) = Place::with_desk("");
    let serving = Serving::start(&place);
    let release = held(&desk);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1", "--background"]);
    desk.wait_until(|counts| counts.of("POST /tickets").requests == 1);
    serving.signal("TERM");
    drop(release);
    assert_eq!(serving.ended(), Some(0));
    let record = place.airlock(&["runs", &place.latest(), "--json"]).document();
    assert_eq!(record["data"]["state"], "completed", "{record}");
    assert_eq!(desk.counts().tickets.len(), 1);
}

#[test]
fn serve_ends_at_once_at_the_second_word_and_what_it_left_is_made_by_the_next() {
    let (place, desk) = Place::with_desk("");
    let serving = Serving::start(&place);
    let release = held(&desk);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1", "--background"]);
    desk.wait_until(|counts| counts.of("POST /tickets").requests == 1);
    serving.signal("TERM");
    serving.signal("INT");
    assert_eq!(serving.ended(), Some(0));
    drop(release);
    desk.wait_idle();
    let next = Serving::start(&place);
    let told = waited(&place, "k1");
    assert_eq!((told["ok"].as_bool(), told["meta"]["attempts"].as_u64()), (Some(true), Some(2)), "{told}");
    assert_eq!(desk.counts().tickets.len(), 1);
    next.signal("INT");
    assert_eq!(next.ended(), Some(0));
}

#[test]
fn a_worker_that_is_killed_leaves_its_call_to_the_next_at_once() {
    let (place, desk) = Place::with_desk("");
    let serving = Serving::start(&place);
    desk.fault("POST /tickets", Fault::kill(Moment::AfterWork, serving.child.id()), 1);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1", "--background"]);
    assert_eq!(serving.ended(), None, "it was killed");
    let next = Serving::start(&place);
    let told = waited(&place, "k1");
    assert_eq!((told["ok"].as_bool(), told["meta"]["attempts"].as_u64()), (Some(true), Some(2)), "{told}");
    assert_eq!(desk.counts().tickets.len(), 1);
    next.signal("TERM");
    assert_eq!(next.ended(), Some(0));
}

#[test]
fn what_is_left_to_the_background_is_neither_previewed_nor_saved() {
    let place = Place::new();
    let refused = |more| {
        let ran = place.airlock(&["call", "desk.create_ticket", TICKET, "--background", more]);
        assert_eq!((ran.exit, ran.out.as_str()), (Some(2), ""));
        ran.err
    };
    assert_snapshot!(refused("--preview") + &refused("--out=."), @"
    error[INVALID_USAGE]: a preview is waited for, so there is none in the background
    hint: leave --background or --preview out
    error[INVALID_USAGE]: a call in the background gives nothing yet that could be saved
    hint: leave --out out; with --key, the same call without --background gives its result, and saves it, once it is done
    ");
}
