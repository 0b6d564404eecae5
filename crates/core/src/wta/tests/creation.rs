//! How a Workspace comes to be, and whose it is.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    super::snapshot::{Awaited, OwnerSeen, Runner, Served, Serving, Usage},
    *,
};
use crate::{decision::Guard, render::WorkspaceGroup};

#[test]
fn the_name_is_written_down_before_the_workspace_is_made() {
    let mut world = World::new(fresh());
    let first = world.step();
    assert!(
        first.children.is_empty(),
        "nothing is made before the finalizer is on"
    );
    assert_eq!(
        first.own.add_finalizers,
        [marks::WORKSPACETEMPLATEAPPLY_FINALIZER]
    );
    let recorded = &first.own.annotations[marks::WORKSPACE];
    assert_eq!(recorded.as_deref(), Some("tf.m.upbound.io/blue"));
    let second = world.step();
    let kinds: Vec<&str> = second.children.iter().map(|child| &*child.target.kind).collect();
    assert_eq!(kinds, ["Secret", "Workspace"], "what is made can be made again");
}

#[test]
fn a_new_workspace_lives_without_the_grant_and_carries_identity_but_no_owner_and_no_finalizer() {
    let mut world = World::new(fresh());
    world.step();
    let decision = world.step();
    let made = written(&decision).expect("a Workspace");
    assert_eq!(made.guard, Guard::Absent);
    assert_eq!(made.rendered_from.as_deref(), Some("r1"));
    assert_eq!(
        *policies(&made.fields),
        json!(["Observe", "Create", "Update", "LateInitialize"])
    );
    let metadata = &made.fields["metadata"];
    assert_eq!(metadata["labels"][marks::WTA_NAMESPACE], "team");
    assert_eq!(metadata["labels"][marks::WTA_NAME], "blue-apply");
    assert_eq!(metadata["labels"][marks::WTA_UID], "wta-1");
    assert!(metadata.get("ownerReferences").is_none());
    assert!(metadata.get("finalizers").is_none());
    let external_name = metadata["annotations"][foreign_marks::EXTERNAL_NAME].as_str();
    assert_eq!(external_name, Some(&*crate::names::external_name("team", "blue")));
}

#[test]
fn a_templates_own_policies_are_not_exceeded() {
    use capt_api::foreign::workspace::ManagementPolicy;
    let mut snapshot = fresh();
    snapshot.rendering = Ok(Rendered {
        policies: Some(vec![ManagementPolicy::Observe]),
        retain: true,
        ..rendered("r1")
    });
    let mut world = World::new(snapshot);
    world.calm();
    assert_eq!(world.workspace().spec["managementPolicies"], json!(["Observe"]));
}

