//! Which rendering a Workspace has.

use capt_api::{
    foreign::{
        forprovider::{FileFormat, ForProvider, ModuleSource},
        marks as foreign_marks,
        providerconfig::TerraformConfig,
    },
    marks,
};
use serde_json::json;

use super::{
    super::{
        location,
        snapshot::{PendingPlan, Problem, ProviderConfigSeen},
        source::{self, Choice},
    },
    *,
};
use capt_api::conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason;

fn module(world: &World) -> &Value {
    &world.workspace().spec["forProvider"]
}

#[test]
fn a_changed_rendering_reaches_the_workspace() {
    let mut world = living();
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert_eq!(*module(&world), rendered("r2").spec["forProvider"]);
    let kept = world
        .snapshot
        .kept
        .as_ref()
        .and_then(|seen| seen.kept.as_ref())
        .expect("kept");
    assert_eq!(kept.rendering.hash, "r2");
    assert!(world.workspace().is_settled());
}

#[test]
fn a_field_that_leaves_the_rendering_is_written_although_the_workspace_covers_it() {
    let mut world = living();
    let mut fewer = rendered("r2");
    fewer.spec = json!({"forProvider": world.workspace().spec["forProvider"]});
    fewer.spec["providerConfigRef"] = rendered("r1").spec["providerConfigRef"].clone();
    world.snapshot.rendering = Ok(fewer);
    let decision = world.step();
    assert_eq!(
        written(&decision).and_then(|child| child.rendered_from.as_deref()),
        Some("r2")
    );
}

#[test]
fn what_somebody_else_changed_in_the_workspace_is_put_back() {
    let mut world = living();
    world.workspace_mut().spec["forProvider"]["module"] = json!("mine");
    world.calm();
    assert_eq!(*module(&world), rendered("r1").spec["forProvider"]);
}

#[test]
fn what_defaults_add_to_a_workspace_is_left_alone() {
    let mut world = living();
    world.workspace_mut().spec["forProvider"]["entrypoint"] = json!("");
    assert!(world.decide().is_quiet());
}

#[test]
fn inputs_that_go_missing_never_change_a_rendering() {
    let template_gone = |snapshot: &mut Snapshot| {
        snapshot.template = None;
        snapshot.rendering = Err(Vec::new());
    };
    let variable_gone = |snapshot: &mut Snapshot| {
        snapshot.rendering = Err(vec![Problem {
            reason: Reason::VariableMissing,
            message: "no variable fills ${x}".to_owned(),
        }]);
    };
    let secret_gone = |snapshot: &mut Snapshot| snapshot.missing_inputs = vec!["Secret a, key b".to_owned()];
    for (lose, expected, words) in [
        (
            &template_gone as &dyn Fn(&mut Snapshot),
            "True/TemplateGone",
            "vpc is gone",
        ),
        (&variable_gone, "False/VariableMissing", "no variable fills ${x}"),
        (&secret_gone, "True/InputMissing", "Secret a, key b"),
    ] {
        let mut world = living();
        lose(&mut world.snapshot);
        let decision = world.calm();
        assert_eq!(reason(&world.snapshot, &decision, "Applied"), expected);
        assert!(message(&decision).contains(words), "{}", message(&decision));
        assert_eq!(*module(&world), rendered("r1").spec["forProvider"]);
        world.delete_workspace();
        world.settle();
        assert!(
            world.workspace().is_settled(),
            "it can be made again all the same"
        );
    }
}

#[test]
fn a_template_elsewhere_needs_its_consent() {
    for (shared_with, expected) in [
        (vec![], Reason::TemplateNotShared),
        (vec!["other"], Reason::TemplateNotShared),
        (vec!["team"], Reason::Applied),
        (vec!["*"], Reason::Applied),
    ] {
        let mut snapshot = fresh();
        let template = snapshot.template.as_mut().expect("a template");
        template.namespace = "shared".to_owned();
        template.shared_with = shared_with.into_iter().map(str::to_owned).collect();
        match source::choose(&snapshot) {
            Choice::Nothing(problem) => assert_eq!(problem.reason, expected),
            choice => assert_eq!((choice, Reason::Applied), (Choice::Current, expected)),
        }
    }
    // What is not there is named with its namespace.
    let mut snapshot = fresh();
    (snapshot.template, snapshot.wta.spec.template_ref.namespace) = (None, Some("shared".to_owned()));
    let Choice::Nothing(problem) = source::choose(&snapshot) else {
        panic!("there is no template");
    };
    assert!(
        problem
            .message
            .starts_with("There is no WorkspaceTemplate vpc in namespace shared. Make it"),
        "{}",
        problem.message
    );
    // Consent is no use where the API says no; what to do is another thing then.
    let mut snapshot = fresh();
    let template = snapshot.template.as_mut().expect("a template");
    (template.namespace, template.hidden) = ("shared".to_owned(), true);
    let Choice::Nothing(problem) = source::choose(&snapshot) else {
        panic!("nothing is known of it");
    };
    assert_eq!(problem.reason, Reason::TemplateNotShared);
    assert!(problem.message.contains("a Role there"), "{}", problem.message);
}

