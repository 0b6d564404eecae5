use super::*;
use bytes::Bytes;
use http::Request;
use serde_json::json;

fn call(caller: &str, method: &str, path: &str) -> Call {
    let (parts, ()) = Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap()
        .into_parts();
    Call::new(caller, &parts, Bytes::new())
}

const CHILD: &str = "/api/v1/namespaces/a/secrets/child";

#[test]
fn a_rule_acts_as_often_as_it_says() {
    let cases = [
        (Times::Once, [true, false, false, false]),
        (Times::First(2), [true, true, false, false]),
        (Times::Nth(3), [false, false, true, false]),
        (Times::Every, [true, true, true, true]),
    ];
    for (times, expected) in cases {
        let faults = Faults::default();
        faults.inject(Calls::any(), times, Fault::Hang);
        let acted = [(); 4].map(|()| faults.for_call(&call("demo", "GET", CHILD)).is_some());
        assert_eq!(acted, expected, "{times:?}");
        assert_eq!(faults.missed(), Vec::<String>::new(), "{times:?}");
    }
}

#[test]
fn only_what_is_selected_counts() {
    use crate::call::Verb;
    let secrets = || Calls::by("demo").resource("secrets");
    let cases = [
        (Calls::any(), true),
        (secrets(), true),
        (secrets().verb(Verb::Get).verb(Verb::Delete), true),
        (secrets().writes(), true),
        (secrets().namespace("a").name("child"), true),
        (secrets().matching(|call| call.path == CHILD), true),
        (Calls::by("other"), false),
        (secrets().verb(Verb::Get), false),
        (secrets().namespace("b"), false),
        (secrets().name("other"), false),
        (Calls::by("demo").resource("secrets/status"), false),
        (secrets().matching(|_| false), false),
    ];
    for (calls, expected) in cases {
        assert_eq!(
            calls.matches(&call("demo", "DELETE", CHILD)),
            expected,
            "{calls:?}"
        );
    }
}

#[test]
fn leases_and_dry_runs_are_no_writes() {
    let writes = Calls::any().writes();
    assert!(!writes.matches(&call(
        "demo",
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/a/leases/x"
    )));
    assert!(!writes.matches(&call("demo", "PUT", &format!("{CHILD}?dryRun=All"))));
    assert!(!writes.matches(&call("demo", "GET", CHILD)));
}

#[test]
fn the_first_rule_that_is_due_acts_and_the_others_count() {
    let faults = Faults::default();
    faults.inject(Calls::any(), Times::Nth(2), Fault::Hang);
    faults.inject(Calls::any(), Times::Every, Fault::Refuse);
    faults.inject(Calls::any(), Times::Nth(1), Fault::DropAnswer);
    let acted = [(); 3].map(|()| format!("{:?}", faults.for_call(&call("demo", "GET", CHILD))));
    assert_eq!(acted, ["Some(refuse)", "Some(hang)", "Some(refuse)"]);
    let missed = faults.missed();
    assert_eq!(
        missed,
        ["drop-answer on any call, Nth(1) (acted 0 times on 3 matches)"]
    );
}

#[test]
fn a_released_rule_acts_no_more() {
    let faults = Faults::default();
    let rule = faults.inject(Calls::any(), Times::Every, Fault::Hang);
    rule.release();
    assert!(faults.for_call(&call("demo", "GET", CHILD)).is_none());
    assert_eq!(faults.missed().len(), 1);
    let _rule = rule.may_miss();
    assert!(faults.missed().is_empty());
}

#[test]
fn events_are_selected_by_watch_and_by_object() {
    let watch = call("demo", "GET", "/api/v1/secrets?watch=true");
    let event = json!({"type": "ADDED", "object": {"metadata": {"namespace": "a", "name": "x"}, "n": 1}});
    let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {}}});
    let to_demo = || Events::to("demo");
    let cases = [
        (to_demo(), &event, true),
        (to_demo().resource("secrets").kind(EventKind::Added), &event, true),
        (
            to_demo()
                .namespace("a")
                .name("x")
                .matching(|object| object["n"] == 1),
            &event,
            true,
        ),
        (Events::to("other"), &event, false),
        (to_demo().resource("configmaps"), &event, false),
        (to_demo().kind(EventKind::Deleted), &event, false),
        (to_demo().name("y"), &event, false),
        (to_demo(), &bookmark, false),
        (to_demo().kind(EventKind::Bookmark), &bookmark, true),
    ];
    for (events, event, expected) in cases {
        assert_eq!(
            events.are_on(&watch) && events.matches(event),
            expected,
            "{events:?}"
        );
    }
}
