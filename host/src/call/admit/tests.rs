//! Who gets a place, who waits for one, and who may not even wait.

use super::*;

fn places(at_once: u32, waiting: u32) -> Places {
    Places::new(&Limits { at_once, waiting, ..Limits::default() })
}

fn want(plugin: &str, caller: &str) -> Want {
    Want { plugin: plugin.into(), caller: caller.into() }
}

fn granted(asked: Asked) -> Option<Place> {
    match asked {
        Asked::Granted(place) => Some(place),
        Asked::Queued(_) | Asked::Full(_) => None,
    }
}

#[test]
fn half_of_the_places_are_the_most_for_one_plugin_or_one_caller() {
    let places = places(4, 10);
    let first = granted(places.ask(want("p", "a")));
    let second = granted(places.ask(want("p", "b")));
    assert!(first.is_some() && second.is_some());
    assert!(granted(places.ask(want("p", "c"))).is_none());
    assert!(granted(places.ask(want("q", "a"))).is_some());
}

#[test]
fn half_of_an_odd_number_is_the_smaller_part() {
    let places = places(3, 10);
    let _held = granted(places.ask(want("p", "a"))).unwrap();
    assert!(granted(places.ask(want("p", "b"))).is_none());
    assert!(granted(places.ask(want("q", "a"))).is_none());
    assert!(granted(places.ask(want("q", "b"))).is_some());
}

#[test]
fn a_place_goes_to_callers_in_turn() {
    let places = places(2, 10);
    let held = granted(places.ask(want("p", "x"))).unwrap();
    let other = granted(places.ask(want("q", "y"))).unwrap();
    let mut waits = Vec::new();
    for caller in ["a", "a", "b"] {
        let Asked::Queued(turn) = places.ask(want("p", caller)) else { panic!("no place is free") };
        waits.push(turn);
    }
    drop(held);
    let first = waits[0].try_recv().unwrap();
    assert!(waits[1].try_recv().is_err() && waits[2].try_recv().is_err());
    drop(first);
    let second = waits[2].try_recv().unwrap();
    assert!(waits[1].try_recv().is_err());
    drop(second);
    assert!(waits[1].try_recv().is_ok());
    drop(other);
}

#[test]
fn who_gave_up_waiting_keeps_nothing() {
    let places = places(2, 10);
    let held = granted(places.ask(want("p", "a"))).unwrap();
    drop(places.ask(want("p", "b")));
    let Asked::Queued(mut turn) = places.ask(want("p", "c")) else { panic!("half is taken") };
    drop(held);
    assert!(turn.try_recv().is_ok());
}

#[test]
fn a_place_that_is_given_back_goes_to_all_that_it_kept_waiting() {
    let places = places(4, 10);
    let held = granted(places.ask(want("p", "a"))).unwrap();
    let _others = [granted(places.ask(want("p", "b"))), granted(places.ask(want("q", "a")))];
    let Asked::Queued(mut of_the_plugin) = places.ask(want("p", "c")) else { panic!("p has its half") };
    let Asked::Queued(mut of_the_caller) = places.ask(want("r", "a")) else { panic!("a has its half") };
    drop(held);
    assert!(of_the_plugin.try_recv().is_ok() && of_the_caller.try_recv().is_ok());
}

#[test]
fn a_caller_that_waits_for_one_plugin_is_served_by_another() {
    let places = places(4, 10);
    let _held = [granted(places.ask(want("p", "a"))), granted(places.ask(want("p", "b")))];
    let Asked::Queued(_waiting) = places.ask(want("p", "c")) else { panic!("p has its half") };
    assert!(granted(places.ask(want("q", "c"))).is_some());
}

#[test]
fn who_gave_up_waiting_takes_no_room_in_the_queue() {
    let places = places(2, 1);
    let _held = granted(places.ask(want("p", "a"))).unwrap();
    drop(places.ask(want("p", "b")));
    assert!(matches!(places.ask(want("p", "b")), Asked::Queued(_)));
}

#[test]
fn the_queue_is_bounded() {
    let places = places(1, 1);
    let _held = granted(places.ask(want("p", "a"))).unwrap();
    let _queued = places.ask(want("p", "b"));
    assert!(matches!(places.ask(want("p", "c")), Asked::Full(Full::All(1))));
}

/// How many of these calls may wait, until the first that may not.
fn queued(places: &Places, turns: &mut Vec<oneshot::Receiver<Place>>, want: &Want) -> (usize, Full) {
    for waiting in 0.. {
        match places.ask(want.clone()) {
            Asked::Queued(turn) => turns.push(turn),
            Asked::Full(full) => return (waiting, full),
            Asked::Granted(_) => panic!("no place is free"),
        }
    }
    unreachable!("the queue is bounded")
}

#[test]
fn one_caller_leaves_half_of_the_queue_to_others_and_two_leave_room_for_a_third() {
    let places = places(2, 1024);
    let _held = [granted(places.ask(want("p", "x"))).unwrap(), granted(places.ask(want("q", "y"))).unwrap()];
    let mut turns = Vec::new();
    let mut waiting = |plugin: &str, caller: &str| queued(&places, &mut turns, &want(plugin, caller));
    assert_eq!(waiting("p", "a"), (512, Full::Caller(512)));
    assert_eq!(waiting("q", "a"), (0, Full::Caller(512)), "whatever it calls");
    assert_eq!(waiting("p", "b"), (256, Full::Caller(256)), "of the same plugin too");
    assert_eq!(waiting("p", "c"), (0, Full::Plugin("p".into(), 768)));
    assert_eq!(waiting("q", "c"), (128, Full::Caller(128)));
}

#[test]
fn many_callers_of_one_plugin_leave_a_quarter_of_the_queue_to_other_plugins() {
    let places = places(2, 40);
    let _held = [granted(places.ask(want("p", "x"))).unwrap(), granted(places.ask(want("q", "y"))).unwrap()];
    let mut turns = Vec::new();
    for caller in 0..30 {
        let Asked::Queued(turn) = places.ask(want("p", &caller.to_string())) else { panic!("{caller}") };
        turns.push(turn);
    }
    let full = queued(&places, &mut turns, &want("p", "30"));
    assert_eq!(full, (0, Full::Plugin("p".into(), 30)));
    assert!(matches!(places.ask(want("r", "30")), Asked::Queued(_)));
}

#[test]
fn who_left_does_not_count_against_its_caller() {
    let places = places(2, 4);
    let _held = [granted(places.ask(want("p", "x"))).unwrap(), granted(places.ask(want("q", "y"))).unwrap()];
    let mut turns = Vec::new();
    assert_eq!(queued(&places, &mut turns, &want("p", "a")), (2, Full::Caller(2)));
    turns.clear();
    assert!(matches!(places.ask(want("p", "a")), Asked::Queued(_)));
}
