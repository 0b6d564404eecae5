//! What holds whatever is the case.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{foreign::marks as foreign_marks, marks};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::json;

use super::{
    super::{
        kept::Kept,
        policy::grants_destruction,
        snapshot::{ClusterSeen, KeptSeen, ProviderConfigSeen, Runner, StateSecretSeen},
    },
    *,
};
use crate::{decision::Guard, render::WorkspaceGroup};

/// Something that may or may not be the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Deleting,
    Held,
    HeldByLegacy,
    PausedByCluster,
    PausedByObject,
    PausedByOwner,
    NamespaceTerminating,
    OwnerReference,
    OwnerLabel,
    OwnerThere,
    OwnerDeleting,
    LetGo,
    LetGoFalse,
    RetainBySpec,
    RetainByTemplate,
    RetainByKept,
    TemplateMissing,
    RenderingFails,
    Changed,
    Recorded,
    Kept,
    KeptReady,
    TurnNeeded,
    TurnOurs,
    Foreign,
    Backend,
    Dependent,
    Circle,
    Approved,
    StateSecret,
    InCluster,
    WorkspaceOurs,
    WorkspaceNotOurs,
    WorkspaceRetained,
    WorkspaceDeleting,
    WorkspaceGranted,
    WorkspacePaused,
    WorkspaceHeld,
    WorkspaceReady,
    LegacyStatus,
    SecretMissing,
}

use Fact::*;

const FACTS: [Fact; 41] = [
    Deleting,
    Held,
    HeldByLegacy,
    PausedByCluster,
    PausedByObject,
    PausedByOwner,
    NamespaceTerminating,
    OwnerReference,
    OwnerLabel,
    OwnerThere,
    OwnerDeleting,
    LetGo,
    LetGoFalse,
    RetainBySpec,
    RetainByTemplate,
    RetainByKept,
    TemplateMissing,
    RenderingFails,
    Changed,
    Recorded,
    Fact::Kept,
    KeptReady,
    TurnNeeded,
    TurnOurs,
    Foreign,
    Backend,
    Dependent,
    Circle,
    Approved,
    StateSecret,
    InCluster,
    WorkspaceOurs,
    WorkspaceNotOurs,
    WorkspaceRetained,
    WorkspaceDeleting,
    WorkspaceGranted,
    WorkspacePaused,
    WorkspaceHeld,
    WorkspaceReady,
    LegacyStatus,
    SecretMissing,
];

/// Facts that most rules need, so that they are there more often than not.
const COMMON: [Fact; 10] = [
    Held,
    Recorded,
    WorkspaceOurs,
    Fact::Kept,
    WorkspaceHeld,
    OwnerThere,
    TurnOurs,
    Backend,
    WorkspaceReady,
    Deleting,
];

fn facts() -> impl Strategy<Value = BTreeSet<Fact>> {
    (vec(select(&FACTS[..]), 0..10), vec(any::<bool>(), COMMON.len())).prop_map(|(some, common)| {
        let common = COMMON
            .into_iter()
            .zip(common)
            .filter(|(_, is)| *is)
            .map(|(fact, _)| fact);
        some.into_iter().chain(common).collect()
    })
}

