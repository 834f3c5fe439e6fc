//! Slots of the pool, used again and again by plugins of different sizes: whoever comes next finds nothing there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use airlock::model::limits::Limits;
use airlock::sandbox::Prepared;
use airlock_tests::marker::{Kinds, Size, component, found, input};
use airlock_tests::sandbox::Sandbox;

/// How often a slot is taken, over all of them.
const TURNS: usize = 1_000_000;

/// Calls at once; the pool has twice as many slots, and eight at least.
const AT_ONCE: u32 = 4;

/// One that fits into what is cleared in place, one that just does not, and one that is mostly given back to the system.
const SIZES: [Size; 3] = [
    Size { pages: 1, growth: 1, elements: 16, mark: 0xA5 },
    Size { pages: 4, growth: 3, elements: 300, mark: 0x5A },
    Size { pages: 20, growth: 12, elements: 20_000, mark: 0xC3 },
];

/// Whose turn it is: the large one's now and then, for it takes as long as a hundred of the small.
fn turn(number: usize) -> usize {
    match number % 256 {
        0 => 2,
        other if other.is_multiple_of(8) => 1,
        _ => 0,
    }
}

async fn looked(sandbox: &Sandbox, plugin: &Prepared, input: &str) -> String {
    let said = sandbox.attempt(plugin, "look", input).await.said;
    said.unwrap_or_else(|ended| panic!("the marker did not reply: {ended:?}")).data
}

fn sandbox() -> Sandbox {
    Sandbox::start(Limits { at_once: AT_ONCE, ..Limits::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_was_used_a_million_times_holds_no_byte_of_the_last_guest() {
    let sandbox = Arc::new(sandbox());
    let plugins = Arc::new(SIZES.map(|size| sandbox.prepare(&component(size))));
    let next = Arc::new(AtomicUsize::new(0));
    let all = input(1, Kinds::ALL);
    let clients = (0..AT_ONCE).map(|_| {
        let (sandbox, plugins, next) = (Arc::clone(&sandbox), Arc::clone(&plugins), Arc::clone(&next));
        let all = all.clone();
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= TURNS {
                    return;
                }
                let reply = looked(&sandbox, &plugins[turn(number)], &all).await;
                if let Some(found) = found(&reply) {
                    panic!("turn {number}, of {:?}, found something in {found}", SIZES[turn(number)]);
                }
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_is_found_in_every_place_where_it_is_still_there() {
    let sandbox = sandbox();
    for size in SIZES {
        let plugin = sandbox.prepare(&component(size));
        let places = [
            (Kinds::MEMORY, "the memory where arguments stand"),
            (Kinds::IMAGE, "the memory's image"),
            (Kinds::SECOND_MEMORY, "the second memory"),
            (Kinds::TABLE, "the table"),
            (Kinds::GLOBAL, "the global"),
        ];
        for (kinds, place) in places {
            assert_eq!(found(&looked(&sandbox, &plugin, &input(1, kinds)).await), None, "{size:?}");
            // The same instance looks a second time, at what it left itself.
            let again = found(&looked(&sandbox, &plugin, &input(2, kinds)).await);
            assert_eq!(again.map(|found| found.place), Some(place), "{size:?}");
        }
    }
}
