//! Each thing that goes wrong behind a tool, its end, and what the same key then gets; the backend's counts judge.

use std::time::Duration;

use airlock::host::Host;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{self, keyed};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, end, text};

/// Well within every limit.
const A_LITTLE: Duration = Duration::from_millis(20);

/// How long a request may take where the backend is silent.
const IMPATIENCE: Duration = Duration::from_millis(500);

/// What can go wrong, in the order of the tables.
fn faults() -> Vec<Fault> {
    use Moment::{AfterHead, AfterWork, BeforeWork};
    let mut faults = vec![Fault::slow(BeforeWork, A_LITTLE), Fault::slow(AfterHead, A_LITTLE)];
    faults.push(Fault::status(AfterWork, 500));
    faults.extend([500, 503, 429, 408, 401, 404, 422, 302].map(|status| Fault::status(BeforeWork, status)));
    faults.extend([BeforeWork, AfterWork, AfterHead].map(Fault::cut));
    faults.extend([BeforeWork, AfterWork, AfterHead].map(Fault::hang));
    faults
}

/// Two hosts of one state folder, of which the first does not wait for long.
struct Bench {
    scene: Scene,
    impatient: Host,
    host: Host,
}

impl Bench {
    async fn on(scene: Scene) -> Self {
        let mut config = scene.world.config();
        config.limits.read = IMPATIENCE;
        let impatient = world::open(config).await.unwrap();
        let host = scene.open().await;
        Self { scene, impatient, host }
    }

    /// One line for each fault: the end, where the run stands, and the work that was done; then what the same key
    /// gets from a backend that is well again.
    async fn table(&self, tool: &str, place: &str, input: &Value) -> String {
        let mut lines = Vec::new();
        for fault in faults() {
            self.scene.backend.reset();
            // A read on a connection that was kept is sent again by itself.
            self.scene.backend.fault(place, fault.clone(), 2);
            let key = format!("{tool}:{}", fault.to_string().replace(' ', "-"));
            let asked = || keyed(tool, input, &key);
            let silent = fault.to_string().starts_with("silence");
            let host = if silent { &self.impatient } else { &self.host };
            let first = host.call(asked()).await;
            if !silent {
                self.scene.backend.wait_idle();
            }
            let before = format!("{}{}", end(host, &first), self.works(place));
            self.scene.backend.clear_faults();
            let again = self.host.call(asked()).await;
            let stored = again.meta.replayed && text(&again) == text(&first);
            let after = if stored { "stored".to_owned() } else { end(&self.host, &again) };
            lines.push(format!("{fault}: {before}; again: {after}{}", self.works(place)));
        }
        lines.join("\n")
    }

