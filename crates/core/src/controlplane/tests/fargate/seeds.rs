//! The status as the seeds write it, name by name.

use serde_json::Value;

use super::*;

/// What we say besides.
const OURS: [&str; 4] = ["phase", "since", "message", "observedSelectorsHash"];

#[track_caller]
fn is(world: &World, mut expected: Value) {
    let status = serde_json::to_value(world.status()).expect("a status");
    let rows = expected["fargateProfileStatuses"].take();
    for (name, value) in expected.as_object().expect("fields") {
        if name != "fargateProfileStatuses" {
            assert_eq!(status[name], *value, "{name}");
        }
    }
    let mut told = status["fargateProfileStatuses"].clone();
    for row in told.as_array_mut().expect("a list") {
        for name in OURS {
            row.as_object_mut().expect("a row").remove(name);
        }
    }
    assert_eq!(told, rows);
}

#[test]
fn the_four_states_of_the_seed_are_told_in_its_words() {
    let mut world = with(&["monitoring"]);
    world.terraform = Terraform::Hangs;
    world.settle();
    is(&world, json!({"fargateProfileStatuses": [], "phase": "Creating"}));
    world.terraform = Terraform::Works;
    hang_when_the_cluster_is_up(&mut world);
    let row = json!({
        "name": "monitoring",
        "ready": false,
        "workspaceTemplateApplyName": "blue-monitoring-fargate-apply",
    });
    is(&world, json!({"fargateProfileStatuses": [row]}));
    let status = world.status();
    assert_eq!(
        said(&status, "FargateProfileCreating"),
        "True/FargateProfileCreating"
    );
    world.terraform = Terraform::Works;
    world.settle();
    let row = json!({
        "name": "monitoring",
        "ready": true,
        "workspaceTemplateApplyName": "blue-monitoring-fargate-apply",
    });
    is(&world, json!({"fargateProfileStatuses": [row]}));
    assert_eq!(
        said(&world.status(), "FargateProfileReady"),
        "True/FargateProfileReady"
    );
    let mut world = with(&["monitoring"]);
    world.fails_for = vec!["blue-monitoring-fargate-apply".to_owned()];
    world.settle();
    let row = json!({
        "name": "monitoring",
        "ready": false,
        "workspaceTemplateApplyName": "blue-monitoring-fargate-apply",
        "failureReason": "FargateProfileFailed",
        "failureMessage": "Failed to create Fargate profile: no subnets",
    });
    is(&world, json!({"fargateProfileStatuses": [row]}));
    assert_eq!(
        said(&world.status(), "FargateProfileFailed"),
        "True/FargateProfileFailed"
    );
}
