//! A hostile tenant may write whatever it likes in its namespace, and reaches nothing outside it.

use std::collections::BTreeMap;

use capt_api::{foreign::marks as foreign_marks, marks};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::json;

use super::{
    super::{
        kept::Kept,
        location::StateLocation,
        snapshot::{Awaited, KeptSeen, ProviderConfigSeen, Serving},
    },
    *,
};
use crate::{crds::CrdObstacle, render::WorkspaceGroup};

/// A cluster-scoped Workspace of a platform team, on which nothing says whose it is.
fn platforms(name: &str) -> WorkspaceSeen {
    WorkspaceSeen {
        group: Some(WorkspaceGroup::ClusterScoped),
        uid: format!("victim-{name}"),
        labels: BTreeMap::new(),
        annotations: BTreeMap::from([(foreign_marks::EXTERNAL_NAME.to_owned(), name.to_owned())]),
        finalizers: vec![foreign_marks::CROSSPLANE_FINALIZER.to_owned()],
        ..somebody_elses(name)
    }
}

/// One that another tenant retained.
fn retained_by(key: &str, name: &str) -> WorkspaceSeen {
    let mut workspace = platforms(name);
    workspace
        .annotations
        .insert(marks::RETAINED.to_owned(), key.to_owned());
    workspace
}

/// One that is another tenant's.
fn owned_by(namespace: &str, apply: &str, name: &str) -> WorkspaceSeen {
    let mut workspace = platforms(name);
    workspace.labels = BTreeMap::from([
        (marks::WTA_NAMESPACE.to_owned(), namespace.to_owned()),
        (marks::WTA_NAME.to_owned(), apply.to_owned()),
    ]);
    workspace
}

fn victims() -> Vec<WorkspaceSeen> {
    vec![
        platforms("prod-vpc"),
        platforms("blue"),
        retained_by("other/prod", "kept"),
        retained_by("other/blue-apply", "blue-kept"),
        retained_by("true", "old"),
        owned_by("other", "prod-apply", "prod"),
        owned_by("other", "blue-apply", "theirs"),
    ]
}

/// Everything that a decision would write to, delete or create.
fn is_touched(decision: &Decided, victim: &WorkspaceSeen) -> bool {
    let is_it = |target: &crate::decision::Target| {
        target.kind == "Workspace" && target.namespace.is_none() && target.name == victim.name
    };
    let children = decision.children.iter().map(|child| &child.target);
    let removals = decision.removals.iter().map(|removal| &removal.target);
    children.chain(removals).any(is_it)
}

/// Fields of an attack: what the tenant writes into its namespace.
#[derive(Clone, Debug)]
struct Attack {
    annotations: BTreeMap<String, String>,
    finalizers: Vec<String>,
    status_name: Option<String>,
    status_uid: Option<String>,
    kept: Option<KeptSeen>,
    deleting: bool,
    own: Option<(String, bool)>,
}

fn attacked(attack: &Attack, preferred: Option<WorkspaceGroup>) -> Snapshot {
    let mut snapshot = fresh();
    snapshot.served.cluster_scoped = Serving::Yes;
    snapshot.served.preferred = preferred;
    let metadata = &mut snapshot.wta.metadata;
    metadata.annotations = Some(attack.annotations.clone());
    metadata.finalizers = Some(attack.finalizers.clone());
    snapshot.wta.status = Some(WorkspaceTemplateApplyStatus {
        workspace_name: attack.status_name.clone(),
        workspace_uid: attack.status_uid.clone(),
        applied: true,
        ..WorkspaceTemplateApplyStatus::default()
    });
    snapshot.kept.clone_from(&attack.kept);
    if attack.deleting {
        delete(&mut snapshot);
    }
    if let Some((name, is_labelled)) = &attack.own {
        let mut own = somebody_elses(name);
        own.uid = "own".to_owned();
        if *is_labelled {
            own.labels
                .insert(marks::WTA_NAME.to_owned(), "blue-apply".to_owned());
        }
        snapshot.workspaces.push(Arc::new(own));
    }
    snapshot.workspaces.extend(victims().into_iter().map(Arc::new));
    snapshot
}

fn names() -> impl Strategy<Value = String> {
    select(vec![
        "prod-vpc",
        "blue",
        "kept",
        "blue-kept",
        "old",
        "prod",
        "theirs",
        "absent",
        "true",
    ])
    .prop_map(str::to_owned)
}