    /// How often it was done; a read may be sent twice, and that is nobody's harm.
    fn works(&self, place: &str) -> String {
        if place.starts_with("GET") {
            return String::new();
        }
        format!(" {}x", self.scene.backend.counts().under(place).works)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_must_happen_once() {
    let bench = Bench::on(Scene::courier("").await).await;
    let input = bench.scene.mail("a");
    assert_snapshot!(bench.table("courier.post_once", "POST /mails", &input).await, @r"
    slow by 20ms before the work: ok, completed [done 202] 1x; again: stored 1x
    slow by 20ms after the head of the answer: ok, completed [done 202] 1x; again: stored 1x
    status 500 after the work: OUTCOME_UNKNOWN, suspended: unknown [open 500] 1x; again: stored 1x
    status 500 before the work: OUTCOME_UNKNOWN, suspended: unknown [open 500] 0x; again: stored 0x
    status 503 before the work: BACKEND_FAILED+key, failed [failed_clean 503] 0x; again: ok, completed [failed_clean 503, done 202] 1x
    status 429 before the work: BACKEND_THROTTLED+key, failed [failed_clean 429] 0x; again: ok, completed [failed_clean 429, done 202] 1x
    status 408 before the work: OUTCOME_UNKNOWN, suspended: unknown [open 408] 0x; again: stored 0x
    status 401 before the work: BACKEND_DENIED, failed [refused 401] 0x; again: stored 0x
    status 404 before the work: NOT_FOUND, failed [refused 404] 0x; again: stored 0x
    status 422 before the work: BACKEND_REJECTED, failed [refused 422] 0x; again: stored 0x
    status 302 before the work: UNEXPECTED_ANSWER, failed [refused 302] 0x; again: stored 0x
    line cut before the work: OUTCOME_UNKNOWN, suspended: unknown [open] 0x; again: stored 0x
    line cut after the work: OUTCOME_UNKNOWN, suspended: unknown [open] 1x; again: stored 1x
    line cut after the head of the answer: PARTLY_DONE, suspended: half_done [done 202] 1x; again: stored 1x
    silence before the work: OUTCOME_UNKNOWN, suspended: unknown [open] 0x; again: stored 0x
    silence after the work: OUTCOME_UNKNOWN, suspended: unknown [open] 1x; again: stored 1x
    silence after the head of the answer: PARTLY_DONE, suspended: half_done [done 202] 1x; again: stored 1x
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_bears_a_key() {
    let bench = Bench::on(Scene::courier("").await).await;
    let input = bench.scene.ticket("a");
    assert_snapshot!(bench.table("courier.post_keyed", "POST /tickets", &input).await, @r"
    slow by 20ms before the work: ok, completed [done 201] 1x; again: stored 1x
    slow by 20ms after the head of the answer: ok, completed [done 201] 1x; again: stored 1x
    status 500 after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 1x; again: ok, completed [open 500, done 201] 1x
    status 500 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 0x; again: ok, completed [open 500, done 201] 1x
    status 503 before the work: BACKEND_FAILED+key, failed [failed_clean 503] 0x; again: ok, completed [failed_clean 503, done 201] 1x
    status 429 before the work: BACKEND_THROTTLED+key, failed [failed_clean 429] 0x; again: ok, completed [failed_clean 429, done 201] 1x
    status 408 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 408] 0x; again: ok, completed [open 408, done 201] 1x
    status 401 before the work: BACKEND_DENIED, failed [refused 401] 0x; again: stored 0x
    status 404 before the work: NOT_FOUND, failed [refused 404] 0x; again: stored 0x
    status 422 before the work: BACKEND_REJECTED, failed [refused 422] 0x; again: stored 0x
    status 302 before the work: UNEXPECTED_ANSWER, failed [refused 302] 0x; again: stored 0x
    line cut before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 201] 1x
    line cut after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 201] 1x
    line cut after the head of the answer: PARTLY_DONE, suspended: half_done [done 201] 1x; again: stored 1x
    silence before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 201] 1x
    silence after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 201] 1x
    silence after the head of the answer: PARTLY_DONE, suspended: half_done [done 201] 1x; again: stored 1x
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_changes_nothing_more_the_second_time() {
    let bench = Bench::on(Scene::courier("").await).await;
    let input = bench.scene.setting("a");
    assert_snapshot!(bench.table("courier.put", "PUT /settings/a", &input).await, @r"
    slow by 20ms before the work: ok, completed [done 200] 1x; again: stored 1x
    slow by 20ms after the head of the answer: ok, completed [done 200] 1x; again: stored 1x
    status 500 after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 1x; again: ok, completed [open 500, done 200] 2x
    status 500 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 0x; again: ok, completed [open 500, done 200] 1x
    status 503 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 503] 0x; again: ok, completed [open 503, done 200] 1x
    status 429 before the work: BACKEND_THROTTLED+key, failed [failed_clean 429] 0x; again: ok, completed [failed_clean 429, done 200] 1x
    status 408 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 408] 0x; again: ok, completed [open 408, done 200] 1x
    status 401 before the work: BACKEND_DENIED, failed [refused 401] 0x; again: stored 0x
    status 404 before the work: NOT_FOUND, failed [refused 404] 0x; again: stored 0x
    status 422 before the work: BACKEND_REJECTED, failed [refused 422] 0x; again: stored 0x
    status 302 before the work: UNEXPECTED_ANSWER, failed [refused 302] 0x; again: stored 0x
    line cut before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 200] 1x
    line cut after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 200] 2x
    line cut after the head of the answer: PARTLY_DONE, suspended: half_done [done 200] 1x; again: stored 1x
    silence before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 200] 1x
    silence after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 200] 2x
    silence after the head of the answer: PARTLY_DONE, suspended: half_done [done 200] 1x; again: stored 1x
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_only_reads() {
    let bench = Bench::on(Scene::courier("").await).await;
    let input = bench.scene.job("GET", "/orders/A-1001");
    assert_snapshot!(bench.table("courier.fetch", "GET /orders/A-1001", &input).await, @r"
    slow by 20ms before the work: ok, completed []; again: stored
    slow by 20ms after the head of the answer: ok, completed []; again: stored
    status 500 after the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 500 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 503 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 429 before the work: BACKEND_THROTTLED+key, failed []; again: ok, completed []
    status 408 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 401 before the work: BACKEND_DENIED, failed []; again: stored
    status 404 before the work: NOT_FOUND, failed []; again: stored
    status 422 before the work: BACKEND_REJECTED, failed []; again: stored
    status 302 before the work: UNEXPECTED_ANSWER, failed []; again: stored
    line cut before the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    line cut after the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    line cut after the head of the answer: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence before the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence after the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence after the head of the answer: ANSWER_BROKEN+key, failed []; again: ok, completed []
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_desks_tools() {
    let scene = Scene::desk("[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n").await;
    let bench = Bench::on(scene).await;
    let ticket = json!({ "order_id": "A-1001", "subject": "late", "body": "where is it" });
    let mail = json!({ "to": "ada@example.com", "subject": "late", "body": "we look" });
    let order = json!({ "order_id": "A-1001" });
    assert_snapshot!(bench.table("desk.create_ticket", "POST /tickets", &ticket).await, @"
    slow by 20ms before the work: ok, completed [done 201] 1x; again: stored 1x
    slow by 20ms after the head of the answer: ok, completed [done 201] 1x; again: stored 1x
    status 500 after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 1x; again: ok, completed [open 500, done 201] 1x
    status 500 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 500] 0x; again: ok, completed [open 500, done 201] 1x
    status 503 before the work: BACKEND_FAILED+key, failed [failed_clean 503] 0x; again: ok, completed [failed_clean 503, done 201] 1x
    status 429 before the work: BACKEND_THROTTLED+key, failed [failed_clean 429] 0x; again: ok, completed [failed_clean 429, done 201] 1x
    status 408 before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open 408] 0x; again: ok, completed [open 408, done 201] 1x
    status 401 before the work: BACKEND_DENIED, failed [refused 401] 0x; again: stored 0x
    status 404 before the work: NOT_FOUND, failed [refused 404] 0x; again: stored 0x
    status 422 before the work: TICKET_REFUSED, failed [refused 422] 0x; again: stored 0x
    status 302 before the work: UNEXPECTED_ANSWER, failed [refused 302] 0x; again: stored 0x
    line cut before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 201] 1x
    line cut after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 201] 1x
    line cut after the head of the answer: PARTLY_DONE, suspended: half_done [done 201] 1x; again: stored 1x
    silence before the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 0x; again: ok, completed [open, done 201] 1x
    silence after the work: OUTCOME_UNKNOWN+key, suspended: unknown [open] 1x; again: ok, completed [open, done 201] 1x
    silence after the head of the answer: PARTLY_DONE, suspended: half_done [done 201] 1x; again: stored 1x
    ");
    assert_snapshot!(bench.table("desk.send_mail", "POST /mails", &mail).await, @"
    slow by 20ms before the work: ok, completed [done 202] 1x; again: stored 1x
    slow by 20ms after the head of the answer: ok, completed [done 202] 1x; again: stored 1x
    status 500 after the work: OUTCOME_UNKNOWN, suspended: unknown [open 500] 1x; again: stored 1x
    status 500 before the work: OUTCOME_UNKNOWN, suspended: unknown [open 500] 0x; again: stored 0x
    status 503 before the work: OUTCOME_UNKNOWN, suspended: unknown [open 503] 0x; again: stored 0x
    status 429 before the work: BACKEND_THROTTLED+key, failed [failed_clean 429] 0x; again: ok, completed [failed_clean 429, done 202] 1x
    status 408 before the work: OUTCOME_UNKNOWN, suspended: unknown [open 408] 0x; again: stored 0x
    status 401 before the work: BACKEND_DENIED, failed [refused 401] 0x; again: stored 0x
    status 404 before the work: NOT_FOUND, failed [refused 404] 0x; again: stored 0x
    status 422 before the work: MAIL_REFUSED, failed [refused 422] 0x; again: stored 0x
    status 302 before the work: UNEXPECTED_ANSWER, failed [refused 302] 0x; again: stored 0x
    line cut before the work: OUTCOME_UNKNOWN, suspended: unknown [open] 0x; again: stored 0x
    line cut after the work: OUTCOME_UNKNOWN, suspended: unknown [open] 1x; again: stored 1x
    line cut after the head of the answer: PARTLY_DONE, suspended: half_done [done 202] 1x; again: stored 1x
    silence before the work: OUTCOME_UNKNOWN, suspended: unknown [open] 0x; again: stored 0x
    silence after the work: OUTCOME_UNKNOWN, suspended: unknown [open] 1x; again: stored 1x
    silence after the head of the answer: PARTLY_DONE, suspended: half_done [done 202] 1x; again: stored 1x
    ");
    assert_snapshot!(bench.table("desk.find_order", "GET /orders/A-1001", &order).await, @"
    slow by 20ms before the work: ok, completed []; again: stored
    slow by 20ms after the head of the answer: ok, completed []; again: stored
    status 500 after the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 500 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 503 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 429 before the work: BACKEND_THROTTLED+key, failed []; again: ok, completed []
    status 408 before the work: BACKEND_FAILED+key, failed []; again: ok, completed []
    status 401 before the work: BACKEND_DENIED, failed []; again: stored
    status 404 before the work: ORDER_NOT_FOUND, failed []; again: stored
    status 422 before the work: BACKEND_REJECTED, failed []; again: stored
    status 302 before the work: UNEXPECTED_ANSWER, failed []; again: stored
    line cut before the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    line cut after the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    line cut after the head of the answer: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence before the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence after the work: ANSWER_BROKEN+key, failed []; again: ok, completed []
    silence after the head of the answer: ANSWER_BROKEN+key, failed []; again: ok, completed []
    ");
}