fn snapshot(facts: &BTreeSet<Fact>) -> Snapshot {
    let is = |fact| facts.contains(&fact);
    let mut snapshot = fresh();
    let metadata = &mut snapshot.wta.metadata;
    if is(Held) {
        metadata
            .finalizers
            .get_or_insert_default()
            .push(marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned());
    }
    if is(HeldByLegacy) {
        metadata
            .finalizers
            .get_or_insert_default()
            .push(marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned());
    }
    let labels = metadata.labels.get_or_insert_default();
    if is(OwnerLabel) {
        labels.insert(marks::OWNER.to_owned(), "CAPTControlPlane.blue".to_owned());
    }
    if is(InCluster) {
        labels.insert(foreign_marks::CLUSTER_NAME.to_owned(), "blue".to_owned());
    }
    if is(OwnerReference) {
        own(&mut snapshot);
    }
    snapshot.owner = is(OwnerThere).then(|| OwnerSeen {
        deleting: is(OwnerDeleting),
        paused: is(PausedByOwner),
        takes_turns: is(TurnNeeded),
        turn: is(TurnOurs).then(|| "blue-apply".to_owned()),
        cluster: None,
    });
    if is(Deleting) {
        delete(&mut snapshot);
    }
    for (fact, mark, value) in [
        (PausedByObject, foreign_marks::PAUSED, ""),
        (LetGo, marks::LET_GO, "true"),
        (LetGoFalse, marks::LET_GO, "false"),
        (Recorded, marks::WORKSPACE, "tf.m.upbound.io/blue"),
        (Approved, marks::APPROVED, "r2"),
    ] {
        if is(fact) {
            annotate(&mut snapshot, mark, value);
        }
    }
    snapshot.cluster = Some(ClusterSeen {
        paused: is(PausedByCluster),
    });
    snapshot.namespace_terminating = is(NamespaceTerminating);
    snapshot.wta.spec.retain_workspace_on_delete = Some(is(RetainBySpec));
    snapshot.rendering = if is(RenderingFails) || is(TemplateMissing) {
        Err(Vec::new())
    } else {
        Ok(Rendered {
            retain: is(RetainByTemplate),
            ..rendered(if is(Changed) { "r2" } else { "r1" })
        })
    };
    if is(TemplateMissing) {
        snapshot.template = None;
    }
    if is(Fact::Kept) {
        let mut kept = Kept {
            rendering: Rendered {
                retain: is(RetainByKept),
                ..rendered("r1")
            },
            was_ready: is(KeptReady),
            ..Kept::default()
        };
        kept.location.external_name = "state".to_owned();
        kept.location.provider_config = "ClusterProviderConfig/default".to_owned();
        kept.location.group = "tf.m.upbound.io".to_owned();
        snapshot.kept = Some(KeptSeen {
            uid: "kept".to_owned(),
            owner: snapshot.wta.metadata.uid.clone(),
            kept: Some(kept),
        });
    }
    if is(Foreign) {
        snapshot.runner = Runner::Foreign;
    }
    snapshot.provider_config = is(Backend).then(|| ProviderConfigSeen {
        backend: Some("backend".to_owned()),
        ..ProviderConfigSeen::default()
    });
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    if is(Dependent) {
        snapshot
            .waits
            .waits_for
            .extend([edge("team/user", "team/blue-apply")]);
    }
    if is(Circle) {
        snapshot.waits.waits_for.extend([
            edge("team/twin", "team/blue-apply"),
            edge("team/blue-apply", "team/twin"),
        ]);
    }
    if is(StateSecret) {
        snapshot.state_secrets = vec![StateSecretSeen {
            name: "tfstate".to_owned(),
            uid: "state".to_owned(),
            ..StateSecretSeen::default()
        }];
    }
    if is(SecretMissing) {
        snapshot.awaited_secrets = vec![super::super::snapshot::Awaited {
            name: "a".to_owned(),
            ..Default::default()
        }];
    }
    if is(LegacyStatus) {
        snapshot.wta.status = Some(WorkspaceTemplateApplyStatus {
            workspace_name: Some("blue".to_owned()),
            ..WorkspaceTemplateApplyStatus::default()
        });
    }
    if is(WorkspaceOurs) || is(WorkspaceNotOurs) || is(WorkspaceRetained) || is(LegacyStatus) {
        snapshot.workspaces.push(Arc::new(workspace(facts)));
    }
    snapshot
}

fn workspace(facts: &BTreeSet<Fact>) -> WorkspaceSeen {
    let is = |fact| facts.contains(&fact);
    let mut spec = rendered("r1").spec;
    spec["managementPolicies"] = if is(WorkspaceGranted) {
        json!(["*"])
    } else if is(WorkspacePaused) {
        json!([])
    } else {
        json!(["Observe", "Create", "Update", "LateInitialize"])
    };
    let mut labels = BTreeMap::new();
    if is(WorkspaceOurs) || is(WorkspaceNotOurs) {
        let name = if is(WorkspaceNotOurs) {
            "other"
        } else {
            "blue-apply"
        };
        labels.insert(marks::WTA_NAMESPACE.to_owned(), "team".to_owned());
        labels.insert(marks::WTA_NAME.to_owned(), name.to_owned());
    }
    let mut annotations = BTreeMap::from([(foreign_marks::EXTERNAL_NAME.to_owned(), "state".to_owned())]);
    if is(WorkspaceRetained) {
        annotations.insert(marks::RETAINED.to_owned(), "true".to_owned());
    }
    let mut finalizers = Vec::new();
    if is(WorkspaceHeld) || is(WorkspaceDeleting) {
        finalizers.push(foreign_marks::CROSSPLANE_FINALIZER.to_owned());
    }
    let mut workspace = WorkspaceSeen {
        group: Some(WorkspaceGroup::Namespaced),
        name: "blue".to_owned(),
        uid: "workspace".to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        deleting: is(WorkspaceDeleting),
        labels,
        annotations,
        finalizers,
        spec,
        ..WorkspaceSeen::default()
    };
    if is(WorkspaceReady) {
        workspace.status.conditions = Some(vec![
            condition("Synced", "True", "ReconcileSuccess", 1),
            condition("Ready", "True", "Available", 1),
        ]);
    }
    workspace
}

