//! How an error reaches a person: what happened, why, and what to do about it.

use std::fmt::Write;

use apiary::serve::{kubeconfig::KubeconfigError, listener::ListenError, lock::LockError};

use crate::{access::NoCluster, cmd::up::WritesNotKept, objects::CallError};

/// The text for stderr: the error, its causes, and advice where there is any.
pub(crate) fn render(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  caused by: {cause}");
    }
    if let Some(advice) = advice(error) {
        let _ = writeln!(text, "help: {advice}");
    }
    text
}

fn advice(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(ListenError::Taken(_)) = error.downcast_ref() {
        return Some("stop that program, or choose another port: `--listen 127.0.0.1:0` takes any free one");
    }
    if let Some(LockError::Taken { .. }) = error.downcast_ref() {
        return Some(
            "stop that process, or choose another directory with `--data-dir` or, for `capt runner`, `--work-dir`",
        );
    }
    if let Some(WritesNotKept { .. }) = error.downcast_ref() {
        return Some("see to the disk, most likely by freeing space on it, and start again");
    }
    if let Some(NoCluster { .. }) = error.downcast_ref() {
        return Some("start one with `capt up`, or name a kubeconfig with `--kubeconfig`");
    }
    let mut causes = error.chain();
    if causes.any(|cause| matches!(cause.downcast_ref(), Some(CallError::Unreachable(_)))) {
        return Some(
            "see that the server runs, as `capt up` starts one, or name another one with `--kubeconfig` or `--context`",
        );
    }
    match error.downcast_ref()? {
        KubeconfigError::Foreign { .. } | KubeconfigError::NotAKubeconfig { .. } => {
            Some("choose another file with `--kubeconfig`")
        }
        KubeconfigError::Io { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context;

    use super::*;

    #[test]
    fn a_disk_that_takes_no_more_is_told_with_what_is_safe_and_what_to_do() {
        let full = WritesNotKept {
            place: "/data".into(),
        };
        assert_eq!(
            render(&full.into()),
            "error: objects can no longer be saved in /data; every write that was acknowledged is there\n\
             help: see to the disk, most likely by freeing space on it, and start again\n"
        );
    }

    #[test]
    fn an_error_is_told_with_its_causes_and_what_to_do() {
        let plain = anyhow::Error::from(io::Error::other("the disk is full")).context("cannot save");
        assert_eq!(
            render(&plain),
            "error: cannot save\n  caused by: the disk is full\n"
        );

        let taken: anyhow::Result<()> = Err(ListenError::Taken("127.0.0.1:80".parse().unwrap()).into());
        assert_eq!(
            render(&taken.context("cannot start").unwrap_err()),
            "error: cannot start\n  caused by: port 80 on 127.0.0.1 is taken by another program\n\
             help: stop that program, or choose another port: `--listen 127.0.0.1:0` takes any free one\n"
        );
    }
}
