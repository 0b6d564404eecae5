use super::{
    super::{queue::Queue, wakes::Wakes},
    *,
};

const BY_COLOR: &[Index<(String, u32)>] = &[Index {
    name: "color",
    finds: true,
    values: |_, (color, _)| vec![color.clone()],
}];

struct World {
    queue: Arc<Queue>,
    wakes: Arc<Wakes>,
    table: Table<(String, u32)>,
}

fn world() -> World {
    let queue = Arc::new(Queue::default());
    let wakes = Wakes::new(vec![queue.clone()]);
    let table = Table::new("things", &wakes, BY_COLOR);
    World { queue, wakes, table }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster_scoped(name)
}

fn row(name: &str, version: u64, color: &str, size: u32) -> Row<(String, u32)> {
    Row {
        key: key(name),
        version,
        value: Some((color.to_owned(), size)),
    }
}

impl World {
    /// Who was woken since the last time.
    async fn woken(&self) -> Vec<String> {
        let mut woken = Vec::new();
        while self.queue.depth() > 0 {
            let key = self.queue.next().await;
            self.queue.done(&key);
            woken.push(key.name().to_owned());
        }
        woken.sort();
        woken
    }

    fn read(&self, who: &str, read: impl FnOnce(&Reader)) {
        let reader = self.wakes.reader(0, &key(who));
        read(&reader);
        reader.finish();
    }
}

#[tokio::test]
async fn whoever_read_something_is_woken_when_that_changes_and_nobody_else() {
    let world = world();
    world.table.replace(
        &WatchScope::Cluster,
        vec![row("a", 1, "red", 1), row("b", 2, "blue", 1)],
    );
    let table = &world.table;
    world.read("object", |reader| assert!(table.get(reader, &key("a")).is_some()));
    world.read("absent", |reader| assert!(table.get(reader, &key("c")).is_none()));
    world.read("reds", |reader| {
        assert_eq!(table.find(reader, "color", "red").len(), 1)
    });
    world.read("members", |reader| {
        assert_eq!(table.members(reader, "color", "red"), [key("a")])
    });
    world.read("values", |reader| {
        assert_eq!(table.values(reader, "color", &key("a")), ["red"])
    });
    world.read("served", |reader| assert!(table.is_served(reader)));
    assert_eq!(world.woken().await, Vec::<String>::new());
    // The same again is no change.
    table.apply(row("a", 3, "red", 1));
    assert_eq!(world.woken().await, Vec::<String>::new());
    assert!(table.has_seen(&key("a"), 3) && !table.has_seen(&key("a"), 4));
    table.apply(row("a", 4, "red", 2));
    assert_eq!(world.woken().await, ["object", "reds"]);
    table.apply(row("a", 5, "blue", 2));
    assert_eq!(world.woken().await, ["members", "object", "reds", "values"]);
    table.apply(row("c", 6, "green", 1));
    assert_eq!(world.woken().await, ["absent"]);
    table.delete(key("a"), 7);
    assert_eq!(world.woken().await, ["object", "values"]);
    table.close();
    assert_eq!(world.woken().await, ["absent", "served"]);
}

#[tokio::test]
async fn what_cannot_be_read_any_more_stays() {
    let world = world();
    let table = &world.table;
    table.replace(&WatchScope::Cluster, vec![row("a", 1, "red", 1)]);
    world.read("object", |reader| assert!(table.get(reader, &key("a")).is_some()));
    world.read("served", |reader| assert!(!table.is_hidden(reader)));
    table.hide(None);
    assert_eq!(world.woken().await, ["served"]);
    world.read("served", |reader| {
        assert!(table.is_hidden(reader) && !table.is_served(reader));
        assert!(table.get(reader, &key("a")).is_some());
    });
    table.replace(&WatchScope::Cluster, vec![row("a", 1, "red", 1)]);
    assert_eq!(world.woken().await, ["served"]);
    assert!(table.is_listed(&WatchScope::Cluster));
}