/// Whether the rules let anything be destroyed, said a second time and in other words.
fn may_destroy(snapshot: &Snapshot) -> bool {
    let metadata = &snapshot.wta.metadata;
    let marked = |name: &str| metadata.annotations.as_ref().and_then(|marks| marks.get(name));
    let labelled = |name: &str| {
        metadata
            .labels
            .as_ref()
            .is_some_and(|labels| labels.contains_key(name))
    };
    let finalizers = metadata.finalizers.clone().unwrap_or_default();

    let goes = metadata.deletion_timestamp.is_some()
        && (finalizers.contains(&marks::WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned())
            || finalizers.contains(&marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()));
    let rests = snapshot.cluster.is_some_and(|cluster| cluster.paused)
        || marked(foreign_marks::PAUSED).is_some()
        || marked(foreign_marks::DELETE_FOR_MOVE).is_some();
    let is_retained = snapshot.wta.spec.retain_workspace_on_delete == Some(true)
        || matches!(&snapshot.rendering, Ok(rendered) if rendered.retain)
        || matches!(&snapshot.kept, Some(KeptSeen { kept: Some(kept), .. }) if kept.rendering.retain);
    let has_owner = labelled(marks::OWNER) || metadata.owner_references.is_some();
    let consents = !has_owner || marked(marks::LET_GO).is_some_and(|value| value == "true");
    let has_turn = match &snapshot.owner {
        Some(owner) if owner.takes_turns => owner.turn.as_deref() == Some("blue-apply"),
        _ => true,
    };
    let is_needed = snapshot
        .waits
        .waits_for
        .get("team/user")
        .is_some_and(|whom| whom.contains("team/blue-apply"));
    goes && !rests && !snapshot.namespace_terminating && !is_retained && consents && has_turn && !is_needed
}

