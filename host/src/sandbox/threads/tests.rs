//! Whose turn it is, and who is told of work.

use super::*;

fn guest<T: Send + 'static>(
    shared: &Arc<Shared>,
    ticket: Ticket,
    guest: impl Future<Output = T> + Send + 'static,
) -> Task<T, Ticket> {
    let queue = Arc::clone(shared);
    let (runnable, task) =
        Builder::new().metadata(ticket).spawn(move |_| guest, move |runnable| queue.push(runnable));
    runnable.schedule();
    task
}

#[test]
fn groups_take_turns_and_so_do_guests_within_them() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::new(Shared::default());
    let mut tasks = Vec::new();
    for (number, group) in [1, 1, 1, 2, 3, 3].into_iter().enumerate() {
        let order = Arc::clone(&order);
        let ticket = Ticket { group: Group(group), number: number as u64 };
        tasks.push(guest(&shared, ticket, async move { order.lock().unwrap().push(number) }));
    }
    while let Some(runnable) = { shared.lock().take() } {
        runnable.run();
    }
    assert_eq!(*order.lock().unwrap(), [0, 3, 4, 1, 5, 2]);
}

#[test]
fn a_thread_that_finds_nothing_gives_up_looking() {
    let shared = Shared::default();
    assert!(!shared.look(shared.lock()).looked_for);
}

#[test]
fn a_thread_that_is_told_stops_looking_and_has_heard() {
    let shared = Shared::default();
    shared.news.store(true, Ordering::Release);
    assert!(!shared.look(shared.lock()).looked_for);
    assert!(shared.heard());
}

#[test]
fn who_looks_is_told_before_one_that_sleeps() {
    let mut queue = Queue { looked_for: true, asleep: 1, ..Queue::default() };
    assert_eq!(queue.tell(), Told::Looker);
    queue.looked_for = false;
    assert_eq!([queue.tell(), queue.tell()], [Told::Sleeper, Told::Nobody]);
}

#[test]
fn one_that_sleeps_is_called_where_who_looks_does_not_hear() {
    let shared = Arc::new(Shared::default());
    *shared.lock() = Queue { looked_for: true, asleep: 2, ..Queue::default() };
    let _task = guest(&shared, Ticket { group: Group(1), number: 1 }, async {});
    let queue = shared.lock();
    assert_eq!((queue.asleep, queue.called), (1, 1));
}

#[test]
fn threads_that_look_or_sleep_end_when_all_is_closed() {
    let shared = Arc::new(Shared::default());
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve())
        })
        .collect();
    shared.close();
    assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_guest_is_run_whether_threads_look_or_sleep() {
    let threads = Threads::start(&tokio::runtime::Handle::current()).unwrap();
    for crowd in 0..200 {
        let answers: Vec<_> = (0..=crowd % 7)
            .map(|number| {
                let (reply, answer) = tokio::sync::oneshot::channel();
                let guest = async move { reply.send(number).is_ok() };
                threads.run(Group(number % 3), guest).detach();
                answer
            })
            .collect();
        for (number, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.await, Ok(number as u64));
        }
    }
}
