//! Hosts are killed everywhere, twice in a row; the backend's counts are the judge.

mod judge;
mod late;
mod lock;
mod matrix;
mod poison;
mod power;
mod probed;
mod scenario;
mod taken_back;
mod trial;

use std::collections::BTreeSet;

use airlock_tests::crash::{Commit, Point};
use insta::assert_snapshot;

use matrix::{Twice, ends, matrix, survived, undisturbed};
use scenario::{
    AGAIN, ALL, By, DID_NOT, HAPPENED, IDEMPOTENT, KEYED, KEYED_AGAIN, KEYED_BY_HOST, KEYED_HELD,
    KEYED_IN_BACKGROUND, KEYED_RETRIED, KEYED_RETRIED_HELD, ONCE, ONCE_IN_BACKGROUND, READS, READS_HELD,
    READS_KEYLESS, READS_RETRIED, SEQUENCE, SEQUENCE_KEYED, Scenario,
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
    // What guests save, what takes runs back and what plugins find out have scenarios of their own (`host_functions::saved`,
    // `taken_back`, `probed`); breakers, and that a reply has arrived, say nothing of what was done.
    let elsewhere = [
        Commit::Save,
        Commit::RollBack,
        Commit::Note,
        Commit::Delivered,
        Commit::Ask,
        Commit::Force,
        Commit::PutOff,
    ];
    for commit in Commit::ALL.into_iter().filter(|commit| !elsewhere.contains(commit)) {
        for point in [Point::Before(commit, 1), Point::After(commit, 1)] {
            assert!(met.contains(&point), "no scenario passes the point {point}");
        }
    }
}