fn attacks() -> impl Strategy<Value = Attack> {
    let groups = || select(vec!["tf.upbound.io/", "tf.m.upbound.io/", ""]);
    let annotations = (
        option::of((groups(), names())),
        option::of((groups(), names())),
        vec(
            select(vec![
                marks::LEGACY_OF,
                marks::ADOPTABLE_BY,
                marks::RETAINED,
                marks::DESTROYED,
                marks::LET_GO,
                marks::APPROVED,
                foreign_marks::PAUSED,
            ]),
            0..3,
        ),
    )
        .prop_map(|(recorded, adopted, others)| {
            let mut annotations = BTreeMap::new();
            let mut put = |mark: &str, value: Option<(&str, String)>| {
                if let Some((group, name)) = value {
                    annotations.insert(mark.to_owned(), format!("{group}{name}"));
                }
            };
            put(marks::WORKSPACE, recorded);
            put(marks::ADOPT_RETAINED, adopted);
            for mark in others {
                put(mark, Some(("", "team/blue-apply".to_owned())));
            }
            annotations
        });
    let finalizers = vec(
        select(vec![
            marks::WORKSPACETEMPLATEAPPLY_FINALIZER,
            marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER,
        ])
        .prop_map(str::to_owned),
        0..3,
    );
    let kept = (any::<bool>(), names(), select(vec!["other", "kube-system", "team"])).prop_map(
        |(is_cluster_scoped, name, namespace)| KeptSeen {
            uid: "kept".to_owned(),
            owner: Some("wta-1".to_owned()),
            kept: Some(Kept {
                rendering: Rendered {
                    spec: json!({
                        "forProvider": {
                            "source": "Inline", "module": "x",
                            "env": [{"name": "A", "secretKeyRef": {"namespace": namespace, "name": "s", "key": "k"}}],
                        },
                        "writeConnectionSecretToRef": {"namespace": namespace, "name": "s"},
                    }),
                    hash: "forged".to_owned(),
                    ..Rendered::default()
                },
                location: StateLocation {
                    group: if is_cluster_scoped { "tf.upbound.io" } else { "tf.m.upbound.io" }.to_owned(),
                    external_name: name,
                    ..StateLocation::default()
                },
                was_ready: true,
                ..Kept::default()
            }),
        },
    );
    let uids = option::of(names().prop_map(|name| format!("victim-{name}")));
    let own = option::of((names(), any::<bool>()));
    (
        annotations,
        finalizers,
        option::of(names()),
        uids,
        option::of(kept),
        any::<bool>(),
        own,
    )
        .prop_map(
            |(annotations, finalizers, status_name, status_uid, kept, deleting, own)| Attack {
                annotations,
                finalizers,
                status_name,
                status_uid,
                kept,
                deleting,
                own,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_object_of_a_tenant_reaches_a_workspace_outside_its_namespace(
        attack in attacks(),
        preferred in select(vec![None, Some(WorkspaceGroup::Namespaced), Some(WorkspaceGroup::ClusterScoped)]),
    ) {
        let mut world = World::new(attacked(&attack, preferred));
        for _ in 0..8 {
            if world.is_gone {
                break;
            }
            let decision = world.step();
            for victim in victims() {
                prop_assert!(!is_touched(&decision, &victim), "{}: {decision:#?}", victim.name);
                let now = world.snapshot.workspaces.iter().find(|one| one.uid == victim.uid);
                prop_assert_eq!(now.map(|one| (**one).clone()), Some(victim));
            }
            for child in decision.children.iter().filter(|child| child.target.kind == "Workspace") {
                let group = child.target.api_version.split('/').next();
                let is_cluster_scoped = child.target.namespace.is_none();
                prop_assert_eq!(is_cluster_scoped, group == Some("tf.upbound.io"));
                prop_assert!(
                    !is_cluster_scoped || preferred == Some(WorkspaceGroup::ClusterScoped),
                    "the operator did not choose this group: {:?}", child.target
                );
                let foreign = super::super::confinement::foreign_references(&child.fields["spec"], "team");
                prop_assert!(
                    foreign.is_empty() || *policies(&child.fields) == json!([]),
                    "what leads out of the namespace may not run: {foreign:?}"
                );
            }
            for child in &decision.children {
                let namespace = child.target.namespace.as_deref();
                prop_assert!(namespace.is_none_or(|namespace| namespace == "team"), "{:?}", child.target);
            }
        }
    }
}

/// The attack of the Go implementation's finalizer with a consent of the taker's own.
#[test]
fn consent_of_the_taker_alone_adopts_nothing() {
    for victim in victims() {
        for finalizer in [
            marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER,
            marks::WORKSPACETEMPLATEAPPLY_FINALIZER,
        ] {
            let attack = Attack {
                annotations: BTreeMap::from([(marks::ADOPT_RETAINED.to_owned(), victim.name.clone())]),
                finalizers: vec![finalizer.to_owned()],
                status_name: None,
                status_uid: None,
                kept: None,
                deleting: false,
                own: None,
            };
            let mut snapshot = attacked(&attack, None);
            snapshot.workspaces = vec![Arc::new(victim.clone())];
            let mut world = World::new(snapshot);
            world.calm();
            let found = world.snapshot.workspaces.iter().find(|one| one.uid == victim.uid);
            assert_eq!(found.map(|one| &**one), Some(&victim));
            delete(&mut world.snapshot);
            world.calm();
            let found = world.snapshot.workspaces.iter().find(|one| one.uid == victim.uid);
            assert_eq!(found.map(|one| &**one), Some(&victim), "{finalizer}");
        }
    }
}

#[test]
fn a_retained_workspace_is_adopted_by_its_namespace_or_by_whom_an_administrator_names() {
    for (mark, value, is_adopted) in [
        (marks::RETAINED, "team/blue-apply", true),
        (marks::RETAINED, "team/green-apply", true),
        (marks::RETAINED, "other/blue-apply", false),
        (marks::RETAINED, "true", false),
        (marks::RETAINED, "", false),
        (marks::ADOPTABLE_BY, "team/blue-apply", true),
        (marks::ADOPTABLE_BY, "team/green-apply", false),
        (marks::ADOPTABLE_BY, "team", false),
    ] {
        let mut victim = platforms("kept");
        victim
            .annotations
            .insert(marks::RETAINED.to_owned(), "other/prod".to_owned());
        victim.annotations.insert(mark.to_owned(), value.to_owned());
        let mut snapshot = fresh();
        snapshot.served.cluster_scoped = Serving::Yes;
        snapshot.workspaces.push(Arc::new(victim.clone()));
        annotate(&mut snapshot, marks::ADOPT_RETAINED, "kept");
        let mut world = World::new(snapshot);
        let decision = world.calm();
        let case = format!("{mark} {value}");
        let found = world.workspace();
        assert_eq!(found.labels.contains_key(marks::WTA_NAME), is_adopted, "{case}");
        if is_adopted {
            assert!(!found.annotations.contains_key(marks::RETAINED), "{case}");
            assert!(!found.annotations.contains_key(marks::ADOPTABLE_BY), "{case}");
        } else {
            assert_eq!(*found, victim, "{case}");
            assert_eq!(
                reason(&world.snapshot, &decision, "Applied"),
                "False/WorkspaceNotOurs"
            );
            let command = format!("{}=team/blue-apply", marks::ADOPTABLE_BY);
            assert!(message(&decision).contains(&command), "{}", message(&decision));
        }
    }
}

#[test]
fn a_provider_configuration_is_used_by_the_namespaces_that_it_allows() {
    for (allowed, expected) in [
        (None, None),
        (Some("team"), None),
        (Some("other, team"), None),
        (Some("*"), None),
        (Some(""), Some("False/ProviderConfigNotAllowed")),
        (Some("other"), Some("False/ProviderConfigNotAllowed")),
    ] {
        let mut snapshot = fresh();
        snapshot.provider_config = Some(ProviderConfigSeen {
            allowed_namespaces: allowed.map(str::to_owned),
            ..ProviderConfigSeen::default()
        });
        let mut world = World::new(snapshot);
        let decision = world.settle();
        assert_eq!(
            world.snapshot.workspaces.is_empty(),
            expected.is_some(),
            "{allowed:?}"
        );
        if let Some(expected) = expected {
            assert_eq!(reason(&world.snapshot, &decision, "Applied"), expected);
        }
    }
}

#[test]
fn a_wait_for_what_is_not_shared_looks_the_same_whether_it_exists() {
    let awaiting = |exists| {
        let mut snapshot = fresh();
        snapshot.awaited_workspaces = vec![Awaited {
            other_namespace: Some("other".to_owned()),
            name: "prod".to_owned(),
            not_shared: true,
            exists,
            ready: exists,
            ..Awaited::default()
        }];
        let mut world = World::new(snapshot);
        let decision = world.calm();
        assert!(world.snapshot.workspaces.is_empty());
        (reason(&world.snapshot, &decision, "Waiting"), message(&decision))
    };
    let (reason, message) = awaiting(true);
    assert_eq!(reason, "True/WaitNotShared");
    assert!(
        message.contains("other/prod") && message.contains(marks::SHARED_WITH),
        "{message}"
    );
    assert_eq!(awaiting(false), (reason, message));
}

#[test]
fn consent_to_waits_is_passed_down_to_the_workspace_and_withdrawn_with_it() {
    let mut world = living();
    annotate(&mut world.snapshot, marks::SHARED_WITH, "other");
    world.settle();
    assert_eq!(world.workspace().annotations[marks::SHARED_WITH], "other");
    let annotations = world.snapshot.wta.metadata.annotations.get_or_insert_default();
    annotations.remove(marks::SHARED_WITH);
    world.settle();
    assert!(!world.workspace().annotations.contains_key(marks::SHARED_WITH));
}

#[test]
fn a_terminating_or_unreadable_definition_grants_no_destruction() {
    for obstacle in [
        CrdObstacle::Terminating("x.example.com".to_owned()),
        CrdObstacle::Unreadable("x.example.com".to_owned()),
    ] {
        let mut world = living();
        assert_eq!(world.infrastructure.len(), 1);
        world.snapshot.crd_obstacle = Some(obstacle);
        delete(&mut world.snapshot);
        let decision = world.settle();
        assert_eq!(
            reason(&world.snapshot, &decision, "Deleting"),
            "True/CRDTerminating"
        );
        assert!(
            message(&decision).contains("x.example.com"),
            "{}",
            message(&decision)
        );
        assert!(!world.is_gone && world.infrastructure.len() == 1);
        assert_eq!(decision.look_again, Some(crate::crds::LOOK_AGAIN));
        // The way out that keeps everything, and the end of the obstacle.
        let mut kept = world.clone();
        kept.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
        kept.settle();
        assert!(kept.is_gone && kept.infrastructure.len() == 1);
        world.snapshot.crd_obstacle = None;
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
}
