//! Which WorkspaceTemplateApply is whose.

use super::*;

#[test]
fn a_name_that_somebody_else_has_is_not_taken() {
    let mut world = with(&["a"]);
    let mut other = capt_api::WorkspaceTemplateApply::new(
        "blue-a-fargate-apply",
        serde_json::from_value(json!({"templateRef": {"name": "theirs"}})).expect("a spec"),
    );
    other.metadata.uid = Some("theirs".to_owned());
    other.metadata.labels = Some(BTreeMap::from([(marks::OWNER.to_owned(), "Other.x".to_owned())]));
    world.settle();
    let mine = of(&world, "a").and_then(|one| one.workspace_template_apply_name);
    assert_eq!(mine.as_deref(), Some("blue-a-fargate-apply"));

    let mut world = with(&["a"]);
    world.snapshot.applies.push(crate::owned::OwnedSeen {
        wta: other.clone(),
        trouble: None,
        workspace: None,
        run: None,
    });
    for _ in 0..6 {
        world.calm();
        world.probe();
        world.act();
        let theirs = world
            .snapshot
            .applies
            .iter_mut()
            .find(|seen| seen.uid() == "theirs")
            .expect("it stays");
        theirs.wta = other.clone();
        theirs.workspace = None;
    }
    let mine = of(&world, "a")
        .and_then(|one| one.workspace_template_apply_name)
        .unwrap_or_default();
    assert!(
        mine != "blue-a-fargate-apply" && mine.starts_with("blue-a-"),
        "{mine}"
    );
}

#[test]
fn a_cluster_whose_role_was_changed_by_hand_is_no_profile_to_remove() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| spec.version = capt_api::version::Version::from("nonsense"));
    let role = crate::owned::Role::FargateProfile("gone".to_owned()).label();
    let labels = world.apply_mut().wta.metadata.labels.get_or_insert_default();
    labels.insert(marks::ROLE.to_owned(), role);
    world.settle();
    assert!(world.destroyed.is_empty(), "{:?}", world.destroyed);
    assert_eq!(world.apply().annotation(marks::LET_GO), None);
    assert_eq!(world.snapshot.applies.len(), 2);
}

#[test]
fn the_name_of_a_profiles_apply_is_refused_for_the_cluster_and_nothing_is_written_twice() {
    let mut world = with(&["a"]);
    world.settle();
    let before = variables(&world, "blue-a-fargate-apply");
    world.edit(|spec| spec.workspace_template_apply_name = Some("blue-a-fargate-apply".to_owned()));
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/WorkspaceNotOurs");
    let text = message(&world.status(), "Ready");
    assert!(
        text.contains("blue-a-fargate-apply") && text.contains("spec.workspaceTemplateApplyName"),
        "{text}"
    );
    assert_eq!(variables(&world, "blue-a-fargate-apply"), before);
    // Not even a profile that is not wanted any more goes while it is said to be the cluster.
    want(&mut world, &[]);
    world.settle();
    assert!(world.destroyed.is_empty(), "{:?}", world.destroyed);
    // Its end still has an order: what may be the cluster goes after the others.
    want(&mut world, &["a", "b"]);
    world.edit(|spec| spec.workspace_template_apply_name = None);
    world.settle();
    world.edit(|spec| spec.workspace_template_apply_name = Some("blue-a-fargate-apply".to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3);
    assert_eq!(
        world.destroyed[0], "blue-b-fargate-apply",
        "{:?}",
        world.destroyed
    );
}

#[test]
fn another_template_is_refused_and_its_revision_stays_away() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| {
        let profiles = spec.additional_fargate_profiles.as_mut().expect("profiles");
        profiles[0].workspace_template_ref.name = "another".to_owned();
    });
    let seen = world.snapshot.profiles.get_mut("a").expect("a profile");
    seen.template.as_mut().expect("a template").revision = "another-1".to_owned();
    world.settle();
    let apply = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-a-fargate-apply")
        .expect("it stays");
    assert_eq!(apply.wta.spec.template_ref.name, "fargate-profile");
    assert_eq!(apply.wta.spec.template_revision.as_deref(), Some("f1"));
    let told = of(&world, "a").expect("it is listed");
    assert!(told.ready, "it works as it is");
    let text = told.failure_message.unwrap_or_default();
    assert!(
        text.contains("workspaceTemplateRef") && text.contains("fargate-profile"),
        "{text}"
    );
    assert!(world.step().is_quiet());
}
