use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use k8s_openapi::jiff::SignedDuration;

use super::*;

/// Finds credentials, or fails, as it is told, and counts.
#[derive(Default)]
struct Scripted {
    trouble: Mutex<Option<String>>,
    asked: Mutex<Vec<Instant>>,
}

impl Signers for Scripted {
    fn find<'a>(&'a self, _: &'a str, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Credentials, String>> {
        self.asked.lock().push(Instant::now());
        let answer = match &*self.trouble.lock() {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(Credentials::fixed("AKIA1", "secret", None)),
        };
        Box::pin(std::future::ready(answer))
    }
}

struct Stage {
    scripted: Arc<Scripted>,
    issuer: Arc<Issuer>,
    objects: Arc<Queue>,
    wakes: Arc<Wakes>,
    clock: Clock,
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
        let issuer = Arc::new(Issuer::new(scripted.clone(), clock.clone(), &wakes));
        tokio::spawn(issuer.clone().run());
        Self {
            scripted,
            issuer,
            objects,
            wakes,
            clock,
        }
    }

    fn issued(&self) -> Issued {
        let reader = self.wakes.reader(0, &key());
        let issued = self.issuer.issued(&reader, &key());
        reader.finish();
        issued
    }

    fn wish(&self, cluster: &str, by: Timestamp) {
        let wish = TokenWish {
            cluster_name: cluster.to_owned(),
            region: "eu-central-1".to_owned(),
            apply: "blue-eks".to_owned(),
            by,
        };
        self.issuer.wish(&key(), Some(wish));
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn asked(&self) -> usize {
        self.scripted.asked.lock().len()
    }

    /// How often the object is woken while time passes.
    async fn wakes_within(&self, seconds: u64) -> usize {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut wakes = 0;
        while let Ok(key) = tokio::time::timeout_at(end, self.objects.next()).await {
            self.objects.done(&key);
            let _ = self.issued();
            wakes += 1;
        }
        wakes
    }
}

fn key() -> ObjectKey {
    ObjectKey::within("team", "blue")
}

#[tokio::test(start_paused = true)]
async fn for_hours_there_is_always_a_valid_token_although_nobody_looks() {
    let stage = Stage::new();
    let _ = stage.issued();
    stage.wish("blue", stage.now());
    stage.wakes_within(1).await;
    for _ in 0..2 * 60 {
        let token = stage.issued().token.unwrap();
        let left = token.expires_at.duration_since(stage.now());
        assert!(left.as_mins() >= 5, "{left:?}");
        assert!(stage.wakes_within(60).await <= 1);
    }
    assert!(stage.asked() < 20, "{}", stage.asked());
    let token = stage.issued().token.unwrap();
    let encoded = token.value.reveal().strip_prefix("k8s-aws-v1.").unwrap();
    let url = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap();
    assert!(
        url.starts_with("https://sts.eu-central-1.amazonaws.com/?"),
        "{url}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_is_issued_when_it_is_due_and_not_before() {
    let stage = Stage::new();
    let due = stage.now().checked_add(SignedDuration::from_mins(5)).unwrap();
    stage.wish("blue", due);
    stage.wakes_within(290).await;
    assert_eq!(stage.asked(), 0);
    stage.wakes_within(20).await;
    assert_eq!(stage.asked(), 1);
    // Whoever has not seen it yet gets no other.
    stage.wish("blue", due);
    stage.wakes_within(60).await;
    assert_eq!(stage.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_try_that_failed_is_told_once_and_made_again_with_pauses() {
    let stage = Stage::new();
    *stage.scripted.trouble.lock() = Some("no key".to_owned());
    let _ = stage.issued();
    stage.wish("blue", stage.now());
    assert_eq!(stage.wakes_within(300).await, 1);
    assert_eq!(stage.issued().trouble.as_deref(), Some("no key"));
    // Wishing harder does not help.
    for _ in 0..100 {
        stage.wish("blue", stage.now());
    }
    stage.wakes_within(1).await;
    let pauses: Vec<u64> = stage
        .scripted
        .asked
        .lock()
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    assert!(pauses.iter().all(|pause| (10..=60).contains(pause)), "{pauses:?}");
    *stage.scripted.trouble.lock() = None;
    stage.wakes_within(60).await;
    let issued = stage.issued();
    assert!(issued.token.is_some() && issued.trouble.is_none(), "{issued:?}");
    // A token stays when the next one cannot be had.
    *stage.scripted.trouble.lock() = Some("no key".to_owned());
    stage.wakes_within(10 * 60).await;
    let failed = stage.issued();
    assert_eq!(failed.token, issued.token);
    assert_eq!(failed.trouble.as_deref(), Some("no key"));
}

#[tokio::test(start_paused = true)]
async fn a_token_is_not_used_for_another_cluster_and_is_forgotten_when_nobody_wants_it() {
    let stage = Stage::new();
    stage.wish("blue", stage.now());
    stage.wakes_within(1).await;
    let first = stage.issued().token.unwrap();
    stage.wish("red", stage.now());
    assert_eq!(stage.issued().token, None);
    stage.wakes_within(1).await;
    assert_ne!(stage.issued().token.unwrap(), first);
    stage.issuer.wish(&key(), None);
    assert_eq!(stage.issued(), Issued::default());
    let asked = stage.asked();
    stage.wakes_within(3600).await;
    assert_eq!(stage.asked(), asked);
}
