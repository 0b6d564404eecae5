use capt_api::{foreign::Workspace, run::CutShort};
use capt_terraform::redact::Secrets;

use super::*;

fn created(address: &str, id: Option<&str>) -> Created {
    Created {
        address: address.to_owned(),
        id: id.map(str::to_owned),
        unfinished: id.is_none(),
        ..Created::default()
    }
}

fn state(objects: &[(&str, &str)]) -> State {
    let resources: Vec<serde_json::Value> = objects
        .iter()
        .map(|(name, id)| {
            serde_json::json!({
                "mode": "managed", "type": "thing", "name": name,
                "instances": [{"attributes": {"id": id}}],
            })
        })
        .collect();
    let file = serde_json::json!({
        "version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.11.4", "resources": resources,
    });
    State::parse(file.to_string().as_bytes()).expect("a state")
}

fn view() -> WorkspaceView {
    let object: Workspace = serde_json::from_value(serde_json::json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": "vpc", "namespace": "team"},
        "spec": {"forProvider": {"source": "Inline", "module": ""}},
    }))
    .expect("a Workspace");
    WorkspaceView::from(&object)
}

fn addresses(missing: &[MissingResource]) -> Vec<(&str, Option<&str>)> {
    missing
        .iter()
        .map(|one| (one.address.as_str(), one.id.as_deref()))
        .collect()
}

#[test]
fn what_is_missing_stays_listed_until_the_state_has_just_that() {
    let new = [created("thing.a", Some("1")), created("thing.b", None)];
    let first = missing(&[], &new, None);
    assert_eq!(addresses(&first), [("thing.a", Some("1")), ("thing.b", None)]);
    // Another one of that address is not the one that is missing.
    let again = missing(&first, &[], Some(&state(&[("a", "2"), ("b", "7")])));
    assert_eq!(addresses(&again), [("thing.a", Some("1"))]);
    let done = missing(&again, &[], Some(&state(&[("a", "1")])));
    assert_eq!(addresses(&done), []);
}

#[test]
fn what_takes_the_place_of_something_stays_listed_while_the_state_has_that() {
    let new = Created {
        replaces: Some("1".to_owned()),
        ..created("thing.a", None)
    };
    let first = missing(&[], &[new], Some(&state(&[("a", "1")])));
    assert_eq!(addresses(&first), [("thing.a", None)]);
    let told = RunReport {
        missing: first.clone(),
        ..RunReport::default()
    };
    let words = missing_words(&told, &view());
    assert!(
        words.contains("thing.a (was being made in the place of [id=1], may exist)"),
        "{words}"
    );
    assert_eq!(
        addresses(&missing(&first, &[], Some(&state(&[("a", "1")])))).len(),
        1
    );
    assert_eq!(addresses(&missing(&first, &[], Some(&state(&[("a", "2")])))), []);
}

#[test]
fn the_same_is_listed_once() {
    let one = [created("thing.a", None)];
    let first = missing(&[], &one, None);
    let told_more = missing(&first, &[created("thing.a", Some("1"))], None);
    assert_eq!(addresses(&told_more), [("thing.a", Some("1"))]);
}

#[test]
fn everything_is_compared_and_only_what_is_told_is_cut() {
    let many: Vec<Created> = (0..2000)
        .map(|number| created(&format!("thing.number_{number}"), None))
        .collect();
    let all = missing(&[], &many, None);
    assert_eq!(all.len(), 2000);
    let whole = RunReport {
        cut_short: Some(CutShort {
            making: all.clone(),
            more: 5,
            ..CutShort::default()
        }),
        missing: all,
        more_missing: 7,
        ..RunReport::default()
    };
    let told = told(&whole, &Redactor::default());
    assert!(serde_json::to_string(&told).expect("it can be written").len() < 3 * ROOM);
    assert!(!told.missing.is_empty() && told.missing.len() < 2000);
    assert_eq!(told.missing.len() + told.more_missing as usize, 2007);
    let cut_short = told.cut_short.as_ref().expect("it is still there");
    assert_eq!(cut_short.making.len() + cut_short.more as usize, 2005);
    // However often it is told, nobody is lost or counted twice.
    assert_eq!(super::told(&told, &Redactor::default()), told);
    let words = missing_words(&told, &view());
    assert!(
        words.contains("thing.number_0 (was being made, may exist)"),
        "{words}"
    );
    assert!(
        words.contains("1997 more") && words.contains("before another try"),
        "{words}"
    );
}

#[test]
fn what_is_told_is_redacted_and_known_again_all_the_same() {
    let mut secrets = Secrets::default();
    secrets.value("tuesday-morning");
    let redactor = Redactor::new(&secrets);
    let address = "thing.a[\"tuesday-morning\"]";
    let new = Created {
        replaces: Some("i-tuesday-morning".to_owned()),
        ..created(address, None)
    };
    let whole = RunReport {
        missing: missing(&[], &[new], None),
        ..RunReport::default()
    };
    let told = told(&whole, &redactor);
    let text = serde_json::to_string(&told).expect("it can be written");
    assert!(!text.contains("tuesday"), "{text}");
    assert_eq!(told.missing[0].replaces.as_deref(), Some(""));
    assert!(may_be(&told.missing[0].address, address));
    // What is found again is listed once, as it is.
    let again = missing(&told.missing, &[created(address, Some("7"))], None);
    assert_eq!(addresses(&again), [(address, Some("7"))]);
    // Another one of that resource in the state is not a reason to forget it.
    let others = state(&[("a", "1")]);
    assert_eq!(missing(&told.missing, &[], Some(&others)).len(), 1);
}

#[test]
fn a_redacted_address_may_be_what_it_leaves_open() {
    let cases = [
        ("thing.a", "thing.a", true),
        ("thing.a", "thing.ab", false),
        ("thing.a[\"(redacted)\"]", "thing.a[\"x\"]", true),
        ("thing.a[\"(redacted)\"]", "thing.a", false),
        ("thing.a[\"(redacted)\"]", "thing.b[\"x\"]", false),
        ("m.(redacted).t.a[\"(redacted)\"]", "m.x.t.a[\"y\"]", true),
        ("m.(redacted).t.a[\"(redacted)\"]", "m.x.t.b[\"y\"]", false),
        ("(redacted)", "anything", true),
        ("ab(redacted)ba", "aba", false),
    ];
    for (listed, address, expected) in cases {
        assert_eq!(may_be(listed, address), expected, "{listed} {address}");
    }
}

#[test]
fn a_provisioner_that_was_cut_off_is_told_until_its_resource_is_gone() {
    let cut_off = Created {
        provisioner: Some("local-exec".to_owned()),
        ..created("thing.a", Some("1"))
    };
    let listed = missing(&[], &[cut_off], Some(&state(&[("a", "1")])));
    let told = RunReport {
        missing: listed.clone(),
        ..RunReport::default()
    };
    assert_eq!(
        missing_words(&told, &view()),
        "an operation was cut short, and Terraform takes a provisioner for done that was not: thing.a [id=1] (its \
         provisioner local-exec was cut off). Do what a provisioner did not come to do, or have its resource made anew, \
         and then say so: capt retry workspace/vpc -n team"
    );
    assert_eq!(missing(&listed, &[], Some(&state(&[("a", "1")]))).len(), 1);
    assert_eq!(missing(&listed, &[], Some(&state(&[("a", "2")]))), []);
}
