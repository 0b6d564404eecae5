//! What the Go implementation made, and how it becomes ours.

use std::collections::BTreeMap;

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    super::snapshot::{Serving, Usage},
    *,
};
use crate::render::WorkspaceGroup;

/// An object as the Go implementation leaves it, which may have lost the name of its Workspace.
fn left_by_go(workspace: Option<&str>) -> Snapshot {
    let mut snapshot = fresh();
    snapshot.served.cluster_scoped = Serving::Yes;
    snapshot.wta.metadata.finalizers = Some(vec![marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()]);
    snapshot.wta.status = workspace.map(|name| WorkspaceTemplateApplyStatus {
        workspace_name: Some(name.to_owned()),
        applied: true,
        ..WorkspaceTemplateApplyStatus::default()
    });
    snapshot
}

/// Its Workspace, on which nothing says whose it is.
fn made_by_go() -> WorkspaceSeen {
    WorkspaceSeen {
        group: Some(WorkspaceGroup::ClusterScoped),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        uid: "legacy".to_owned(),
        ..somebody_elses("blue")
    }
}

/// The same, after an administrator ran `capt migrate`.
fn marked() -> WorkspaceSeen {
    let mut workspace = made_by_go();
    let mark = (marks::LEGACY_OF.to_owned(), "team/blue-apply".to_owned());
    workspace.annotations.extend([mark]);
    workspace
}

#[test]
fn a_workspace_of_the_go_implementation_is_taken_over_as_it_is_and_its_first_change_waits() {
    let mut snapshot = left_by_go(Some("blue"));
    let original = marked();
    snapshot.workspaces.push(Arc::new(original.clone()));
    let mut world = World::new(snapshot);
    let decision = world.settle();
    let workspace = world.workspace();
    assert_eq!(workspace.spec["forProvider"], original.spec["forProvider"]);
    assert!(!super::super::policy::grants_destruction(&workspace.spec));
    assert_eq!(
        workspace.annotations[foreign_marks::EXTERNAL_NAME],
        "blue",
        "it keeps its state"
    );
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/AdoptedChange"
    );
    for (usage, is_to_compare) in [(Usage::Yes, true), (Usage::No, false)] {
        world.workspace_mut().used_by_provider = usage;
        world.calm();
        let told = world
            .snapshot
            .wta
            .status
            .as_ref()
            .and_then(|status| status.message.clone());
        let told = told.unwrap_or_default();
        let compare = "kubectl get workspaces.tf.upbound.io blue -o yaml";
        assert_eq!(told.contains(compare), is_to_compare, "{told}");
    }
    assert_eq!(
        world.snapshot.wta.metadata.finalizers.as_deref(),
        Some(&[marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()][..])
    );
    annotate(&mut world.snapshot, marks::APPROVED, "r1");
    world.settle();
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r1").spec["forProvider"]
    );
}

#[test]
fn the_first_change_of_what_was_taken_over_waits_also_if_there_was_none_at_first() {
    let mut snapshot = left_by_go(Some("blue"));
    let mut original = marked();
    original.spec["forProvider"] = rendered("r1").spec["forProvider"].clone();
    original.spec["providerConfigRef"] = rendered("r1").spec["providerConfigRef"].clone();
    snapshot.workspaces.push(Arc::new(original));
    let mut world = World::new(snapshot);
    let decision = world.settle();
    let needs = |world: &World, decision: &_| reason(&world.snapshot, decision, "ApprovalNeeded");
    assert_ne!(needs(&world, &decision), "True/AdoptedChange");
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.settle();
    assert_eq!(needs(&world, &decision), "True/AdoptedChange");
    annotate(&mut world.snapshot, marks::APPROVED, "r2");
    world.settle();
    world.snapshot.rendering = Ok(rendered("r3"));
    let decision = world.settle();
    assert_ne!(needs(&world, &decision), "True/AdoptedChange", "only the first");
}

#[test]
fn what_the_go_implementation_made_is_found_also_if_it_could_not_be_read_at_first() {
    for name in [None, Some("blue")] {
        let mut snapshot = left_by_go(name);
        snapshot.served.cluster_scoped = Serving::Hidden;
        let mut world = World::new(snapshot);
        world.calm();
        assert!(world.snapshot.workspaces.is_empty(), "nothing is made beside it");
        let original = marked();
        world.snapshot.workspaces.push(Arc::new(original));
        world.snapshot.served.cluster_scoped = Serving::Yes;
        world.calm();
        assert_eq!(world.snapshot.workspaces.len(), 1);
        assert!(world.workspace().labels.contains_key(marks::WTA_NAME), "{name:?}");
    }
}

