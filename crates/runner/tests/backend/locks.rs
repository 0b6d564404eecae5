//! The lock of one keeps the other out.

use std::{fs, time::Duration};

use capt_runner::{
    engine::{Failure, FailureKind},
    store::{Before, LockError},
};
use capt_terraform::{diagnostics::Class, lock::Taken};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENCE, Stage, purpose};

/// Applies only when somebody made the file `go`.
const SLOW: &str = "
resource \"terraform_data\" \"slow\" {
  provisioner \"local-exec\" {
    command = \"while [ ! -e go ]; do sleep 0.05; done\"
  }
}
";

/// Waits for another process.
async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let waiting = async {
        while !condition().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(
        timeout(PATIENCE, waiting).await.is_ok(),
        "waited in vain for {what}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn our_lock_keeps_terraform_out() {
    let Some(stage) = Stage::new("output \"x\" {\n  value = 1\n}\n").await else {
        return;
    };
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
    let refused = stage
        .terraform(&["apply", "-auto-approve", "-input=false", "-no-color"])
        .await;
    assert_eq!(refused.code, Some(1), "{}", refused.text);
    for word in [
        "Error acquiring the state lock",
        lock.id(),
        "capt@one",
        "OperationTypeApply",
    ] {
        assert!(refused.text.contains(word), "{word} is not in:\n{}", refused.text);
    }
    lock.release().await.unwrap();
    stage
        .terraform(&["apply", "-auto-approve", "-input=false"])
        .await
        .succeeded();

    // What a runner left behind can be freed the way people know.
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
    let id = lock.id().to_owned();
    drop(lock);
    stage
        .terraform(&["force-unlock", "-force", &id])
        .await
        .succeeded();
    assert_eq!(stage.holder().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_terraform_keeps_us_out() {
    let Some(stage) = Stage::new(SLOW).await else {
        return;
    };
    let locks = stage.locks("one");
    let mut running = stage
        .command(&["apply", "-auto-approve", "-input=false"])
        .spawn()
        .unwrap();
    until("terraform's lock", async || stage.holder().await.is_some()).await;

    let held = locks
        .acquire(
            &stage.place,
            &purpose(),
            Before::Perhaps,
            CancellationToken::new(),
        )
        .await
        .unwrap_err();
    let LockError::Held { holder, .. } = &held else {
        panic!("{held}")
    };
    assert_eq!(holder.until, None);
    assert_eq!(holder.info.as_ref().unwrap().operation, "OperationTypeApply");
    let failure = Failure::from(held);
    assert_eq!(failure.kind, FailureKind::Terraform(Class::Locked));

    // When it is done, the lock is ours.
    fs::write(stage.module().join("go"), "").unwrap();
    assert!(
        timeout(PATIENCE, running.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    let lock = locks
        .acquire(
            &stage.place,
            &purpose(),
            Before::Perhaps,
            CancellationToken::new(),
        )
        .await
        .unwrap();
    assert_eq!(*lock.taken(), Taken::Free);
    lock.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_a_killed_terraform_left_is_freed_by_name_only() {
    let Some(stage) = Stage::new(SLOW).await else {
        return;
    };
    let locks = stage.locks("one");
    let mut running = stage
        .command(&["apply", "-auto-approve", "-input=false"])
        .spawn()
        .unwrap();
    until("terraform's lock", async || stage.holder().await.is_some()).await;
    running.kill().await.unwrap();
    // What it started waits for the file.
    fs::write(stage.module().join("go"), "").unwrap();

    let id = stage.holder().await.unwrap();
    assert!(
        locks
            .acquire(
                &stage.place,
                &purpose(),
                Before::Perhaps,
                CancellationToken::new()
            )
            .await
            .is_err()
    );
    assert!(!locks.unlock(&stage.place, "another").await.unwrap());
    assert!(locks.unlock(&stage.place, &id).await.unwrap());
    let lock = locks
        .acquire(
            &stage.place,
            &purpose(),
            Before::Perhaps,
            CancellationToken::new(),
        )
        .await
        .unwrap();
    lock.release().await.unwrap();
    stage.terraform(&["plan", "-input=false"]).await.succeeded();
}
