//! Hosts are killed everywhere, twice in a row; the backend's counts are the judge.

mod judge;
mod lock;
mod matrix;
mod power;
mod scenario;
mod trial;

use std::collections::BTreeSet;

use airlock_tests::crash::{Commit, Point};
use insta::assert_snapshot;

use matrix::{Twice, ends, matrix, survived, undisturbed};
use scenario::{
    AGAIN, ALL, By, DID_NOT, HAPPENED, IDEMPOTENT, KEYED, KEYED_AGAIN, KEYED_BY_HOST, ONCE, READS,
    READS_KEYLESS, SEQUENCE, SEQUENCE_KEYED, Scenario,
};

const EITHER: &[By] = &[By::NextStart, By::Standby];
const NEXT_START: &[By] = &[By::NextStart];

/// Kills a scenario at each place, and whoever goes on as well; gives the end of each place.
///
/// It is the same end, whoever brings it about.
fn killed_everywhere(scenario: Scenario, by: &[By], twice: Twice) -> String {
    let tried = matrix(scenario, by, twice);
    survived(scenario.name, &tried);
    let (next_start, standby) = (ends(&tried, By::NextStart), ends(&tried, By::Standby));
    if by.contains(&By::Standby) {
        assert_eq!(next_start, standby);
    }
    next_start
}

#[test]
fn every_write_of_the_journal_is_a_point_of_some_scenario() {
    let met: BTreeSet<Point> = ALL.into_iter().flat_map(undisturbed).collect();
    for commit in Commit::ALL {
        for point in [Point::Before(commit, 1), Point::After(commit, 1)] {
            assert!(met.contains(&point), "no scenario passes the point {point}");
        }
    }
}

#[test]
fn a_reading_call_survives_every_crash() {
    assert_snapshot!(killed_everywhere(READS, EITHER, Twice::Everywhere));
    assert_snapshot!(killed_everywhere(READS_KEYLESS, NEXT_START, Twice::Never));
}

#[test]
fn a_call_whose_repetition_changes_nothing_survives_every_crash() {
    assert_snapshot!(killed_everywhere(IDEMPOTENT, EITHER, Twice::AfterCommits));
}

#[test]
fn a_call_whose_request_has_a_key_survives_every_crash_and_counts_once() {
    assert_snapshot!(killed_everywhere(KEYED, EITHER, Twice::Everywhere));
}

#[test]
fn a_call_under_the_hosts_own_key_survives_every_crash_and_counts_once() {
    assert_snapshot!(killed_everywhere(KEYED_BY_HOST, NEXT_START, Twice::Never));
}

#[test]
fn a_call_that_happens_each_time_survives_every_crash_and_happens_once() {
    assert_snapshot!(killed_everywhere(ONCE, EITHER, Twice::Everywhere));
}

#[test]
fn a_sequence_of_every_kind_survives_every_crash() {
    assert_snapshot!(killed_everywhere(SEQUENCE, NEXT_START, Twice::AfterCommits));
}

#[test]
fn a_sequence_without_anything_that_happens_each_time_survives_every_crash() {
    assert_snapshot!(killed_everywhere(SEQUENCE_KEYED, NEXT_START, Twice::Never));
}

#[test]
fn what_a_person_decides_survives_every_crash() {
    assert_snapshot!(killed_everywhere(HAPPENED, EITHER, Twice::Everywhere));
    assert_snapshot!(killed_everywhere(DID_NOT, NEXT_START, Twice::AfterCommits));
    assert_snapshot!(killed_everywhere(AGAIN, NEXT_START, Twice::AfterCommits));
    assert_snapshot!(killed_everywhere(KEYED_AGAIN, NEXT_START, Twice::Never));
}