#[tokio::test]
async fn what_is_not_read_any_more_is_of_no_interest() {
    let world = world();
    let table = &world.table;
    table.replace(
        &WatchScope::Cluster,
        vec![row("a", 1, "red", 1), row("b", 2, "red", 1)],
    );
    world.read("one", |reader| assert!(table.get(reader, &key("a")).is_some()));
    world.read("one", |reader| assert!(table.get(reader, &key("b")).is_some()));
    table.apply(row("a", 3, "red", 2));
    assert_eq!(world.woken().await, Vec::<String>::new());
    table.apply(row("b", 4, "red", 2));
    assert_eq!(world.woken().await, ["one"]);
    world.wakes.reader(0, &key("one")).forget();
    table.apply(row("b", 5, "red", 3));
    assert_eq!(world.woken().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_list_takes_out_what_is_gone() {
    let world = world();
    let table = &world.table;
    table.replace(
        &WatchScope::Cluster,
        vec![row("a", 1, "red", 1), row("b", 2, "red", 1)],
    );
    world.read("one", |reader| {
        assert_eq!(table.find(reader, "color", "red").len(), 2)
    });
    table.replace(&WatchScope::Cluster, vec![row("b", 3, "red", 1)]);
    assert_eq!(world.woken().await, ["one"]);
    world.read("one", |reader| {
        let found = table.find(reader, "color", "red");
        assert_eq!(
            found.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
            [key("b")]
        );
    });
}

#[tokio::test]
async fn what_is_put_together_after_much_happened_is_found_and_wakes_as_before() {
    let mut world = world();
    world.table = world.table.packed();
    let table = &world.table;
    let name = |number: u32| format!("thing-{number}");
    let color = |number: u32| {
        if number.is_multiple_of(100) {
            "red".to_owned()
        } else {
            name(number)
        }
    };
    for number in 0..1000u32 {
        table.apply(row(&name(number), u64::from(number) + 1, &color(number), 1));
    }
    for number in 0..1000u32 {
        let (who, own) = (format!("reader of {number}"), key(&name(number)));
        world.read(&who, |reader| assert!(table.get(reader, &own).is_some()));
    }
    let mut packer = Packer::default();
    for _ in 0..4 {
        table.rest(&mut packer).await;
        world.wakes.rest();
    }
    assert_eq!(world.woken().await, Vec::<String>::new());
    world.read("reds", |reader| {
        assert_eq!(table.find(reader, "color", "red").len(), 10);
        assert_eq!(table.members(reader, "color", "thing-7"), [key("thing-7")]);
    });
    table.apply(row("thing-7", 1001, "thing-7", 2));
    table.delete(key("thing-200"), 1002);
    assert_eq!(world.woken().await, ["reader of 200", "reader of 7", "reds"]);
    assert_eq!(table.count("color", "red"), 9);
    for number in (0..1000u32).filter(|number| *number != 200) {
        let size = if number == 7 { 2 } else { 1 };
        assert_eq!(
            table.peek(&key(&name(number))).as_deref(),
            Some(&(color(number), size))
        );
    }
    // Whoever goes and comes again is woken no more and no less than before.
    world.wakes.reader(0, &key("reader of 7")).forget();
    world.read("another", |reader| {
        assert!(table.get(reader, &key("thing-8")).is_some())
    });
    table.apply(row("thing-7", 1003, "thing-7", 3));
    table.apply(row("thing-8", 1004, "thing-8", 3));
    assert_eq!(world.woken().await, ["another", "reader of 8"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_learned_from_an_answer_wakes_at_once_and_is_not_taken_back_by_what_was_before() {
    let world = world();
    let table = &world.table;
    table.learn(row("a", 5, "red", 1));
    assert_eq!(table.peek(&key("a")), None, "not all of it is known yet");
    table.replace(
        &WatchScope::Cluster,
        vec![row("a", 4, "red", 1), row("b", 2, "blue", 1)],
    );
    let size = |name: &str| table.peek(&key(name)).map(|thing| thing.1);
    let reads = || world.read("object", |reader| assert!(table.get(reader, &key("a")).is_some()));
    reads();
    world.woken().await;
    table.learn(row("a", 7, "red", 3));
    assert_eq!(world.woken().await, ["object"]);
    assert!(table.has_seen(&key("a"), 7) && !table.has_seen(&key("b"), 7));
    // Somebody else's change before it comes late.
    table.apply(row("a", 6, "red", 2));
    assert_eq!(size("a"), Some(3));
    // What was seen cannot be learned.
    table.learn(row("a", 6, "red", 2));
    assert_eq!(size("a"), Some(3));
    assert!(!table.is_confirmed(&key("b"), 7) && table.is_confirmed(&key("a"), 7));
    assert!(table.has_seen(&key("b"), 7) && !table.is_confirmed(&key("a"), 7));
    assert_eq!(world.woken().await, Vec::<String>::new());
    // Its end is never late.
    table.learn(row("a", 9, "red", 4));
    table.delete(key("a"), 8);
    assert_eq!(size("a"), None);
    table.apply(row("a", 9, "red", 4));
    assert_eq!(size("a"), Some(4));
    // What comes after it counts, and so does that something is in no list.
    table.learn(row("a", 10, "red", 5));
    table.apply(row("a", 11, "red", 6));
    assert_eq!(size("a"), Some(6));
    table.learn(row("a", 12, "red", 7));
    table.replace(
        &WatchScope::Cluster,
        vec![row("a", 11, "red", 6), row("b", 2, "blue", 1)],
    );
    assert_eq!(size("a"), Some(7), "the list is older");
    table.replace(&WatchScope::Cluster, vec![row("b", 2, "blue", 1)]);
    assert_eq!((size("a"), size("b")), (None, Some(1)));
    assert!(!table.has_seen(&key("a"), 12));
}

fn within(namespace: &str, name: &str, version: u64) -> Row<(String, u32)> {
    Row {
        key: ObjectKey::within(namespace, name),
        ..row(name, version, "red", 1)
    }
}

/// Two watches fill one table, and neither knows how far the other is.
#[test]
fn what_a_watch_of_one_namespace_reads_changes_nothing_of_another() {
    let [a, b] = ["a", "b"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
    let wakes = Wakes::new(vec![]);
    let table = Table::new("things", &wakes, BY_COLOR).of_scopes(&[a.clone(), b.clone()]);
    let has = |namespace, name| table.peek(&ObjectKey::within(namespace, name)).is_some();
    let reader = wakes.reader(0, &key("reader"));

    table.replace(&a, vec![within("a", "x", 100)]);
    assert_eq!(table.serving(&reader), Serving::Unknown, "b was not read yet");
    assert!(table.is_listed(&a) && !table.is_listed(&b));
    table.replace(&b, vec![within("b", "x", 50), within("b", "y", 51)]);
    assert_eq!(table.serving(&reader), Serving::Yes);
    assert!(has("a", "x") && has("b", "x") && has("b", "y"));

    table.replace(&b, vec![within("b", "y", 52)]);
    assert!(has("a", "x") && !has("b", "x") && has("b", "y"));

    let written = ObjectKey::within("b", "z");
    assert!(!table.has_seen(&written, 60), "only the watch of a is that far");
    table.learn(within("b", "z", 60));
    assert!(has("b", "z") && table.has_seen(&written, 60));
    table.apply(within("b", "z", 60));
    assert!(table.has_seen(&ObjectKey::within("b", "y"), 60));

    table.hide(Some(&a));
    assert_eq!(table.serving(&reader), Serving::Hidden);
    assert!(has("a", "x") && table.is_listed(&b));
    table.close();
    assert_eq!(table.serving(&reader), Serving::No);
    assert!(!has("a", "x") && !has("b", "y"));
}

/// A Namespace is cluster-scoped, and read by the watch of its own name.
#[test]
fn a_namespace_is_in_the_scope_of_its_name() {
    let [a, b] = ["a", "b"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
    let table = Table::new("namespaces", &Wakes::new(vec![]), BY_COLOR).of_scopes(&[a.clone(), b.clone()]);
    table.replace(&a, vec![row("a", 1, "red", 1)]);
    table.replace(&b, vec![row("b", 2, "red", 1)]);
    table.replace(&a, vec![]);
    assert!(table.peek(&key("a")).is_none() && table.peek(&key("b")).is_some());
}