#[test]
fn the_group_is_the_namespaced_one_where_it_is_served_and_follows_the_operator_alone() {
    let both = Served {
        namespaced: Serving::Yes,
        cluster_scoped: Serving::Yes,
        preferred: None,
    };
    for (served, expected) in [
        (both, "tf.m.upbound.io/blue"),
        (
            Served {
                namespaced: Serving::No,
                ..both
            },
            "tf.upbound.io/blue",
        ),
        (
            Served {
                preferred: Some(WorkspaceGroup::ClusterScoped),
                ..both
            },
            "tf.upbound.io/blue",
        ),
    ] {
        let mut world = World::new(fresh());
        world.snapshot.served = served;
        world.settle();
        // What exists stays what it is, whatever is served and wanted for new ones.
        world.snapshot.served = both;
        let workspace = world.workspace().clone();
        world.settle();
        assert_eq!(*world.workspace(), workspace);
        world.delete_workspace();
        world.settle();
        let is_namespaced = expected.starts_with("tf.m.");
        assert_eq!(world.snapshot.workspaces.is_empty(), !is_namespaced);
        if !is_namespaced {
            let decision = world.decide();
            let told = reason(&world.snapshot, &decision, "Applied");
            assert_eq!(told, "False/WorkspaceGroupMismatch");
            let message = world
                .snapshot
                .wta
                .status
                .as_ref()
                .and_then(|status| status.message.clone());
            assert!(
                message
                    .unwrap_or_default()
                    .contains("--workspace-api tf.upbound.io")
            );
        }
        world.snapshot.served = served;
        world.settle();
        let annotations = world
            .snapshot
            .wta
            .metadata
            .annotations
            .as_ref()
            .expect("annotations");
        assert_eq!(annotations[marks::WORKSPACE], expected);
        assert_eq!(
            world.workspace().group,
            WorkspaceGroup::from_name(expected.split('/').next().unwrap())
        );
    }
    for (cluster_scoped, preferred, told) in [
        (Serving::No, None, "install the CRDs"),
        (
            Serving::No,
            Some(WorkspaceGroup::ClusterScoped),
            "install its CRDs",
        ),
        (
            Serving::Hidden,
            None,
            "a ClusterRole that allows get, list and watch",
        ),
        (
            Serving::Hidden,
            Some(WorkspaceGroup::ClusterScoped),
            "a ClusterRole that allows get, list and watch",
        ),
    ] {
        let mut none = fresh();
        none.served = Served {
            namespaced: Serving::No,
            cluster_scoped,
            preferred,
        };
        let decision = decide(&none, at(0));
        assert_eq!(reason(&none, &decision, "Applied"), "False/WorkspaceApiMissing");
        assert!(message(&decision).contains(told), "{}", message(&decision));
    }
}

#[test]
fn a_name_that_somebody_else_has_is_not_taken() {
    let mut world = World::new(fresh());
    world.snapshot.workspaces.push(Arc::new(somebody_elses("blue")));
    world.settle();
    assert_eq!(world.snapshot.workspaces.len(), 2);
    assert_eq!(world.workspace(), &somebody_elses("blue"));
    let parted = crate::names::workspace("team", "blue-apply").parted().to_owned();
    assert_eq!(world.snapshot.workspaces[1].name, parted);
}

#[test]
fn what_carries_our_identity_is_adopted_and_gets_our_uid() {
    let mut world = living();
    // The owner made the object again, or it was moved: another uid, no marks, no kept rendering.
    world.snapshot.wta = fresh().wta;
    world.snapshot.wta.metadata.uid = Some("wta-2".to_owned());
    world.snapshot.kept = None;
    let uid = world.workspace().uid.clone();
    world.settle();
    assert_eq!(world.snapshot.workspaces.len(), 1);
    assert_eq!(world.workspace().uid, uid);
    assert_eq!(world.workspace().labels[marks::WTA_UID], "wta-2");
    assert!(world.snapshot.wta.status.as_ref().expect("a status").applied);
    assert_eq!(world.infrastructure.len(), 1, "the same state");
}

#[test]
fn labels_that_were_taken_away_come_back_to_the_very_same_workspace_only() {
    let mut world = living();
    let before = world.workspace().labels.clone();
    world.workspace_mut().labels.clear();
    world.settle();
    assert_eq!(world.workspace().labels, before);
    assert!(world.snapshot.wta.status.as_ref().expect("a status").applied);

    let workspace = world.workspace_mut();
    workspace.labels.clear();
    workspace.uid = "another".to_owned();
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/WorkspaceNotOurs"
    );
}

/// It is written down a moment after the Workspace was made.
#[test]
fn labels_that_were_taken_away_before_anything_was_written_down_come_back_too() {
    for (state, is_ours) in [(None, true), (Some("other"), false)] {
        let mut world = living();
        world.snapshot.wta.status = None;
        let before = world.workspace().labels.clone();
        let workspace = world.workspace_mut();
        workspace.labels.clear();
        if let Some(state) = state {
            let mark = foreign_marks::EXTERNAL_NAME.to_owned();
            workspace.annotations.insert(mark, state.to_owned());
        }
        world.settle();
        assert_eq!(world.workspace().labels == before, is_ours, "{state:?}");
        assert_eq!(
            world.snapshot.wta.status.as_ref().expect("a status").applied,
            is_ours,
            "{state:?}"
        );
    }
}

