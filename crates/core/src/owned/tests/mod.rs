//! What owners may rely on.

mod ending;
mod finding;
mod left;
mod outputs;
mod release;
mod report;
mod standing;
mod wanted;

use std::collections::BTreeMap;

use capt_api::{
    WorkspaceTemplateApply,
    conditions::set_condition,
    references::WorkspaceTemplateReference,
    workspacetemplateapply::{WorkspaceTemplateApplySpec, WorkspaceTemplateApplyStatus},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time},
    jiff::Timestamp,
};
use serde_json::Value;

use super::*;
use crate::decision::Desired;

const OWNER: Owner<'static> = Owner {
    api_version: "controlplane.cluster.x-k8s.io/v1beta1",
    kind: "CAPTControlPlane",
    namespace: "team",
    name: "blue",
    uid: "owner-1",
    cluster: Some("blue-cluster"),
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn wanted() -> Wanted {
    Wanted {
        name: "blue-eks-controlplane-apply".to_owned(),
        role: Role::Eks,
        template: WorkspaceTemplateReference {
            name: "eks".to_owned(),
            namespace: None,
        },
        revision: Some("t1".to_owned()),
        variables: BTreeMap::from([("cluster_name".to_owned(), "blue-cluster".to_owned())]),
        connection_secret: Some("blue-eks-connection".to_owned()),
        wait_for_secrets: Vec::new(),
        wait_for_workspaces: Vec::new(),
        retain: false,
        retry: None,
    }
}

/// An object as a server-side apply by us leaves it. What is there already and is not ours stays.
fn carried_out(desired: &Desired, before: Option<&OwnedSeen>) -> OwnedSeen {
    let mut seen = before.cloned().unwrap_or_else(|| OwnedSeen {
        wta: WorkspaceTemplateApply::new(
            &desired.target.name,
            serde_json::from_value::<WorkspaceTemplateApplySpec>(desired.fields["spec"].clone())
                .expect("a whole spec"),
        ),
        trouble: None,
        workspace: None,
        run: None,
    });
    let mut spec = serde_json::to_value(&seen.wta.spec).expect("a spec");
    merge(&mut spec, &desired.fields["spec"]);
    seen.wta.spec = serde_json::from_value(spec).expect("a spec");
    let metadata = &desired.fields["metadata"];
    let old = std::mem::take(&mut seen.wta.metadata);
    let mut labels = old.labels.unwrap_or_default();
    let mut annotations = old.annotations.unwrap_or_default();
    labels.extend(texts(&metadata["labels"]));
    annotations.extend(texts(&metadata["annotations"]));
    annotations.retain(|name, _| !desired.strip.annotations.contains(name));
    seen.wta.metadata = ObjectMeta {
        name: Some(desired.target.name.clone()),
        namespace: desired.target.namespace.clone(),
        uid: Some("wta-1".to_owned()),
        resource_version: Some("7".to_owned()),
        generation: Some(old.generation.unwrap_or_default() + 1),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: serde_json::from_value(metadata["ownerReferences"].clone()).expect("references"),
        ..ObjectMeta::default()
    };
    seen
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// One that was just made.
fn fresh() -> OwnedSeen {
    carried_out(&wanted().change(&OWNER, None).expect("it has to be made"), None)
}

/// One whose Workspace is there and ready.
fn living() -> OwnedSeen {
    let mut seen = fresh();
    seen.wta.status = Some(WorkspaceTemplateApplyStatus {
        workspace_name: Some("blue-eks-controlplane".to_owned()),
        applied: true,
        observed_generation: seen.wta.metadata.generation,
        template_revision: Some("t1".to_owned()),
        last_applied_revision: Some("r1".to_owned()),
        ready_revision: Some("r1".to_owned()),
        ..WorkspaceTemplateApplyStatus::default()
    });
    seen.workspace = Some(WorkspaceGlance {
        name: "blue-eks-controlplane".to_owned(),
        generation: 3,
        ..WorkspaceGlance::default()
    });
    say(&mut seen, "Applied", "True", "Applied");
    say(&mut seen, "Synced", "True", "ReconcileSuccess");
    say(&mut seen, "Ready", "True", "Available");
    seen
}

fn say(seen: &mut OwnedSeen, type_: &str, status: &str, reason: &str) {
    let conditions = seen
        .wta
        .status
        .get_or_insert_default()
        .conditions
        .get_or_insert_default();
    set_condition(
        conditions,
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: format!("about {type_}"),
            last_transition_time: Time(at(0)),
            observed_generation: Some(3),
        },
    );
}

fn annotate(seen: &mut OwnedSeen, name: &str, value: &str) {
    seen.wta
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(name.to_owned(), value.to_owned());
}

fn fail(seen: &mut OwnedSeen, class: TroubleClass) {
    say(seen, "Synced", "False", "ReconcileError");
    seen.trouble = Some(Trouble {
        class,
        message: "no".to_owned(),
    });
}