#[test]
fn an_owned_one_gets_the_released_revision_only() {
    let mut world = living();
    world.snapshot.wta.spec.template_revision = Some("t1".to_owned());
    assert_eq!(source::choose(&world.snapshot), Choice::Current);
    world.snapshot.template.as_mut().expect("a template").spec = None;
    world.snapshot.template.as_mut().expect("a template").revision = "t2".to_owned();
    // Without the old template there is nothing to render; the last rendering stays.
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/RevisionNotFound"
    );
    assert_eq!(*module(&world), rendered("r1").spec["forProvider"]);
    world.snapshot.wta.spec.template_revision = Some("t2".to_owned());
    world.settle();
    assert_eq!(*module(&world), rendered("r2").spec["forProvider"]);
}

#[test]
fn where_state_lives_is_decided_once() {
    let other_config = |snapshot: &mut Snapshot| {
        let mut moved = rendered("r2");
        moved.spec["providerConfigRef"]["name"] = json!("other");
        snapshot.rendering = Ok(moved);
    };
    let other_backend = |snapshot: &mut Snapshot| {
        snapshot.rendering = Ok(Rendered {
            backend: Some("backend \"s3\" {}".to_owned()),
            ..rendered("r2")
        });
    };
    for change in [&other_config as &dyn Fn(&mut Snapshot), &other_backend] {
        let mut world = living();
        change(&mut world.snapshot);
        let decision = world.settle();
        assert_eq!(
            reason(&world.snapshot, &decision, "Applied"),
            "False/StateLocationChanged"
        );
        assert_eq!(world.workspace().spec["providerConfigRef"]["name"], "default");
        assert_eq!(*module(&world), rendered("r1").spec["forProvider"]);
    }
    let mut world = living();
    let name = world.workspace().annotations[foreign_marks::EXTERNAL_NAME].clone();
    world
        .workspace_mut()
        .annotations
        .insert(foreign_marks::EXTERNAL_NAME.to_owned(), "elsewhere".to_owned());
    world.calm();
    assert_eq!(world.workspace().annotations[foreign_marks::EXTERNAL_NAME], name);
}

#[test]
fn a_provider_configuration_that_points_elsewhere_stops_the_workspace() {
    let config = |backend: &str| {
        Some(ProviderConfigSeen {
            backend: Some(backend.to_owned()),
            ..ProviderConfigSeen::default()
        })
    };
    let mut world = living();
    world.snapshot.provider_config = config("here");
    world.settle();
    assert!(world.workspace().is_settled());
    world.snapshot.provider_config = config("there");
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/StateLocationChanged"
    );
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    world.snapshot.provider_config = config("here");
    world.settle();
    assert!(world.workspace().is_settled());
}

#[test]
fn backends_are_found_in_modules_and_configurations() {
    let of_module = |module: &str, format| {
        location::backend_of_module(&ForProvider {
            source: ModuleSource::Inline,
            module: module.to_owned(),
            inline_format: format,
            ..serde_json::from_value(json!({"source": "Inline", "module": "x"})).expect("a module")
        })
    };
    let one = "terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"a\"\n  }\n}\n";
    assert!(of_module(one, None).is_some_and(|backend| backend.contains("secret_suffix")));
    assert_eq!(
        of_module(one, None),
        of_module(&one.replace("    ", "\t"), None),
        "layout moves nothing"
    );
    assert_ne!(
        of_module(one, None),
        of_module(&one.replace("\"a\"", "\"b\""), None)
    );
    assert_eq!(
        of_module("terraform {\n  required_version = \">= 1\"\n}\n", None),
        None
    );
    assert_eq!(of_module("this is { no HCL", None), None);
    let json = r#"{"terraform": {"backend": {"s3": {"bucket": "b"}}}}"#;
    assert!(of_module(json, Some(FileFormat::JSON)).is_some());
    let config = |configuration: Option<&str>, backend_file: Option<&str>| {
        location::backend_of_config(&TerraformConfig {
            configuration: configuration.map(str::to_owned),
            backend_file: backend_file.map(str::to_owned),
            ..TerraformConfig::default()
        })
    };
    assert_eq!(config(None, None), None);
    assert_eq!(config(Some("provider \"aws\" {}\n"), Some("  ")), None);
    assert!(config(Some(one), None).is_some());
    assert_ne!(config(Some(one), None), config(Some(one), Some("bucket = \"b\"")));
}

