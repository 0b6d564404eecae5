use capt_api::{
    WorkspaceTemplate, conditions::find_condition, foreign::marks as foreign_marks, marks,
    workspacetemplate::WorkspaceTemplateSpec,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a valid time")
}

fn snapshot(module: &str, users: &[&str]) -> Snapshot {
    let spec: WorkspaceTemplateSpec = serde_json::from_value(json!({
        "template": {"spec": {"forProvider": {"source": "Inline", "module": module}}},
    }))
    .expect("a template");
    let mut template = WorkspaceTemplate::new("vpc", spec);
    template.metadata.generation = Some(1);
    template.metadata.namespace = Some("team".to_owned());
    Snapshot {
        template,
        users: users.iter().map(|user| (*user).to_owned()).collect(),
    }
}

fn carry_out(snapshot: &mut Snapshot) -> Decision<WorkspaceTemplateObjectStatus> {
    let decision = decide(snapshot, at(0));
    let finalizers = snapshot.template.metadata.finalizers.get_or_insert_default();
    finalizers.extend(decision.own.add_finalizers.iter().cloned());
    finalizers.retain(|name| !decision.own.remove_finalizers.contains(name));
    if decision.own.status.is_some() {
        snapshot.template.status.clone_from(&decision.own.status);
    }
    decision
}

fn finalizers(snapshot: &Snapshot) -> Vec<&str> {
    let finalizers = snapshot
        .template
        .metadata
        .finalizers
        .as_deref()
        .unwrap_or_default();
    finalizers.iter().map(String::as_str).collect()
}

fn reason(snapshot: &Snapshot, type_: &str) -> String {
    let status = snapshot.template.status.as_ref().expect("a status");
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, type_).map_or_else(String::new, |condition| condition.reason.clone())
}

#[test]
fn a_template_is_held_for_as_long_as_it_is_used() {
    let mut used = snapshot("locals {}\n", &["team/blue"]);
    carry_out(&mut used);
    assert_eq!(finalizers(&used), [marks::WORKSPACETEMPLATE_FINALIZER]);
    assert_eq!(reason(&used, "InUse"), "Used");
    used.template.metadata.deletion_timestamp = Some(Time(at(0)));
    carry_out(&mut used);
    assert_eq!(finalizers(&used), [marks::WORKSPACETEMPLATE_FINALIZER]);
    assert_eq!(reason(&used, "InUse"), "WaitingForUsers");
    used.users.clear();
    let decision = carry_out(&mut used);
    assert!(finalizers(&used).is_empty());
    assert!(
        decision.own.status.is_none(),
        "nobody can write the status of what is gone"
    );
}

#[test]
fn a_template_that_nobody_uses_is_not_held() {
    let mut unused = snapshot("locals {}\n", &[]);
    unused.template.metadata.finalizers = Some(vec![
        marks::WORKSPACETEMPLATE_FINALIZER.to_owned(),
        marks::LEGACY_WORKSPACETEMPLATE_FINALIZER.to_owned(),
    ]);
    carry_out(&mut unused);
    assert!(finalizers(&unused).is_empty());
    assert_eq!(reason(&unused, "InUse"), "Unused");
}

#[test]
fn the_finalizer_of_the_go_implementation_goes_only_after_ours_is_on() {
    let mut used = snapshot("locals {}\n", &["team/blue"]);
    used.template.metadata.finalizers = Some(vec![marks::LEGACY_WORKSPACETEMPLATE_FINALIZER.to_owned()]);
    carry_out(&mut used);
    assert_eq!(finalizers(&used).len(), 2);
    carry_out(&mut used);
    assert_eq!(finalizers(&used), [marks::WORKSPACETEMPLATE_FINALIZER]);
}

#[test]
fn the_status_says_who_uses_which_revision_and_is_written_once() {
    let names: Vec<String> = (0..7).map(|number| format!("team/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut used = snapshot("locals {}\n", &names);
    carry_out(&mut used);
    let status = used.template.status.clone().expect("a status");
    assert_eq!(status.users, Some(7));
    assert_eq!(
        status.revision.as_deref(),
        Some(&*render::revision(&used.template.spec))
    );
    assert_eq!(status.observed_generation, Some(1));
    let conditions = status.conditions.unwrap_or_default();
    let message = &find_condition(&conditions, "InUse").expect("InUse").message;
    assert!(message.ends_with("team/4 and 2 more"), "{message}");
    assert!(carry_out(&mut used).is_quiet());
}

#[test]
fn what_cannot_be_rendered_is_said_once() {
    let mut broken = snapshot("this is { no HCL", &[]);
    let decision = carry_out(&mut broken);
    assert_eq!(reason(&broken, "Ready"), "InvalidModule");
    assert_eq!(decision.events.len(), 1);
    assert!(carry_out(&mut broken).is_quiet());
}

#[test]
fn a_paused_template_is_left_alone_even_if_it_goes() {
    let mut paused = snapshot("locals {}\n", &[]);
    paused.template.metadata.finalizers = Some(vec![marks::WORKSPACETEMPLATE_FINALIZER.to_owned()]);
    paused.template.metadata.deletion_timestamp = Some(Time(at(0)));
    let annotations = paused.template.metadata.annotations.get_or_insert_default();
    annotations.insert(foreign_marks::PAUSED.to_owned(), String::new());
    assert!(carry_out(&mut paused).is_quiet());
}

#[test]
fn who_has_no_consent_neither_holds_a_template_nor_is_told_of() {
    for (shared, is_held) in [
        (json!(null), false),
        (json!([]), false),
        (json!(["third"]), false),
        (json!(["other"]), true),
        (json!(["*"]), true),
    ] {
        let mut template = snapshot("locals {}\n", &["other/blue"]);
        template.template.spec.shared_with = serde_json::from_value(shared.clone()).expect("namespaces");
        template.template.metadata.finalizers = Some(vec![marks::WORKSPACETEMPLATE_FINALIZER.to_owned()]);
        carry_out(&mut template);
        let expected = if is_held { "Used" } else { "Unused" };
        assert_eq!(reason(&template, "InUse"), expected, "{shared}");
        let status = serde_json::to_string(&template.template.status).expect("a status");
        assert_eq!(status.contains("other/blue"), is_held, "{status}");
        template.template.metadata.deletion_timestamp = Some(Time(at(0)));
        carry_out(&mut template);
        assert_eq!(!finalizers(&template).is_empty(), is_held, "{shared}");
    }
}
