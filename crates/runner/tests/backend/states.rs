//! State passes from one to the other and back.

use std::fs;

use capt_runner::store::{Before, StateStore};
use capt_terraform::state::State;
use serde_json::{Value, json};

use crate::support::{Stage, noise, purpose};
use tokio_util::sync::CancellationToken;

const MODULE: &str = "
variable \"size\" {
  default = \"small\"
}
resource \"terraform_data\" \"one\" {
  input = var.size
}
output \"size\" {
  value = terraform_data.one.output
}
";

/// The next state of the same history, with another output.
fn next(file: &[u8]) -> Vec<u8> {
    let mut state: Value = serde_json::from_slice(file).unwrap();
    state["serial"] = json!(state["serial"].as_u64().unwrap() + 1);
    state["outputs"]["added"] = json!({"value": "by us", "type": "string"});
    serde_json::to_vec_pretty(&state).unwrap()
}

fn value(file: &[u8]) -> Value {
    serde_json::from_slice(file).unwrap()
}

/// Terraform writes, we read; we write, Terraform reads; Terraform writes again; and in the end nothing is left.
async fn back_and_forth(size: &str, at_least_parts: usize) {
    let Some(stage) = Stage::new(MODULE).await else {
        return;
    };
    if at_least_parts > 1 && stage.terraform(&["version"]).await.text.contains("OpenTofu") {
        eprintln!("SKIPPED: OpenTofu's backend keeps a state in one Secret or not at all");
        return;
    }
    let store = StateStore::new(stage.client.clone());
    fs::write(
        stage.module().join("terraform.tfvars.json"),
        json!({"size": size}).to_string(),
    )
    .unwrap();

    stage
        .terraform(&["apply", "-auto-approve", "-input=false"])
        .await
        .succeeded();
    let mut kept = store.read(&stage.place).await.unwrap();
    let theirs = kept.replica.clone().unwrap();
    let pulled = stage.terraform(&["state", "pull"]).await.succeeded();
    assert!(
        value(&theirs) == value(&pulled.stdout),
        "we do not read what terraform wrote"
    );
    assert_eq!(State::parse(&theirs).unwrap().outputs["size"].value, size);

    let ours = next(&theirs);
    store.write(&stage.place, &mut kept, &ours).await.unwrap();
    let pulled = stage.terraform(&["state", "pull"]).await.succeeded();
    assert!(
        value(&pulled.stdout) == value(&ours),
        "terraform does not read what we wrote"
    );
    let output = stage.terraform(&["output", "-raw", "added"]).await.succeeded();
    assert_eq!(output.stdout, b"by us");
    let secrets = capt_terraform::state::pack(&stage.place.location, &ours);
    assert!(secrets.len() >= at_least_parts, "{} parts", secrets.len());

    // Its plan finds every resource where it left it; only the output that the module does not have would go.
    let plan = stage
        .terraform(&["plan", "-detailed-exitcode", "-input=false", "-no-color"])
        .await;
    assert_eq!(plan.code, Some(2), "{}", plan.text);
    assert!(
        plan.text.contains("without changing any real infrastructure"),
        "{}",
        plan.text
    );

    // It writes over ours, smaller than before, and we follow.
    fs::write(
        stage.module().join("terraform.tfvars.json"),
        json!({"size": "tiny"}).to_string(),
    )
    .unwrap();
    stage
        .terraform(&["apply", "-auto-approve", "-input=false"])
        .await
        .succeeded();
    let mut kept = store.read(&stage.place).await.unwrap();
    let theirs = State::parse(kept.replica.as_ref().unwrap()).unwrap();
    assert_eq!(theirs.outputs["size"].value, "tiny");
    assert!(theirs.serial > State::parse(&ours).unwrap().serial);
    let same = kept.replica.clone().unwrap();
    store.write(&stage.place, &mut kept, &next(&same)).await.unwrap();

    stage
        .terraform(&["destroy", "-auto-approve", "-input=false"])
        .await
        .succeeded();
    let lock = stage
        .locks("one")
        .acquire(
            &stage.place,
            &purpose(),
            Before::Perhaps,
            CancellationToken::new(),
        )
        .await
        .unwrap();
    store.remove(&stage.place).await.unwrap();
    lock.discard().await.unwrap();
    let left = store.read(&stage.place).await.unwrap();
    assert!(left.replica.is_none() && left.staged.is_none());
    let listed = stage.terraform(&["workspace", "list"]).await.succeeded();
    let others: Vec<&str> = listed
        .text
        .lines()
        .filter(|line| line.contains("team-vpc"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_state_passes_from_one_to_the_other() {
    back_and_forth("small", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_of_several_secrets_does_too() {
    // It is in the state three times, but repetitions compress well; noise compresses to a half.
    back_and_forth(&noise(3 << 20), 2).await;
}