fn check_grants(snapshot: &Snapshot, decision: &Decided) -> Result<(), TestCaseError> {
    for child in decision
        .children
        .iter()
        .filter(|child| child.target.kind == "Workspace")
    {
        let grants = grants_destruction(&child.fields["spec"]);
        prop_assert!(!grants || may_destroy(snapshot), "granted: {child:#?}");
        if let Guard::Uid(uid) = &child.guard {
            let target = snapshot.workspaces.iter().find(|workspace| workspace.uid == *uid);
            let name = target.and_then(|workspace| workspace.labels.get(marks::WTA_NAME));
            prop_assert!(
                name.is_none_or(|name| name == "blue-apply"),
                "somebody else's was written"
            );
        }
    }
    for removal in &decision.removals {
        let target = snapshot
            .workspaces
            .iter()
            .find(|workspace| workspace.uid == removal.uid);
        let target = target.expect("what is removed is there");
        prop_assert!(
            !grants_destruction(&target.spec) || may_destroy(snapshot),
            "deleted with the grant"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn destruction_is_granted_by_a_grant_path_only(facts in facts()) {
        let mut world = World::new(snapshot(&facts));
        for _ in 0..6 {
            check_grants(&world.snapshot, &world.decide())?;
            world.step();
            if world.is_gone {
                break;
            }
        }
    }

    #[test]
    fn decisions_come_to_an_end_and_then_write_nothing(facts in facts()) {
        let mut world = World::new(snapshot(&facts));
        prop_assert_eq!(world.decide(), world.decide());
        world.calm();
        if !world.is_gone {
            prop_assert!(world.decide().is_quiet());
        }
    }

    #[test]
    fn paused_changes_no_spec_but_its_policies(
        facts in facts(),
        pause in select(&[PausedByCluster, PausedByObject, PausedByOwner][..]),
    ) {
        let snapshot = snapshot(&facts.into_iter().chain([pause, OwnerThere]).collect());
        let decision = decide(&snapshot, at(0));
        prop_assert!(decision.removals.is_empty());
        prop_assert!(decision.own.spec.is_empty());
        for child in decision.children.iter().filter(|child| child.target.kind == "Workspace") {
            let mut expected = snapshot.workspaces[0].spec.clone();
            expected["managementPolicies"] = json!([]);
            prop_assert_eq!(&child.fields["spec"], &expected);
            prop_assert_eq!(&child.guard, &Guard::Uid("workspace".to_owned()));
        }
    }

    #[test]
    fn the_field_and_the_condition_say_the_same_about_what_is_applied(facts in facts()) {
        let mut world = World::new(snapshot(&facts));
        for _ in 0..4 {
            world.step();
            let Some(status) = &world.snapshot.wta.status else { continue };
            let conditions = status.conditions.iter().flatten();
            let applied = conditions.filter(|one| one.type_ == "Applied").map(|one| one.status == "True").next();
            prop_assert_eq!(status.applied, applied.unwrap_or(status.applied));
        }
    }

    #[test]
    fn status_is_written_only_if_it_differs(facts in facts()) {
        let snapshot = snapshot(&facts);
        let decision = decide(&snapshot, at(0));
        prop_assert!(decision.own.status.is_none() || decision.own.status != snapshot.wta.status);
    }

    #[test]
    fn whatever_happens_infrastructure_is_destroyed_with_consent_only_and_never_forgotten(
        is_owned in any::<bool>(),
        happenings in vec(select(&HAPPENINGS[..]), 0..25),
    ) {
        let mut world = if is_owned { owned() } else { living() };
        let existing = world.infrastructure.clone();
        let mut was_allowed = false;
        for happening in happenings {
            happening.befall(&mut world);
            was_allowed |= may_destroy(&world.snapshot);
            if world.is_gone {
                break;
            }
            check_grants(&world.snapshot, &world.decide())?;
        }
        prop_assert!(world.infrastructure.len() <= 1, "nothing is made twice");
        prop_assert!(!world.infrastructure.is_empty() || was_allowed, "destroyed without consent");
        if world.is_gone {
            let is_remembered = world.snapshot.workspaces.len() == 1;
            prop_assert!(world.infrastructure.is_empty() || is_remembered, "forgotten");
            return Ok(());
        }
        world.snapshot.cluster = None;
        world.snapshot.namespace_terminating = false;
        world.settle();
        if world.snapshot.wta.metadata.deletion_timestamp.is_none() {
            prop_assert_eq!(&world.infrastructure, &existing);
            // Whoever had something to do when the owner vanished gets no turn for it any more.
            let workspace = world.workspace();
            let waits = is_owned
                && super::super::owner::takes_turns(&world.snapshot.wta)
                && world.snapshot.owner.is_none()
                && workspace.spec["managementPolicies"] == json!([]);
            prop_assert!(waits || workspace.is_settled());
        } else if may_destroy(&world.snapshot) {
            prop_assert!(world.is_gone && world.infrastructure.is_empty(), "consent is carried out");
        }
    }
}

/// Something that happens to a world.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Decide,
    Run,
    DeleteWorkspace,
    WorkspaceVanishes,
    GrantByHand,
    Delete,
    Pause,
    Unpause,
    NamespaceGoes,
    OwnerConsents,
    OwnerVanishes,
    OwnerReferenceStripped,
    TemplateVanishes,
    TemplateChanges,
}

const HAPPENINGS: [Happening; 18] = [
    Happening::Decide,
    Happening::Decide,
    Happening::Decide,
    Happening::Run,
    Happening::Run,
    Happening::Run,
    Happening::DeleteWorkspace,
    Happening::WorkspaceVanishes,
    Happening::GrantByHand,
    Happening::Delete,
    Happening::Pause,
    Happening::Unpause,
    Happening::NamespaceGoes,
    Happening::OwnerConsents,
    Happening::OwnerVanishes,
    Happening::OwnerReferenceStripped,
    Happening::TemplateVanishes,
    Happening::TemplateChanges,
];

impl Happening {
    fn befall(self, world: &mut World) {
        let snapshot = &mut world.snapshot;
        let is_owned = super::super::owner::recorded(&snapshot.wta).is_some();
        match self {
            Self::Decide => {
                world.step();
            }
            Self::Run => world.run(),
            Self::DeleteWorkspace => world.delete_workspace(),
            // A finalizer removed by hand.
            Self::WorkspaceVanishes if !is_being_destroyed(snapshot) => snapshot.workspaces.clear(),
            // Nobody can stop a runner from acting at once on what somebody else granted, if it also was deleted.
            Self::GrantByHand => {
                if let Some(workspace) = snapshot
                    .workspaces
                    .first_mut()
                    .filter(|workspace| !workspace.deleting)
                {
                    let workspace = Arc::make_mut(workspace);
                    workspace.spec["managementPolicies"] = json!(["*"]);
                    workspace.generation += 1;
                    world.step();
                }
            }
            Self::Delete => delete(snapshot),
            Self::Pause => snapshot.cluster = Some(ClusterSeen { paused: true }),
            Self::Unpause => snapshot.cluster = None,
            Self::NamespaceGoes => snapshot.namespace_terminating = true,
            Self::OwnerConsents if is_owned => annotate(snapshot, marks::LET_GO, "true"),
            Self::OwnerVanishes => snapshot.owner = None,
            Self::OwnerReferenceStripped => snapshot.wta.metadata.owner_references = None,
            Self::TemplateVanishes => snapshot.template = None,
            Self::TemplateChanges => snapshot.rendering = Ok(rendered("r2")),
            Self::WorkspaceVanishes | Self::OwnerConsents => {}
        }
    }
}

/// Whoever tears a Workspace out of its destruction takes the infrastructure upon himself.
fn is_being_destroyed(snapshot: &Snapshot) -> bool {
    snapshot
        .workspaces
        .iter()
        .any(|workspace| workspace.deleting && grants_destruction(&workspace.spec))
}