#[test]
fn a_plan_of_our_runner_that_destroys_waits_for_an_approval_that_names_it() {
    let mut world = living();
    world.snapshot.pending_plan = Some(PendingPlan {
        id: "plan-1".to_owned(),
        summary: "It would destroy 2 resources".to_owned(),
    });
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/DestructiveChange"
    );
    assert!(
        message(&decision).ends_with("--plan plan-1"),
        "{}",
        message(&decision)
    );
    for (mark, value, expected) in [
        (marks::APPROVED, "plan-0", "True/DestructiveChange"),
        (marks::APPROVED, "plan-1", "False/NotNeeded"),
        (marks::APPROVED, "plan-1/token", "False/NotNeeded"),
        (marks::ALLOW_DESTRUCTIVE, "true", "False/NotNeeded"),
    ] {
        let mut world = world.clone();
        annotate(&mut world.snapshot, mark, value);
        let decision = world.calm();
        assert_eq!(reason(&world.snapshot, &decision, "ApprovalNeeded"), expected);
        assert_eq!(world.workspace().annotations[mark], value, "it is passed down");
    }
}

#[test]
fn an_approval_of_a_plan_counts_until_the_runner_says_that_it_is_used_up() {
    let mut world = living();
    world.snapshot.pending_plan = Some(PendingPlan {
        id: "plan-1".to_owned(),
        summary: "It would destroy 2 resources".to_owned(),
    });
    annotate(&mut world.snapshot, marks::APPROVED, "plan-1");
    world.snapshot.used_approval = Some("plan-1".to_owned());
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/DestructiveChange"
    );
    let words = world
        .snapshot
        .wta
        .status
        .as_ref()
        .and_then(|status| status.message.clone());
    let words = words.expect("a message");
    assert!(
        words.contains("--plan plan-1. ") && words.contains("used up"),
        "{words}"
    );
    // What a runner says is not moved to another cluster with the object.
    world.snapshot.used_approval = None;
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/DestructiveChange"
    );
    let annotations = &world.workspace().annotations;
    assert!(
        !annotations.contains_key(marks::APPROVED),
        "no runner sees it any more"
    );

    annotate(&mut world.snapshot, marks::APPROVED, "plan-1/again");
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "False/NotNeeded"
    );
    assert_eq!(world.workspace().annotations[marks::APPROVED], "plan-1/again");
}

#[test]
fn requests_are_passed_down_and_taken_back() {
    let mut world = living();
    let requests = [marks::PLAN_REQUESTED, marks::RETRY_REQUESTED, marks::UNLOCK];
    for mark in requests.into_iter().chain(marks::SIMULATE) {
        annotate(&mut world.snapshot, mark, "token");
        world.calm();
        assert_eq!(world.workspace().annotations[mark], "token");
        world
            .snapshot
            .wta
            .metadata
            .annotations
            .get_or_insert_default()
            .remove(mark);
        world.calm();
        assert!(!world.workspace().annotations.contains_key(mark));
    }
}

#[test]
fn a_snapshot_is_rendered_from_the_chosen_template_for_its_own_workspace() {
    let template = |module: &str| {
        let spec = json!({"template": {"spec": {"forProvider": {"source": "Remote", "module": module}}}});
        read(spec)
    };
    let mut snapshot = fresh();
    snapshot.template.as_mut().expect("a template").spec = template("./${WORKSPACE_NAME}/${where}");
    let problems = source::render(&snapshot).expect_err("a hole is open");
    assert_eq!(problems[0].reason, Reason::VariableMissing);
    snapshot.wta.spec.variables = Some([("where".to_owned(), "here".to_owned())].into());
    let first = source::render(&snapshot).expect("a rendering");
    assert_eq!(first.spec["forProvider"]["module"], "./blue/here");
    snapshot.template.as_mut().expect("a template").revision = first.revision.clone();
    snapshot.rendering = Ok(first.clone());
    let mut world = World::new(snapshot);
    world.settle();
    // The template is edited, but the owner has not released that; a variable still can change.
    world.snapshot.wta.spec.template_revision = Some(first.revision);
    let edited = world.snapshot.template.as_mut().expect("a template");
    edited.revision = "edited".to_owned();
    edited.spec = template("./edited");
    world.snapshot.wta.spec.variables = Some([("where".to_owned(), "there".to_owned())].into());
    assert_eq!(source::choose(&world.snapshot), Choice::Kept);
    let second = source::render(&world.snapshot).expect("a rendering");
    assert_eq!(second.spec["forProvider"]["module"], "./blue/there");
}
