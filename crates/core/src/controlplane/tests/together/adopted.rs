//! What the Go implementation left behind, where some of its templates are gone.

use super::*;
use crate::controlplane::tests::adopting;

/// The EKS cluster and three remnants, with their Workspaces. These last said that all is well of their generation, of an
/// earlier one, or of none.
fn left_behind(said_of: Option<i64>) -> Together {
    let mut all = Together::new();
    all.world = adopting::old("blue-eks-controlplane-apply", true);
    for name in [
        "blue-kubeconfig-apply",
        "blue-spot-role-check",
        "blue-spot-role-create",
    ] {
        all.world.snapshot.applies.push(adopting::old_apply(name, true));
    }
    for seen in &all.world.snapshot.applies {
        let mut snapshot = empty(seen);
        if seen.name() != "blue-eks-controlplane-apply" {
            snapshot.template = None;
        }
        snapshot.served.cluster_scoped = Serving::Yes;
        let said = |type_: &str, reason: &str| WorkspaceCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            reason: reason.to_owned(),
            message: None,
            last_transition_time: Time(at(0)),
            observed_generation: said_of,
        };
        let workspace = WorkspaceSeen {
            group: Some(WorkspaceGroup::ClusterScoped),
            name: seen.name().trim_end_matches("-apply").to_owned(),
            uid: format!("ws {}", seen.name()),
            generation: 2,
            finalizers: vec![foreign_marks::CROSSPLANE_FINALIZER.to_owned()],
            spec: json!({"forProvider": {"source": "Inline", "module": "as it was"}}),
            status: WorkspaceStatus {
                conditions: Some(vec![
                    said("Synced", "ReconcileSuccess"),
                    said("Ready", "Available"),
                ]),
                ..WorkspaceStatus::default()
            },
            ..WorkspaceSeen::default()
        };
        snapshot.workspaces.push(Arc::new(workspace));
        all.applies.insert(seen.name().to_owned(), snapshot);
    }
    all
}

/// Everybody acts but who runs Terraform. Gives whose turn it was, and how often a Workspace was written.
fn act_alone(all: &mut Together, rounds: usize) -> (Vec<Option<String>>, i64) {
    let mut turns: Vec<Option<String>> = Vec::new();
    for _ in 0..rounds {
        all.world.step();
        all.decide_applies();
        all.mirror();
        let annotations = all.world.snapshot.control_plane.metadata.annotations.as_ref();
        turns.push(annotations.and_then(|annotations| annotations.get(marks::TURN).cloned()));
    }
    turns.dedup();
    let writes = all
        .applies
        .values()
        .map(|seen| seen.workspaces[0].generation - 2)
        .sum();
    (turns, writes)
}

#[test]
fn a_turn_does_not_go_round_where_nobody_answers() {
    for said_of in [Some(2), Some(1), None] {
        let mut all = left_behind(said_of);
        let (turns, writes) = act_alone(&mut all, 60);
        assert!(turns.len() <= 5, "{said_of:?}: {turns:?}");
        let (later, more) = act_alone(&mut all, 60);
        assert_eq!(later.len(), 1, "{said_of:?}: {later:?}");
        assert_eq!(more, writes, "{said_of:?}: nothing is written any more");
    }
}
