//! A world in which decisions are carried out, and in which a WorkspaceTemplateApply does what it is told at once.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    WorkspaceTemplateApply, conditions::set_condition, workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::api::core::v1::Secret;

use super::*;

#[derive(Clone)]
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    pub(super) now: Timestamp,
    /// Everything that was ever decided.
    pub(super) history: Vec<Decided>,
}

impl World {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            now: at(0),
            history: Vec::new(),
        }
    }

    pub(super) fn status(&self) -> CAPTClusterStatus {
        self.snapshot.captcluster.status.clone().unwrap_or_default()
    }

    pub(super) fn verdict(&self, type_: &str) -> String {
        verdict(&self.snapshot, &Decided::default(), type_)
    }

    pub(super) fn message(&self, type_: &str) -> String {
        condition(&self.snapshot, &Decided::default(), type_).message
    }

    pub(super) fn apply(&mut self) -> &mut OwnedSeen {
        &mut self.snapshot.applies[0]
    }

    /// Decides once and carries it out.
    pub(super) fn step(&mut self) -> Decided {
        let decision = decide(&self.snapshot, self.now);
        self.carry_out(&decision);
        self.history.push(decision.clone());
        decision
    }

    /// Decides until there is nothing to do.
    pub(super) fn rest(&mut self) {
        for _ in 0..20 {
            if self.step().is_quiet() {
                return;
            }
        }
        panic!("it never comes to rest: {:?}", self.history.last());
    }

    /// Comes to rest with a VPC that is there.
    pub(super) fn settle(&mut self) {
        self.rest();
        self.make_real();
        self.rest();
    }

    /// Terraform makes the VPC, and tells about it.
    pub(super) fn make_real(&mut self) {
        self.make_workspace();
        let ready = self.now;
        let apply = self.apply();
        let status = apply.wta.status.get_or_insert_default();
        status.outputs = Some(BTreeMap::from([
            ("vpc_id".to_owned(), json!("vpc-7")),
            (
                "availability_zones".to_owned(),
                json!(["eu-central-1b", "eu-central-1a"]),
            ),
        ]));
        status.ready_revision.clone_from(&status.last_applied_revision);
        say(apply, "Synced", "True", "ReconcileSuccess", ready);
        say(apply, "Ready", "True", "Available", ready);
        let name = apply.wta.spec.write_connection_secret_to_ref.as_ref();
        let name = name.map_or("of-template", |reference| &reference.name).to_owned();
        self.snapshot.secrets.push(secret(&name, "vpc-7"));
        self.snapshot.workspace_secret = Some(SecretName {
            namespace: "team".to_owned(),
            name,
        });
    }

    /// The WorkspaceTemplateApply makes its Workspace, which is not ready yet.
    pub(super) fn make_workspace(&mut self) {
        let now = self.now;
        let apply = self.apply();
        let generation = apply.wta.metadata.generation;
        apply.wta.status = Some(WorkspaceTemplateApplyStatus {
            workspace_name: Some("net-vpc".to_owned()),
            applied: true,
            observed_generation: generation,
            template_revision: apply.wta.spec.template_revision.clone(),
            last_applied_revision: Some("r1".to_owned()),
            ..WorkspaceTemplateApplyStatus::default()
        });
        say(apply, "Applied", "True", "Applied", now);
        let workspace = apply.workspace.get_or_insert_default();
        "net-vpc".clone_into(&mut workspace.name);
        workspace.created_at = workspace.created_at.or(Some(now));
    }

    pub(super) fn carry_out(&mut self, decision: &Decided) {
        for child in &decision.children {
            match child.target.kind.as_str() {
                "WorkspaceTemplateApply" => self.write_apply(child),
                "Secret" => self.write_secret(child),
                kind => panic!("nobody asked for a {kind}"),
            }
        }
        for removal in &decision.removals {
            let applies = &mut self.snapshot.applies;
            for apply in applies.iter_mut().filter(|one| one.uid() == removal.uid) {
                assert_eq!(
                    apply.wta.metadata.resource_version.as_deref(),
                    Some(removal.resource_version.as_str())
                );
                apply.wta.metadata.deletion_timestamp = Some(Time(self.now));
            }
            self.snapshot.secrets.retain(|secret| secret.uid != removal.uid);
        }
        let metadata = &mut self.snapshot.captcluster.metadata;
        let finalizers = metadata.finalizers.get_or_insert_default();
        finalizers.extend(decision.own.add_finalizers.iter().cloned());
        finalizers.retain(|name| !decision.own.remove_finalizers.contains(name));
        let annotations = metadata.annotations.get_or_insert_default();
        for (name, value) in &decision.own.annotations {
            match value {
                Some(value) => annotations.insert(name.clone(), value.clone()),
                None => annotations.remove(name),
            };
        }
        if let Some(name) = decision.own.spec.get("workspaceTemplateApplyName") {
            self.snapshot.captcluster.spec.workspace_template_apply_name = name.as_str().map(str::to_owned);
            *metadata.generation.get_or_insert_default() += 1;
        }
        if let Some(status) = &decision.own.status {
            self.snapshot.captcluster.status = Some(status.clone());
        }
    }

    fn write_apply(&mut self, desired: &Desired) {
        let name = desired.target.name.clone();
        let place = self.snapshot.applies.iter().position(|one| one.name() == name);
        let place = place.unwrap_or_else(|| {
            assert_eq!(desired.guard, Guard::Absent);
            let spec = serde_json::from_value(desired.fields["spec"].clone()).expect("a whole spec");
            let mut wta = WorkspaceTemplateApply::new(&name, spec);
            wta.metadata.namespace = Some("team".to_owned());
            wta.metadata.uid = Some(format!("{name}-1"));
            self.snapshot.applies.push(OwnedSeen {
                wta,
                trouble: None,
                workspace: None,
                run: None,
            });
            self.snapshot.applies.len() - 1
        });
        let wta = &mut self.snapshot.applies[place].wta;
        wta.spec = serde_json::from_value(desired.fields["spec"].clone()).expect("a whole spec");
        let metadata = &desired.fields["metadata"];
        let texts = |value: &Value| -> BTreeMap<String, String> {
            serde_json::from_value(value.clone()).expect("texts")
        };
        let labels = wta.metadata.labels.get_or_insert_default();
        labels.extend(texts(&metadata["labels"]));
        let annotations = wta.metadata.annotations.get_or_insert_default();
        annotations.extend(texts(&metadata["annotations"]));
        annotations.retain(|name, _| !desired.strip.annotations.contains(name));
        let owners = serde_json::from_value(metadata["ownerReferences"].clone()).expect("references");
        wta.metadata.owner_references = Some(owners);
        let generation = wta.metadata.generation.get_or_insert_default();
        *generation += 1;
        wta.metadata.resource_version = Some(format!("rv-{generation}"));
    }

    fn write_secret(&mut self, desired: &Desired) {
        let mut object = desired.fields.clone();
        object["metadata"]["name"] = json!(desired.target.name);
        object["metadata"]["namespace"] = json!(desired.target.namespace);
        object["metadata"]["uid"] = json!("secret-1");
        let secret: Secret = serde_json::from_value(object).expect("a Secret");
        let seen = SecretSeen::of(&secret);
        self.snapshot.secrets.retain(|one| one.name != seen.name);
        self.snapshot.secrets.push(seen);
    }
}

/// A WorkspaceTemplateApply says something by a condition.
pub(super) fn say(apply: &mut OwnedSeen, type_: &str, status: &str, reason: &str, now: Timestamp) {
    let conditions = apply
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
            last_transition_time: Time(now),
            observed_generation: None,
        },
    );
}

/// Terraform fails.
pub(super) fn fail(apply: &mut OwnedSeen, class: TroubleClass, now: Timestamp) {
    say(apply, "Synced", "False", "ReconcileError", now);
    apply.trouble = Some(Trouble {
        class,
        message: "no more addresses".to_owned(),
    });
}

/// The text under a key of a Secret that is written.
pub(super) fn text_in(desired: &Desired, key: &str) -> String {
    let text = desired.fields["data"][key].as_str().expect("the key is there");
    String::from_utf8(STANDARD.decode(text).expect("base64")).expect("text")
}