#[test]
fn a_reading_call_survives_every_crash() {
    assert_snapshot!(killed_everywhere(READS, EITHER, Twice::Everywhere), @r#"
    before sweep 1               ok = ok; orders 1
    after sweep 1                ok = ok; orders 1
    before record 1              ok = ok; orders 2
    after record 1               ok = ok; orders 1
    after reply 1                ok = ok; orders 1
    before sweep 2               ok = ok; orders 1
    after sweep 2                ok = ok; orders 1
    before GET /orders/A-1001    ok = ok; orders 2
    after GET /orders/A-1001     ok = ok; orders 2
    answering GET /orders/A-1001 ok = ok; orders 2
    "#);
    assert_snapshot!(killed_everywhere(READS_KEYLESS, NEXT_START, Twice::Never), @r#"
    before sweep 1               ok = ok; orders 2
    after sweep 1                ok = ok; orders 2
    before record 1              ok = ok; orders 3
    after record 1               ok = ok; orders 3
    after reply 1                ok = ok; orders 3
    before sweep 2               ok = ok; orders 3
    after sweep 2                ok = ok; orders 3
    before GET /orders/A-1001    ok = ok; orders 3
    after GET /orders/A-1001     ok = ok; orders 3
    answering GET /orders/A-1001 ok = ok; orders 3
    "#);
}

#[test]
fn a_call_whose_repetition_changes_nothing_survives_every_crash() {
    assert_snapshot!(killed_everywhere(IDEMPOTENT, EITHER, Twice::AfterCommits), @r#"
    before reserve 1             ok = ok; settings 1
    after reserve 1              INTERRUPTED, ok = ok; settings 1
    before intend 1              INTERRUPTED, ok = ok; settings 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; settings 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; settings 2
    after outcome 1              PARTLY_DONE, ok = ok; settings 2
    before settle 1              PARTLY_DONE, ok = ok; settings 2
    after settle 1               ok = ok; settings 1
    after reply 1                ok = ok; settings 1
    before PUT /settings/door    OUTCOME_UNKNOWN, ok = ok; settings 2
    after PUT /settings/door     OUTCOME_UNKNOWN, ok = ok; settings 2
    answering PUT /settings/door OUTCOME_UNKNOWN, ok = ok; settings 2
    "#);
}

#[test]
fn a_call_whose_request_has_a_key_survives_every_crash_and_counts_once() {
    assert_snapshot!(killed_everywhere(KEYED, EITHER, Twice::Everywhere), @r#"
    before reserve 1             ok = ok; tickets 1
    after reserve 1              INTERRUPTED, ok = ok; tickets 1
    before intend 1              INTERRUPTED, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              PARTLY_DONE, ok = ok; tickets 1
    before settle 1              PARTLY_DONE, ok = ok; tickets 1
    after settle 1               ok = ok; tickets 1
    after reply 1                ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, ok = ok; tickets 1
    "#);
}

#[test]
fn a_call_under_the_hosts_own_key_survives_every_crash_and_counts_once() {
    assert_snapshot!(killed_everywhere(KEYED_BY_HOST, NEXT_START, Twice::Never), @r#"
    before reserve 1             ok = ok; tickets 1
    after reserve 1              INTERRUPTED, ok = ok; tickets 1
    before intend 1              INTERRUPTED, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              PARTLY_DONE, ok = ok; tickets 1
    before settle 1              PARTLY_DONE, ok = ok; tickets 1
    after settle 1               ok = ok; tickets 1
    after reply 1                ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, ok = ok; tickets 1
    "#);
}

#[test]
fn a_call_that_happens_each_time_survives_every_crash_and_happens_once() {
    assert_snapshot!(killed_everywhere(ONCE, EITHER, Twice::Everywhere), @r#"
    before reserve 1             ok = ok; mails 1
    after reserve 1              INTERRUPTED, ok = ok; mails 1
    before intend 1              INTERRUPTED, ok = ok; mails 1
    after intend 1               OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 0
    before outcome 1             OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after outcome 1              PARTLY_DONE = PARTLY_DONE; mails 1
    before settle 1              PARTLY_DONE = PARTLY_DONE; mails 1
    after settle 1               ok = ok; mails 1
    after reply 1                ok = ok; mails 1
    before POST /mails           OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after POST /mails            OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    answering POST /mails        OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    "#);
}

#[test]
fn a_sequence_of_every_kind_survives_every_crash() {
    assert_snapshot!(killed_everywhere(SEQUENCE, NEXT_START, Twice::AfterCommits), @r#"
    before reserve 1             ok = ok; orders 1, settings 1, tickets 1, mails 1
    after reserve 1              INTERRUPTED, ok = ok; orders 1, settings 1, tickets 1, mails 1
    before intend 1              INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1, mails 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; orders 2, settings 1, tickets 1, mails 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after outcome 1              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1, mails 1
    before intend 2              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after intend 2               OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    before outcome 2             OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after outcome 2              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1, mails 1
    before intend 3              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after intend 3               OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; orders 1, settings 1, tickets 1, mails 0
    before outcome 3             OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; orders 1, settings 1, tickets 1, mails 1
    after outcome 3              PARTLY_DONE = PARTLY_DONE; orders 1, settings 1, tickets 1, mails 1
    before settle 1              PARTLY_DONE = PARTLY_DONE; orders 1, settings 1, tickets 1, mails 1
    after settle 1               ok = ok; orders 1, settings 1, tickets 1, mails 1
    after reply 1                ok = ok; orders 1, settings 1, tickets 1, mails 1
    before GET /orders/A-1001    INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1, mails 1
    after GET /orders/A-1001     INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1, mails 1
    answering GET /orders/A-1001 INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1, mails 1
    before PUT /settings/door    OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after PUT /settings/door     OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    answering PUT /settings/door OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    before POST /tickets         OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    after POST /tickets          OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    answering POST /tickets      OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1, mails 1
    before POST /mails           OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; orders 1, settings 1, tickets 1, mails 1
    after POST /mails            OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; orders 1, settings 1, tickets 1, mails 1
    answering POST /mails        OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; orders 1, settings 1, tickets 1, mails 1
    "#);
}

#[test]
fn a_sequence_without_anything_that_happens_each_time_survives_every_crash() {
    assert_snapshot!(killed_everywhere(SEQUENCE_KEYED, NEXT_START, Twice::Never), @r#"
    before reserve 1             ok = ok; orders 1, settings 1, tickets 1
    after reserve 1              INTERRUPTED, ok = ok; orders 1, settings 1, tickets 1
    before intend 1              INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; orders 2, settings 1, tickets 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    after outcome 1              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1
    before intend 2              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1
    after intend 2               OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    before outcome 2             OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    after outcome 2              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1
    before settle 1              PARTLY_DONE, ok = ok; orders 2, settings 2, tickets 1
    after settle 1               ok = ok; orders 1, settings 1, tickets 1
    after reply 1                ok = ok; orders 1, settings 1, tickets 1
    before GET /orders/A-1001    INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1
    after GET /orders/A-1001     INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1
    answering GET /orders/A-1001 INTERRUPTED, ok = ok; orders 2, settings 1, tickets 1
    before PUT /settings/door    OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    after PUT /settings/door     OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    answering PUT /settings/door OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, ok = ok; orders 2, settings 2, tickets 1
    "#);
}

#[test]
fn a_call_in_the_background_survives_every_crash_while_it_waits_and_while_it_is_made() {
    assert_snapshot!(killed_everywhere(KEYED_IN_BACKGROUND, EITHER, Twice::AfterCommits), @"
    before reserve 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reserve 1              OUTCOME_UNKNOWN, ok = ok; tickets 1
    before take 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after take 1                 INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 1              INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before rest 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after rest 1                 OUTCOME_UNKNOWN, ok = ok; tickets 1
    before take 2                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after take 2                 OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 2              OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 2               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    before settle 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    after settle 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    ");
    assert_snapshot!(killed_everywhere(ONCE_IN_BACKGROUND, NEXT_START, Twice::AfterCommits), @"
    before reserve 1             ok = ok; mails 1
    after reserve 1              ok = ok; mails 1
    before take 1                ok = ok; mails 1
    after take 1                 INTERRUPTED, ok = ok; mails 1
    before intend 1              INTERRUPTED, ok = ok; mails 1
    after intend 1               OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 0
    before outcome 1             OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after outcome 1              PARTLY_DONE = PARTLY_DONE; mails 1
    before settle 1              PARTLY_DONE = PARTLY_DONE; mails 1
    after settle 1               ok = ok; mails 1
    after reply 1                ok = ok; mails 1
    before POST /mails           OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after POST /mails            OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    answering POST /mails        OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    ");
}

#[test]
fn a_call_that_is_tried_again_survives_every_crash_between_its_attempts() {
    assert_snapshot!(killed_everywhere(KEYED_RETRIED, EITHER, Twice::Everywhere), @"
    before reserve 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reserve 1              INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 1              INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before rest 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after rest 1                 OUTCOME_UNKNOWN, ok = ok; tickets 1
    before take 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after take 1                 OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 2              OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 2               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    before settle 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    after settle 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    ");
    assert_snapshot!(killed_everywhere(READS_RETRIED, NEXT_START, Twice::Never), @"
    before sweep 1               NO_ANSWER, ok = ok; orders 1
    after sweep 1                NO_ANSWER, ok = ok; orders 1
    before hear 1                ok = ok; orders 1
    after hear 1                 ok = ok; orders 1
    before record 1              ok = ok; orders 2
    after record 1               NO_ANSWER, ok = ok; orders 1
    after reply 1                NO_ANSWER, ok = ok; orders 1
    before sweep 2               NO_ANSWER, ok = ok; orders 1
    after sweep 2                NO_ANSWER, ok = ok; orders 1
    before GET /orders/A-1001    ok = ok; orders 2
    after GET /orders/A-1001     ok = ok; orders 2
    answering GET /orders/A-1001 ok = ok; orders 2
    ");
}

#[test]
fn what_is_held_of_budgets_is_given_back_once_wherever_a_process_dies() {
    assert_snapshot!(killed_everywhere(KEYED_HELD, EITHER, Twice::AfterCommits), @"
    before reserve 1             ok = ok; tickets 1
    after reserve 1              INTERRUPTED, ok = ok; tickets 1
    before intend 1              INTERRUPTED, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              PARTLY_DONE, ok = ok; tickets 1
    before settle 1              PARTLY_DONE, ok = ok; tickets 1
    after settle 1               ok = ok; tickets 1
    after reply 1                ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, ok = ok; tickets 1
    ");
    assert_snapshot!(killed_everywhere(READS_HELD, NEXT_START, Twice::Everywhere), @"
    before sweep 1               ok = ok; orders 1
    after sweep 1                ok = ok; orders 1
    before reserve 1             ok = ok; orders 1
    after reserve 1              INTERRUPTED, ok = ok; orders 1
    before settle 1              INTERRUPTED, ok = ok; orders 2
    after settle 1               ok = ok; orders 1
    after reply 1                ok = ok; orders 1
    before sweep 2               ok = ok; orders 1
    after sweep 2                ok = ok; orders 1
    before GET /orders/A-1001    INTERRUPTED, ok = ok; orders 2
    after GET /orders/A-1001     INTERRUPTED, ok = ok; orders 2
    answering GET /orders/A-1001 INTERRUPTED, ok = ok; orders 2
    ");
    assert_snapshot!(killed_everywhere(KEYED_RETRIED_HELD, NEXT_START, Twice::AfterCommits), @"
    before reserve 1             OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reserve 1              INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 1              INTERRUPTED, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before rest 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after rest 1                 OUTCOME_UNKNOWN, ok = ok; tickets 1
    before take 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after take 1                 OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before intend 2              OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after intend 2               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    before settle 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    after settle 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    ");
}

#[test]
fn what_a_person_decides_survives_every_crash() {
    assert_snapshot!(killed_everywhere(HAPPENED, EITHER, Twice::Everywhere), @r#"
    before decide 1              OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after decide 1               OUTCOME_UNKNOWN = ok; mails 1
    after reply 1                OUTCOME_UNKNOWN = ok; mails 1
    "#);
    assert_snapshot!(killed_everywhere(DID_NOT, NEXT_START, Twice::AfterCommits), @r#"
    before decide 1              OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 0
    after decide 1               OUTCOME_UNKNOWN, ok = ok; mails 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; mails 1
    "#);
    assert_snapshot!(killed_everywhere(AGAIN, NEXT_START, Twice::AfterCommits), @r#"
    before decide 1              OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 0
    after decide 1               OUTCOME_UNKNOWN, ok = ok; mails 1
    before take 1                OUTCOME_UNKNOWN, ok = ok; mails 1
    after take 1                 OUTCOME_UNKNOWN, INTERRUPTED, ok = ok; mails 1
    before intend 1              OUTCOME_UNKNOWN, INTERRUPTED, ok = ok; mails 1
    after intend 1               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 0
    before outcome 1             OUTCOME_UNKNOWN, OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after outcome 1              OUTCOME_UNKNOWN, PARTLY_DONE = PARTLY_DONE; mails 1
    before settle 1              OUTCOME_UNKNOWN, PARTLY_DONE = PARTLY_DONE; mails 1
    after settle 1               OUTCOME_UNKNOWN, ok = ok; mails 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; mails 1
    before POST /mails           OUTCOME_UNKNOWN, OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    after POST /mails            OUTCOME_UNKNOWN, OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    answering POST /mails        OUTCOME_UNKNOWN, OUTCOME_UNKNOWN = OUTCOME_UNKNOWN; mails 1
    "#);
    assert_snapshot!(killed_everywhere(KEYED_AGAIN, NEXT_START, Twice::Never), @r#"
    before decide 1              OUTCOME_UNKNOWN, ok = ok; tickets 1
    after decide 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    before take 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    after take 1                 OUTCOME_UNKNOWN, INTERRUPTED, ok = ok; tickets 1
    before intend 1              OUTCOME_UNKNOWN, INTERRUPTED, ok = ok; tickets 1
    after intend 1               OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    before outcome 1             OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after outcome 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    before settle 1              OUTCOME_UNKNOWN, PARTLY_DONE, ok = ok; tickets 1
    after settle 1               OUTCOME_UNKNOWN, ok = ok; tickets 1
    after reply 1                OUTCOME_UNKNOWN, ok = ok; tickets 1
    before POST /tickets         OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    after POST /tickets          OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    answering POST /tickets      OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok = ok; tickets 1
    "#);
}
