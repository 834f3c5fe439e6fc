//! When a circle is told and when it ends, as the operator says.

use std::path::Path;

use airlock::config::Config;
use airlock_tests::guests;
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::json;

use super::{ends, said_in};

async fn nine(config: &str) -> String {
    let host = World::in_memory().with_plugins(&[guests::ECHO]).with_config(config).open().await;
    ends(&host, (0..9).map(|_| said_in("a", "echo.echo", &json!({ "text": "x" })))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_when_a_circle_is_told_and_when_it_ends() {
    assert_snapshot!(nine("[loops]\nwarn = 2\nrefuse = 4").await, @"ok, ok 2×1, ok 3×1, LOOP_DETECTED 4×1, LOOP_DETECTED 5×1, LOOP_DETECTED 6×1, LOOP_DETECTED 7×1, LOOP_DETECTED 8×1, LOOP_DETECTED 9×1");
    assert_snapshot!(nine("[loops]\nrefuse = 3").await, @"ok, ok 2×1, LOOP_DETECTED 3×1, LOOP_DETECTED 4×1, LOOP_DETECTED 5×1, LOOP_DETECTED 6×1, LOOP_DETECTED 7×1, LOOP_DETECTED 8×1, LOOP_DETECTED 9×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn either_is_turned_off_by_nothing() {
    assert_snapshot!(nine("[loops]\nwarn = 0").await, @"ok, ok, ok, ok, ok, ok, ok, LOOP_DETECTED 8×1, LOOP_DETECTED 9×1");
    assert_snapshot!(nine("[loops]\nrefuse = 0").await, @"ok, ok, ok 3×1, ok 4×1, ok 5×1, ok 6×1, ok 7×1, ok 8×1, ok 9×1");
    assert_snapshot!(nine("[loops]\nwarn = 0\nrefuse = 0").await, @"ok, ok, ok, ok, ok, ok, ok, ok, ok");
}

#[test]
fn what_would_never_come_to_pass_is_a_fault() {
    let faults =
        |text: &str| Config::parse(text, Path::new("airlock.toml"), &|_| None).unwrap_err().to_string();
    // The longest circle of what is remembered goes round eight times.
    assert_snapshot!(faults("[loops]\nwarn = 1\nrefuse = 9"), @"
    error: `loops.warn` is out of bounds
     --> airlock.toml:2:8
      |
    2 | warn = 1
      |        ^ at least 2

    error: `loops.refuse` is out of bounds
     --> airlock.toml:3:10
      |
    3 | refuse = 9
      |          ^ at most 8

    airlock.toml has 2 faults
    ");
    // What is refused is told before.
    assert_snapshot!(faults("[loops]\nwarn = 5\nrefuse = 5"), @"
    error: `loops.warn` is out of bounds
     --> airlock.toml:2:8
      |
    2 | warn = 5
      |        ^ at most 4
    ");
}
