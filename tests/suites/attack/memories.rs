//! A component of many memories: one sum bounds them, however many there are, and nobody may have a hundred.

use std::fs;

use airlock::model::classify::Ended;
use airlock::model::limits::{Limit, Limits};
use airlock_tests::assembled::plugin;
use airlock_tests::guests::ECHO;
use airlock_tests::sandbox::Sandbox;
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::json;

use super::open_world;

/// A plugin that holds so many memories and grows each by four pages, as often as its input, a digit, says. It gives up
/// when it is refused one.
fn of_memories(count: usize) -> Vec<u8> {
    let memories: String = (1..count).map(|number| format!("(memory $m{number} 1)\n")).collect();
    let grows: String =
        (1..count).map(|number| format!("(call $grown (memory.grow $m{number} (i32.const 4)))\n")).collect();
    let text = format!(
        r#"(module
          (memory $m0 (export "memory") 1)
          {memories}
          (global $free (mut i32) (i32.const 1024))
          (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
            (global.set $free (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
            (global.get $free)
            (global.set $free (i32.add (global.get $free) (local.get $size))))
          (func $grown (param $before i32)
            (if (i32.eq (local.get $before) (i32.const -1)) (then unreachable)))
          (func (export "airlock:plugin/tools@0.1.0#describe") (result i32) unreachable)
          (func (export "airlock:plugin/tools@0.1.0#call") (param $arguments i32) (result i32)
            (local $rounds i32)
            (local.set $rounds
              (i32.sub (i32.load8_u $m0 (i32.load $m0 offset=8 (local.get $arguments))) (i32.const 48)))
            (loop $again
              (call $grown (memory.grow $m0 (i32.const 4)))
              {grows}
              (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
              (br_if $again (local.get $rounds)))
            (i32.const 0)))"#
    );
    plugin(&text)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memories_of_a_guest_are_bounded_by_their_sum() {
    let sandbox = Sandbox::start(Limits::default());
    let plugin = sandbox.prepare(&of_memories(30));
    let most = Limits::default().memory;
    // Thirty pages at first and 120 with each round: the ninth is too much.
    let modest = sandbox.attempt(&plugin, "grow", "8").await;
    assert!(modest.said.is_ok(), "{:?}", modest.said);
    assert_eq!(modest.usage.memory, (30 + 8 * 120) * 65_536);
    let greedy = sandbox.attempt(&plugin, "grow", "9").await;
    assert_eq!(greedy.said.unwrap_err(), Ended::Limit(Limit::Memory(most)));
    assert!(greedy.usage.memory <= most, "{} bytes were held", greedy.usage.memory);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_a_hundred_memories_is_refused_and_said_to_be() {
    let world = World::new().with_plugins(&[ECHO]);
    fs::write(world.plugins().join("hundred.wasm"), of_memories(100)).unwrap();
    let host = world.open().await;
    let [fault] = &host.faults()[..] else { panic!("{:?}", host.faults()) };
    assert!(fault.file.ends_with("hundred.wasm"), "{fault:?}");
    assert_snapshot!(fault.faults.join("; "), @"it cannot be compiled: it holds 100 memories, and a component may hold 30");
    fs::remove_file(world.plugins().join("hundred.wasm")).unwrap();
    let open = open_world(world).await;
    assert_eq!(open.data("echo.echo", json!({ "text": "here" })).await, json!({ "text": "here" }));
}