#[test]
fn what_carries_somebody_elses_identity_is_refused() {
    let mut world = World::new(fresh());
    world.step();
    world.snapshot.workspaces.push(Arc::new(somebody_elses("blue")));
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/WorkspaceNotOurs"
    );
    assert_eq!(world.workspace(), &somebody_elses("blue"));
}

#[test]
fn a_retained_workspace_is_taken_back_with_consent_only() {
    for (consent, expected) in [
        (None, "False/WorkspaceRetained"),
        (Some("something-else"), "False/WorkspaceRetained"),
        (Some("blue"), "True/Applied"),
        (Some("true"), "True/Applied"),
    ] {
        let mut world = living();
        world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
        delete(&mut world.snapshot);
        world.settle();
        assert!(world.is_gone);
        let workspaces = world.snapshot.workspaces.clone();
        let mut again = World::new(fresh());
        again.infrastructure.clone_from(&world.infrastructure);
        again.snapshot.workspaces = workspaces;
        if let Some(consent) = consent {
            annotate(&mut again.snapshot, marks::ADOPT_RETAINED, consent);
        }
        let decision = again.settle();
        assert_eq!(
            reason(&again.snapshot, &decision, "Applied"),
            expected,
            "{consent:?}"
        );
        assert_eq!(again.snapshot.workspaces.len(), 1);
        assert_eq!(again.infrastructure.len(), 1);
        let is_retained = again.workspace().annotations.contains_key(marks::RETAINED);
        assert_eq!(is_retained, expected != "True/Applied");
    }
}

#[test]
fn what_is_waited_for_and_failed_is_said_to_have_failed() {
    for (status, reason, words, expected) in [
        (
            "False",
            "ReconcileError",
            "apply failed:\n no\n\nmore",
            "w (it failed: apply failed: no)",
        ),
        ("False", "ReconcilePaused", "nothing is done", "w (not ready)"),
        ("True", "ReconcileSuccess", "", "w (not ready)"),
    ] {
        let mut awaited = somebody_elses("w");
        let mut synced = condition("Synced", status, reason, 1);
        synced.message = Some(words.to_owned());
        awaited.status.conditions = Some(vec![synced]);
        let mut world = World::new(fresh());
        world.snapshot.awaited_workspaces = vec![Awaited {
            name: "w".to_owned(),
            exists: true,
            trouble: super::super::snapshot::trouble(&awaited),
            ..Awaited::default()
        }];
        let decision = world.calm();
        assert!(message(&decision).contains(expected), "{}", message(&decision));
    }
}

#[test]
fn secrets_and_workspaces_are_waited_for_before_the_first_creation_only() {
    let missing = |name: &str| Awaited {
        name: name.to_owned(),
        ..Awaited::default()
    };
    let there = |name: &str| Awaited {
        exists: true,
        ready: true,
        ..missing(name)
    };
    let mut world = World::new(fresh());
    world.snapshot.awaited_secrets = vec![missing("a"), there("b")];
    world.snapshot.awaited_workspaces = vec![Awaited {
        exists: true,
        ..missing("w")
    }];
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "True/WaitingForSecrets"
    );
    assert!(world.snapshot.workspaces.is_empty());
    world.snapshot.awaited_secrets = vec![there("a"), there("b")];
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "True/WaitingForWorkspaces"
    );
    assert!(message(&decision).contains("w (not ready)"));
    world.snapshot.awaited_workspaces = vec![there("w")];
    world.settle();
    assert!(world.workspace().is_settled());
    world.snapshot.awaited_secrets = vec![missing("a")];
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "False/InputMissing"
    );
    world.delete_workspace();
    world.settle();
    assert!(world.workspace().is_settled(), "what existed once comes back");
}

