use capt_api::marks;
use serde_json::json;

use super::*;
use crate::decision::Guard;

#[test]
fn a_new_one_is_recorded_as_its_owners_and_guarded_against_a_namesake() {
    let desired = wanted().change(&OWNER, None).expect("it has to be made");
    assert_eq!(desired.guard, Guard::Absent);
    let metadata = &desired.fields["metadata"];
    assert_eq!(metadata["labels"][marks::OWNER], "CAPTControlPlane.blue");
    assert_eq!(metadata["labels"][marks::ROLE], "eks");
    assert_eq!(
        metadata["labels"]["cluster.x-k8s.io/cluster-name"],
        "blue-cluster"
    );
    assert_eq!(metadata["ownerReferences"][0]["uid"], "owner-1");
    assert_eq!(metadata["annotations"].get(marks::LET_GO), None);
    assert_eq!(
        desired.fields["spec"],
        json!({
            "templateRef": {"name": "eks"},
            "templateRevision": "t1",
            "variables": {"cluster_name": "blue-cluster"},
            "writeConnectionSecretToRef": {"name": "blue-eks-connection", "namespace": "team"},
        })
    );
}

#[test]
fn what_is_as_it_should_be_is_not_written_and_what_is_not_is() {
    type Edit = fn(&mut Wanted, &mut OwnedSeen);
    let cases: [(&str, Edit, bool); 11] = [
        ("nothing", |_, _| {}, false),
        (
            "a variable changes",
            |wanted, _| {
                wanted
                    .variables
                    .insert("cluster_name".to_owned(), "other".to_owned());
            },
            true,
        ),
        (
            "a variable is taken back",
            |wanted, _| {
                wanted.variables.clear();
            },
            true,
        ),
        (
            "another revision is released",
            |wanted, _| wanted.revision = Some("t2".to_owned()),
            true,
        ),
        ("it is to be retained", |wanted, _| wanted.retain = true, true),
        (
            "a person adds a variable and a wait",
            |_, seen| {
                let variables = seen.wta.spec.variables.get_or_insert_default();
                variables.insert("extra".to_owned(), "1".to_owned());
                seen.wta.spec.wait_for_secrets = Some(Vec::new());
            },
            false,
        ),
        (
            "its owner reference is stripped",
            |_, seen| seen.wta.metadata.owner_references = None,
            true,
        ),
        (
            "its label is stripped",
            |_, seen| {
                seen.wta.metadata.labels = None;
            },
            true,
        ),
        (
            "somebody consented for its owner",
            |_, seen| annotate(seen, marks::LET_GO, "true"),
            true,
        ),
        (
            "a person asks its owner for another try",
            |wanted, _| wanted.retry = Some("1".to_owned()),
            true,
        ),
        (
            "a person asks it for another try",
            |_, seen| annotate(seen, marks::RETRY_REQUESTED, "2"),
            false,
        ),
    ];
    for (name, edit, writes) in cases {
        let (mut wanted, mut seen) = (wanted(), fresh());
        edit(&mut wanted, &mut seen);
        let change = wanted.change(&OWNER, Some(&seen));
        assert_eq!(change.is_some(), writes, "{name}");
        if let Some(change) = change {
            assert_eq!(change.guard, Guard::Uid("wta-1".to_owned()), "{name}");
            let after = carried_out(&change, Some(&seen));
            assert_eq!(
                wanted.change(&OWNER, Some(&after)),
                None,
                "{name}: written for ever"
            );
        }
    }
}

/// Whatever else wrote the object keeps what is left out: `clusterctl move` writes all of it.
#[test]
fn what_is_waited_for_no_more_is_said_and_what_a_person_waits_for_is_left() {
    let waiting = Wanted {
        wait_for_workspaces: vec!["blue-vpc".to_owned()],
        ..wanted()
    };
    let moved = carried_out(&waiting.change(&OWNER, None).expect("it is new"), None);
    let change = wanted().change(&OWNER, Some(&moved)).expect("it waits no more");
    assert_eq!(change.fields["spec"]["waitForWorkspaces"], json!([]));
    let after = carried_out(&change, Some(&moved));
    assert_eq!(wanted().change(&OWNER, Some(&after)), None, "written for ever");

    let mut seen = fresh();
    seen.wta.spec.wait_for_workspaces = moved.wta.spec.wait_for_workspaces;
    assert_eq!(wanted().change(&OWNER, Some(&seen)), None, "it is a person's");
}

#[test]
fn a_request_of_a_person_outlives_what_the_owner_writes() {
    let mut seen = fresh();
    annotate(&mut seen, marks::RETRY_REQUESTED, "2");
    let mut wanted = wanted();
    wanted.revision = Some("t2".to_owned());
    let change = wanted.change(&OWNER, Some(&seen)).expect("a change");
    assert_eq!(
        change.fields["metadata"]["annotations"][marks::RETRY_REQUESTED],
        "2"
    );
}

#[test]
fn the_template_of_a_workspace_stays_and_that_another_is_wanted_is_told() {
    let mut wanted = wanted();
    wanted.template.namespace = Some("team".to_owned());
    assert!(
        !wanted.changes_template(&OWNER, &living()),
        "the same, said otherwise"
    );
    assert_eq!(
        wanted.change(&OWNER, Some(&living())),
        None,
        "the same, said otherwise"
    );
    wanted.template.name = "other".to_owned();
    assert!(wanted.changes_template(&OWNER, &living()));
    assert_eq!(wanted.change(&OWNER, Some(&living())), None);
    let mut released = wanted.clone();
    released.revision = Some("other-1".to_owned());
    assert_eq!(
        released.change(&OWNER, Some(&living())),
        None,
        "a revision of the other template means nothing to this one"
    );
    assert!(!wanted.changes_template(&OWNER, &fresh()));
    let change = wanted.change(&OWNER, Some(&fresh())).expect("a change");
    assert_eq!(change.fields["spec"]["templateRef"]["name"], "other");
}