#[test]
fn only_an_administrator_says_that_the_go_implementation_made_a_workspace() {
    // What the namespace claims: the old finalizer, a status, where outputs go, and consent.
    for name in [None, Some("blue")] {
        for (mark, is_adopted) in [
            (None, false),
            (Some("team/blue-apply"), true),
            (Some("team/other-apply"), false),
            (Some("other/blue-apply"), false),
            (Some("true"), false),
        ] {
            let mut snapshot = left_by_go(name);
            let mut original = made_by_go();
            original.spec["writeConnectionSecretToRef"] = json!({"name": "c", "namespace": "team"});
            if let Some(mark) = mark {
                let mark = (marks::LEGACY_OF.to_owned(), mark.to_owned());
                original.annotations.extend([mark]);
            }
            snapshot.workspaces.push(Arc::new(original.clone()));
            annotate(&mut snapshot, marks::ADOPT_RETAINED, "blue");
            let mut world = World::new(snapshot);
            let decision = world.calm();
            let case = format!("{name:?} {mark:?}");
            assert_eq!(
                world.snapshot.workspaces.len(),
                1,
                "nothing is made beside it: {case}"
            );
            let is_ours = world.workspace().labels.contains_key(marks::WTA_NAME);
            assert_eq!(is_ours, is_adopted, "{case}");
            if is_adopted {
                assert_eq!(
                    world.workspace().annotations[marks::LEGACY_OF],
                    "team/blue-apply",
                    "it stays"
                );
                continue;
            }
            assert_eq!(*world.workspace(), original, "{case}");
            let found = reason(&world.snapshot, &decision, "Applied");
            assert_eq!(found, "False/WorkspaceNotOurs", "{case}");
            let command = format!(
                "annotate workspaces.tf.upbound.io blue {}=team/blue-apply",
                marks::LEGACY_OF
            );
            assert!(message(&decision).contains(&command), "{}", message(&decision));
            let finalizers = world.snapshot.wta.metadata.finalizers.clone().unwrap_or_default();
            let old = marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER;
            assert!(
                finalizers.iter().any(|one| one == old),
                "it is asked again: {case}"
            );
            // Nor does its deletion reach what is not its own.
            delete(&mut world.snapshot);
            world.calm();
            assert_eq!(*world.workspace(), original, "{case}");
        }
    }
}

#[test]
fn references_of_a_legacy_workspace_that_was_moved_wait_for_an_administrator() {
    let mut snapshot = left_by_go(Some("blue"));
    snapshot.served.preferred = Some(WorkspaceGroup::ClusterScoped);
    let mut original = marked();
    let foreign = json!([{"name": "A", "secretKeyRef": {"namespace": "shared", "name": "s", "key": "k"}}]);
    original.spec["forProvider"]["env"] = foreign.clone();
    snapshot.workspaces.push(Arc::new(original));
    let mut world = World::new(snapshot);
    world.settle();
    assert_eq!(world.workspace().spec["forProvider"]["env"], foreign);
    // On the other side of a move there is no Workspace, and with it went the mark.
    world.snapshot.workspaces.clear();
    let decision = world.settle();
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/OtherNamespace"
    );
    let mark = (marks::LEGACY_OF.to_owned(), "team/blue-apply".to_owned());
    world.workspace_mut().annotations.extend([mark]);
    world.settle();
    assert_ne!(world.workspace().spec["managementPolicies"], json!([]));
}

#[test]
fn what_the_go_implementations_workspace_forbids_stays_forbidden() {
    for (field, value) in [
        ("deletionPolicy", json!("Orphan")),
        ("managementPolicies", json!(["Observe"])),
    ] {
        for is_paused_first in [false, true] {
            for is_deleted_at_once in [false, true] {
                let mut snapshot = left_by_go(Some("blue"));
                snapshot.template = None;
                snapshot.rendering = Err(Vec::new());
                let mut original = WorkspaceSeen {
                    finalizers: vec![foreign_marks::CROSSPLANE_FINALIZER.to_owned()],
                    ..marked()
                };
                original.spec[field] = value.clone();
                snapshot.workspaces.push(Arc::new(original));
                let mut world = World::new(snapshot);
                if is_paused_first {
                    annotate(&mut world.snapshot, foreign_marks::PAUSED, "");
                    world.calm();
                    world
                        .snapshot
                        .wta
                        .metadata
                        .annotations
                        .get_or_insert_default()
                        .remove(foreign_marks::PAUSED);
                }
                if !is_deleted_at_once {
                    world.settle();
                    if field == "managementPolicies" {
                        assert_eq!(world.workspace().spec[field], value);
                    }
                }
                delete(&mut world.snapshot);
                world.settle();
                assert!(world.is_gone);
                assert!(world.workspace().annotations.contains_key(marks::RETAINED));
            }
        }
    }
}
