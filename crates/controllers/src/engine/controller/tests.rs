use capt_core::decision::Target;

use super::*;

/// Writes once, and counts how often it is asked whether that was seen.
#[derive(Default)]
struct Blind {
    asked: Arc<Mutex<u32>>,
    looked: Arc<Mutex<Vec<Instant>>>,
}

impl Reconcile for Blind {
    const NAME: &'static str = "blind";

    async fn reconcile(&self, _: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let mut looked = self.looked.lock();
        if looked.is_empty() {
            let target = Target {
                api_version: "v1".to_owned(),
                kind: "Thing".to_owned(),
                namespace: None,
                name: "x".to_owned(),
            };
            written.all.push(Written { target, version: 7 });
        }
        looked.push(Instant::now());
        Ok(Outcome::default())
    }

    fn has_seen(&self, _: &Written) -> bool {
        *self.asked.lock() += 1;
        false
    }

    async fn failed(&self, _: &ObjectKey, _: &Failure) {}
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_its_own_write_is_looked_at_more_and_more_rarely_and_not_for_ever() {
    let blind = Blind::default();
    let (asked, looked) = (blind.asked.clone(), blind.looked.clone());
    let queue = Arc::new(Queue::default());
    let key = ObjectKey::cluster_scoped("x");
    let stop = CancellationToken::new();
    let worker = Worker::new(blind, queue.clone(), Metrics::default());
    let work = tokio::spawn(worker.work(1, stop.clone()));
    queue.wake(&key);
    tokio::time::sleep(Duration::from_millis(1)).await;
    queue.wake(&key);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let looked = looked.lock().clone();
    assert_eq!(looked.len(), 2);
    assert!(looked[1] - looked[0] >= CATCHING_UP);
    assert!(*asked.lock() < 12, "{}", *asked.lock());
    stop.cancel();
    work.await.unwrap();
}

/// Says something in its status at the first look, and counts looks.
struct Talker {
    looked: Arc<Mutex<Vec<Instant>>>,
    look_again: Option<Duration>,
    /// The table shows what it said.
    is_seen: Arc<Mutex<bool>>,
}

impl Reconcile for Talker {
    const NAME: &'static str = "talker";

    async fn reconcile(&self, key: &ObjectKey, written: &mut Writes) -> Result<Outcome, Failure> {
        let mut looked = self.looked.lock();
        if looked.is_empty() {
            let target = Target {
                api_version: "v1".to_owned(),
                kind: "Thing".to_owned(),
                namespace: None,
                name: key.name().to_owned(),
            };
            written.all.push(Written { target, version: 7 });
            written.only_told = Some(7);
        }
        looked.push(Instant::now());
        let look_again = self.look_again.filter(|_| looked.len() == 1);
        Ok(Outcome { look_again })
    }

    fn has_seen(&self, _: &Written) -> bool {
        *self.is_seen.lock()
    }

    async fn failed(&self, _: &ObjectKey, _: &Failure) {}
}

#[tokio::test(start_paused = true)]
async fn who_only_spoke_is_looked_at_later_unless_something_else_happens() {
    let soon = Duration::from_millis(300);
    let at_once = Duration::ZERO;
    type Wake = fn(&Queue, &ObjectKey);
    let cases: [(Wake, Option<Duration>, Duration); 5] = [
        (|queue, key| queue.wake_changed(key, 7), None, ECHO),
        (|queue, key| queue.wake_changed(key, 7), Some(soon), soon),
        (|queue, key| queue.wake_changed(key, 8), None, at_once),
        (
            |queue, key| {
                queue.wake_changed(key, 7);
                queue.wake_changed(key, 8);
            },
            None,
            at_once,
        ),
        (
            |queue, key| {
                queue.wake_changed(key, 7);
                queue.wake(key);
            },
            None,
            at_once,
        ),
    ];
    for (wake, look_again, expected) in cases {
        let looked = Arc::<Mutex<Vec<Instant>>>::default();
        let talker = Talker {
            looked: looked.clone(),
            look_again,
            is_seen: Arc::new(Mutex::new(true)),
        };
        let queue = Arc::new(Queue::default());
        let key = ObjectKey::cluster_scoped("x");
        let stop = CancellationToken::new();
        let worker = Worker::new(talker, queue.clone(), Metrics::default());
        let work = tokio::spawn(worker.work(1, stop.clone()));
        queue.wake(&key);
        tokio::task::yield_now().await;
        while looked.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        wake(&queue, &key);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let looked = looked.lock().clone();
        assert_eq!(looked.len(), 2);
        assert_eq!((looked[1] - looked[0]).as_millis(), expected.as_millis());
        stop.cancel();
        work.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_before_the_table_shows_what_was_said_does_not_wait_either() {
    let looked = Arc::<Mutex<Vec<Instant>>>::default();
    let is_seen = Arc::<Mutex<bool>>::default();
    let talker = Talker {
        looked: looked.clone(),
        look_again: None,
        is_seen: is_seen.clone(),
    };
    let queue = Arc::new(Queue::default());
    let key = ObjectKey::cluster_scoped("x");
    let stop = CancellationToken::new();
    let work = tokio::spawn(Worker::new(talker, queue.clone(), Metrics::default()).work(1, stop.clone()));
    queue.wake(&key);
    tokio::time::sleep(Duration::from_millis(1)).await;
    queue.wake(&key);
    tokio::time::sleep(Duration::from_millis(3)).await;
    *is_seen.lock() = true;
    queue.wake_changed(&key, 7);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(looked.lock().len(), 2);
    stop.cancel();
    work.await.unwrap();
}

#[test]
fn tries_are_further_and_further_apart_up_to_a_limit_and_differ_between_objects() {
    let key = ObjectKey::within("n", "a");
    let delays: Vec<Duration> = (1..20).map(|attempt| delay(FIRST_TRY, attempt, &key)).collect();
    assert!(delays[0] <= FIRST_TRY && delays[0] >= FIRST_TRY * 3 / 4);
    assert!(
        delays.windows(2).take(7).all(|pair| pair[0] < pair[1]),
        "{delays:?}"
    );
    assert!(
        delays
            .iter()
            .all(|delay| *delay <= LAST_TRY && *delay > Duration::ZERO)
    );
    assert!(delays[18] >= LAST_TRY * 3 / 4, "{delays:?}");
    let others = (0..20).map(|other| delay(FIRST_TRY, 1, &ObjectKey::within("n", &other.to_string())));
    assert!(others.collect::<std::collections::BTreeSet<_>>().len() > 10);
}
