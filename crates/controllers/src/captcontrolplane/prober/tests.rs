use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::time::{Instant, advance, sleep};

use super::*;

const EVERY: Duration = Duration::from_secs(5);

/// Answers as it is told, and counts.
#[derive(Default)]
struct Scripted {
    answer: Mutex<Option<String>>,
    hangs: Mutex<bool>,
    asked: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Endpoints for Scripted {
    fn ask<'a>(&'a self, _: &'a ApiEndpoint, _: Option<&'a str>) -> BoxFuture<'a, Result<(), Silence>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(now, Ordering::SeqCst);
            let _counted = Counted(&self.at_once);
            let hangs = *self.hangs.lock();
            sleep(if hangs {
                Duration::from_secs(3600)
            } else {
                Duration::from_millis(10)
            })
            .await;
            self.answer
                .lock()
                .clone()
                .map_or(Ok(()), |why| Err(Silence::Nobody(why)))
        })
    }
}

/// Counts one fewer when it is over, however it ends.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Stage {
    scripted: Arc<Scripted>,
    prober: Arc<Prober>,
    objects: Arc<Queue>,
    wakes: Arc<Wakes>,
}

impl Stage {
    fn new() -> Self {
        let objects = Arc::new(Queue::default());
        let wakes = Wakes::new(vec![objects.clone()]);
        let scripted = Arc::new(Scripted::default());
        let began = Instant::now();
        let clock: Clock = Arc::new(move || {
            let seconds = i64::try_from(began.elapsed().as_secs()).unwrap();
            Timestamp::from_second(1_000_000 + seconds).unwrap()
        });
        let prober = Arc::new(Prober::new(scripted.clone(), clock, &wakes));
        tokio::spawn(prober.clone().run());
        Self {
            scripted,
            prober,
            objects,
            wakes,
        }
    }

    fn seen(&self, key: &ObjectKey) -> Option<Probe> {
        let reader = self.wakes.reader(0, key);
        let seen = self.prober.seen(&reader, key);
        reader.finish();
        seen
    }

    fn asked(&self) -> usize {
        self.scripted.asked.load(Ordering::SeqCst)
    }

    /// How often an object is woken while time passes.
    async fn wakes_within(&self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let mut wakes = 0;
        while let Ok(key) = tokio::time::timeout_at(end, self.objects.next()).await {
            self.objects.done(&key);
            let _ = self.seen(&key);
            wakes += 1;
        }
        wakes
    }
}

fn key() -> ObjectKey {
    ObjectKey::within("team", "blue")
}

fn wish(host: &str, every: Duration) -> ProbeWish {
    ProbeWish {
        endpoint: ApiEndpoint {
            host: host.to_owned(),
            port: 443,
        },
        ca: None,
        every,
    }
}

#[tokio::test(start_paused = true)]
async fn it_asks_at_once_and_then_again_and_wakes_only_when_the_answer_changes() {
    let stage = Stage::new();
    assert_eq!(stage.seen(&key()), None);
    stage.prober.wish(&key(), Some(wish("a", EVERY)));
    assert_eq!(stage.wakes_within(Duration::from_secs(60)).await, 1);
    assert_eq!(stage.asked(), 12);
    let first = stage.seen(&key()).unwrap();
    assert_eq!(first.silence, None);
    *stage.scripted.answer.lock() = Some("refused".to_owned());
    assert_eq!(stage.wakes_within(Duration::from_secs(60)).await, 1);
    let failing = stage.seen(&key()).unwrap();
    let (since, why) = failing.silence.clone().unwrap();
    assert_eq!(why, Silence::Nobody("refused".to_owned()));
    assert!(since < failing.seen_at, "{failing:?}");
    *stage.scripted.answer.lock() = None;
    assert_eq!(stage.wakes_within(Duration::from_secs(60)).await, 1);
    assert_eq!(stage.seen(&key()).unwrap().silence, None);
}

#[tokio::test(start_paused = true)]
async fn it_asks_as_often_as_is_wished_last_and_sooner_at_once() {
    let stage = Stage::new();
    stage
        .prober
        .wish(&key(), Some(wish("a", Duration::from_secs(600))));
    stage.wakes_within(Duration::from_secs(100)).await;
    assert_eq!(stage.asked(), 1);
    stage.prober.wish(&key(), Some(wish("a", EVERY)));
    stage.wakes_within(Duration::from_secs(21)).await;
    assert_eq!(stage.asked(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_wished_any_more_is_forgotten() {
    let stage = Stage::new();
    stage.prober.wish(&key(), Some(wish("a", EVERY)));
    stage.wakes_within(Duration::from_secs(1)).await;
    assert!(stage.seen(&key()).is_some());
    stage.prober.wish(&key(), Some(wish("b", EVERY)));
    assert_eq!(stage.seen(&key()), None, "another place is not known yet");
    stage.wakes_within(Duration::from_secs(1)).await;
    assert_eq!(stage.seen(&key()).unwrap().endpoint.host, "b");
    stage.prober.wish(&key(), None);
    assert_eq!(stage.seen(&key()), None);
    let asked = stage.asked();
    advance(Duration::from_secs(600)).await;
    stage.wakes_within(Duration::from_secs(600)).await;
    assert_eq!(stage.asked(), asked);
}

#[tokio::test(start_paused = true)]
async fn whoever_hangs_is_not_waited_for_and_few_are_asked_at_once() {
    let stage = Stage::new();
    *stage.scripted.hangs.lock() = true;
    for number in 0..100 {
        let key = ObjectKey::within("team", &number.to_string());
        stage
            .prober
            .wish(&key, Some(wish("a", Duration::from_secs(3600))));
    }
    stage.wakes_within(Duration::from_secs(60)).await;
    assert_eq!(stage.asked(), 100);
    assert_eq!(stage.scripted.most_at_once.load(Ordering::SeqCst), AT_ONCE);
    let seen = stage.seen(&ObjectKey::within("team", "7")).unwrap();
    let (_, why) = seen.silence.unwrap();
    assert_eq!(why, Silence::Nobody("no answer within 5 seconds".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_first_answer_is_waited_for_only_a_moment() {
    let stage = Stage::new();
    stage.prober.wish(&key(), Some(wish("a", EVERY)));
    let began = Instant::now();
    let first = stage.prober.first(&key()).await.unwrap();
    assert_eq!(first.endpoint.host, "a");
    assert!(began.elapsed() < MOMENT);
    *stage.scripted.hangs.lock() = true;
    stage.prober.wish(&key(), Some(wish("b", EVERY)));
    assert_eq!(stage.prober.first(&key()).await, None);
    assert_eq!(began.elapsed().as_secs(), MOMENT.as_secs());
}
