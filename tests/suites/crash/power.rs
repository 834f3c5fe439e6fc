//! The part of the matrix in which the power goes with the process: what was not synced is lost.

use airlock_tests::backend::Moment;
use airlock_tests::crash::Disk;
use insta::assert_snapshot;

use super::matrix::{Case, Tried, Twice, places, run, second_crashes, survived};
use super::scenario::{By, KEYED, Kill, ONCE, Scenario};
use super::trial::Power;

fn case(scenario: Scenario, disk: Disk, first: Kill) -> Case {
    Case { scenario, power: Power::Goes(disk), first, by: By::NextStart, second: None }
}

/// Takes the power away at every place of a scenario.
fn lose_power_everywhere(scenario: Scenario, disk: Disk) -> Vec<Tried> {
    let cases: Vec<Case> = places(scenario).into_iter().map(|kill| case(scenario, disk, kill)).collect();
    run(&cases)
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power_at_every_point() {
    for scenario in [KEYED, ONCE] {
        let mut tried = lose_power_everywhere(scenario, Disk::Synced);
        let done = Kill::ByBackend(scenario.requests[0], Moment::AfterWork);
        let twice = tried.iter().filter(|one| one.case.first == done);
        let twice: Vec<Case> = twice.flat_map(|one| second_crashes(one, Twice::AfterCommits)).collect();
        tried.extend(run(&twice));
        survived(&format!("{}, and the power goes", scenario.name), &tried);
    }
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power_around_every_sync() {
    for scenario in [KEYED, ONCE] {
        for before in [true, false] {
            let mut tried: Vec<Tried> = Vec::new();
            // Writes share commits as they meet, so that how many syncs there are is known at the last.
            for pair in 0.. {
                let around = |n| case(scenario, Disk::Synced, Kill::AroundSync { before, n });
                let two = run(&[around(2 * pair + 1), around(2 * pair + 2)]);
                let reached = two.iter().all(|one| one.crashes == 1);
                tried.extend(two);
                if !reached {
                    break;
                }
            }
            let crashes = tried.iter().filter(|one| one.crashes == 1).count();
            assert!(
                crashes >= 5,
                "a call has a commit before it begins, one before its effect, and one at its end"
            );
            let edge = if before { "before" } else { "after" };
            survived(&format!("{}, and the power goes {edge} each sync", scenario.name), &tried);
        }
    }
}

#[test]
fn a_store_that_does_not_sync_is_found_out_and_the_point_is_named() {
    let found = |scenario| {
        let tried = lose_power_everywhere(scenario, Disk::Unsynced);
        let lines = tried.iter().map(|one| {
            // What follows a colon holds keys and ports.
            let faults = one.faults.iter().map(|fault| fault.split(": ").next().unwrap_or_default());
            let faults = faults.collect::<Vec<_>>().join("; ");
            let faults = if faults.is_empty() { "-" } else { &faults };
            format!("{:<23} {faults}", one.case.first.to_string())
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(found(KEYED), @r#"
    before reserve 1        -
    after reserve 1         -
    before intend 1         -
    after intend 1          -
    before outcome 1        POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    after outcome 1         POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    before settle 1         POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    after settle 1          POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    after reply 1           POST /tickets counts 2 times; more than one key, or work; acknowledged and lost; POST /tickets came 2 times, 1 in the journal
    before POST /tickets    POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    after POST /tickets     POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    answering POST /tickets POST /tickets counts 2 times; more than one key, or work; POST /tickets came 2 times, 1 in the journal
    "#);
    assert_snapshot!(found(ONCE), @r#"
    before reserve 1        -
    after reserve 1         -
    before intend 1         -
    after intend 1          -
    before outcome 1        POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    after outcome 1         POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    before settle 1         POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    after settle 1          POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    after reply 1           POST /mails was done 2 times; acknowledged and lost; POST /mails came 2 times, 1 in the journal
    before POST /mails      POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    after POST /mails       POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    answering POST /mails   POST /mails was done 2 times; POST /mails came 2 times, 1 in the journal
    "#);
}