#[test]
fn a_circle_of_waits_is_spelled_out() {
    let mut snapshot = fresh();
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    snapshot.waits.waits_for = BTreeMap::from([
        edge("team/blue-apply", "team/a"),
        edge("team/a", "team/b"),
        edge("team/b", "team/blue-apply"),
    ]);
    let mut world = World::new(snapshot);
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "True/DependencyCycle"
    );
    let status = world.snapshot.wta.status.as_ref().expect("a status");
    let message = status.message.as_deref().unwrap_or_default();
    assert!(
        message.contains("team/blue-apply -> team/a -> team/b -> team/blue-apply"),
        "{message}"
    );
    assert!(world.snapshot.workspaces.is_empty());
}

#[test]
fn a_secret_of_another_namespace_is_not_waited_for() {
    let mut snapshot = fresh();
    snapshot.awaited_secrets = vec![Awaited {
        other_namespace: Some("theirs".to_owned()),
        name: "a".to_owned(),
        not_shared: false,
        hidden: false,
        exists: true,
        ready: true,
        trouble: None,
    }];
    let mut world = World::new(snapshot);
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/OtherNamespace"
    );
    assert!(world.snapshot.workspaces.is_empty());
}

#[test]
fn nothing_is_made_out_of_turn() {
    let mut snapshot = fresh();
    own(&mut snapshot);
    for turn in [None, Some("other".to_owned())] {
        snapshot.owner = Some(OwnerSeen {
            takes_turns: true,
            turn,
            ..OwnerSeen::default()
        });
        let mut world = World::new(snapshot.clone());
        let decision = world.calm();
        assert_eq!(
            reason(&world.snapshot, &decision, "Waiting"),
            "True/WaitingForTurn"
        );
        assert!(world.snapshot.workspaces.is_empty());
        world.snapshot.owner = Some(OwnerSeen {
            takes_turns: true,
            turn: Some("blue-apply".to_owned()),
            ..OwnerSeen::default()
        });
        world.settle();
        assert!(world.workspace().is_settled());
    }
}

#[test]
fn who_lost_the_turn_before_it_was_done_is_paused_and_who_was_done_is_not() {
    for (is_done, expected) in [
        (false, json!([])),
        (true, json!(["Observe", "Create", "Update", "LateInitialize"])),
    ] {
        let mut world = owned();
        if !is_done {
            world.workspace_mut().generation += 1;
        }
        world.snapshot.owner = Some(OwnerSeen {
            takes_turns: true,
            turn: Some("other".to_owned()),
            ..OwnerSeen::default()
        });
        world.calm();
        assert_eq!(world.workspace().spec["managementPolicies"], expected);
    }
}

#[test]
fn our_runner_is_named_where_it_shares_a_cluster_and_leaves_alone_what_the_provider_runs() {
    let mut world = World::new(fresh());
    world.snapshot.runner = Runner::Ours {
        label: Some("capt".to_owned()),
    };
    world.settle();
    assert_eq!(world.workspace().labels[marks::RUNNER], "capt");
    world.workspace_mut().used_by_provider = Usage::Yes;
    world.calm();
    assert!(!world.workspace().labels.contains_key(marks::RUNNER));
}

#[test]
fn what_may_be_the_providers_is_not_given_to_our_runner_nor_taken_from_it() {
    let mut world = World::new(fresh());
    world.snapshot.runner = Runner::Ours {
        label: Some("capt".to_owned()),
    };
    world.settle();
    world.workspace_mut().used_by_provider = Usage::Hidden;
    let decision = world.calm();
    assert_eq!(world.workspace().labels[marks::RUNNER], "capt");
    assert_eq!(reason(&world.snapshot, &decision, "Applied"), "True/Applied");

    // Whoever runs it may not plan.
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/DestructiveChange"
    );
    let told = world.snapshot.wta.status.as_ref().unwrap().message.clone();
    assert!(told.unwrap().contains("providerconfigusages.tf.m.upbound.io"));
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r1").spec["forProvider"]
    );

    world.workspace_mut().labels.remove(marks::RUNNER);
    let decision = world.calm();
    assert!(!world.workspace().labels.contains_key(marks::RUNNER));
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/RunnerUnknown"
    );
    world.workspace_mut().used_by_provider = Usage::No;
    world.calm();
    assert_eq!(world.workspace().labels[marks::RUNNER], "capt");
}

#[test]
fn a_creation_that_may_be_the_providers_is_not_overwritten_by_a_pause() {
    let mut world = World::new(fresh());
    world.settle();
    let before = world.workspace().spec["managementPolicies"].clone();
    let workspace = world.workspace_mut();
    workspace.used_by_provider = Usage::Hidden;
    workspace.annotations.insert(
        foreign_marks::EXTERNAL_CREATE_PENDING.to_owned(),
        "2999-01-01T00:00:00Z".to_owned(),
    );
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "true");
    let decision = world.step();
    assert_eq!(world.workspace().spec["managementPolicies"], before);
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Pausing");
}

#[test]
fn an_orphan_keeps_what_it_has_and_gets_nothing_new() {
    let mut world = owned();
    world.snapshot.owner = None;
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Applied"), "False/OwnerGone");
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r1").spec["forProvider"]
    );
    world.delete_workspace();
    world.settle();
    assert!(world.workspace().is_settled());

    let mut snapshot = fresh();
    own(&mut snapshot);
    snapshot.owner = None;
    let mut world = World::new(snapshot);
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Waiting"), "True/OwnerGone");
    assert!(world.snapshot.workspaces.is_empty());
}

#[test]
fn the_owner_is_recorded_in_a_label_before_anything_is_made() {
    let mut snapshot = fresh();
    own(&mut snapshot);
    let decision = decide(&snapshot, at(0));
    assert_eq!(
        decision.own.labels[marks::OWNER].as_deref(),
        Some("CAPTControlPlane.blue")
    );
    assert!(decision.children.is_empty());
    // Nor when somebody stripped everything and the Workspace is gone too.
    let mut world = owned();
    world.snapshot.workspaces.clear();
    world.snapshot.wta.metadata.finalizers = None;
    world.snapshot.wta.metadata.labels = None;
    let decision = world.step();
    assert!(written(&decision).is_none());
    assert!(written(&world.step()).is_some());
}

#[test]
fn nothing_is_made_in_a_namespace_that_goes() {
    let mut snapshot = fresh();
    snapshot.namespace_terminating = true;
    let mut world = World::new(snapshot);
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/NamespaceTerminating"
    );
    assert!(world.snapshot.workspaces.is_empty());
}

#[test]
fn that_a_module_makes_nothing_real_is_passed_down_and_outlives_the_template() {
    let sandbox = |world: &World| world.workspace().labels.get(marks::SANDBOX).cloned();
    for (on_template, expected) in [(None, None), (Some("true"), Some("true".to_owned()))] {
        let mut snapshot = fresh();
        let template = snapshot.template.as_mut().expect("a template");
        template.sandbox = on_template.map(str::to_owned);
        let mut world = World::new(snapshot);
        world.settle();
        assert_eq!(sandbox(&world), expected);
        // The template goes, and somebody deletes the Workspace: what is made again is what it was.
        world.snapshot.template = None;
        world.snapshot.rendering = Err(Vec::new());
        world.settle();
        assert_eq!(sandbox(&world), expected, "without the template");
        world.delete_workspace();
        world.settle();
        assert_eq!(sandbox(&world), expected, "made again");
    }
    let mut world = living();
    world.snapshot.template.as_mut().expect("a template").sandbox = Some("true".to_owned());
    world.settle();
    assert_eq!(sandbox(&world), Some("true".to_owned()), "labelled later");
    world.snapshot.template.as_mut().expect("a template").sandbox = None;
    world.settle();
    assert_eq!(sandbox(&world), None, "taken back");
}

/// It may be there, and another one would make everything a second time.
#[test]
fn a_workspace_that_cannot_be_read_is_not_made_again() {
    let mut world = living();
    world.snapshot.served.namespaced = Serving::Hidden;
    world.snapshot.workspaces.clear();
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/WorkspaceApiMissing"
    );
    assert!(message(&decision).contains("a Role in this namespace"));
    assert!(written(&decision).is_none());
}
