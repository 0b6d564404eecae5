//! Calls to the API, each with a deadline.

use std::{error::Error as StdError, time::Duration};

use kube::core::{Status, response::StatusCause};
use tokio::time::{Instant, sleep, timeout};

/// How long one call may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
/// The wait before the second try; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It took too long.
    #[error("the API did not answer within {} seconds", DEADLINE.as_secs())]
    Deadline,
    /// It failed or was refused.
    #[error("the call failed")]
    Failed(#[source] Box<kube::Error>),
}

impl CallError {
    /// The object is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    /// Somebody else changed the object first.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status()
            .is_some_and(|status| status.code == 409 && status.reason != "AlreadyExists")
    }

    /// The server understood it, and takes it from nobody.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status()
            .is_some_and(|status| matches!(status.code, 400 | 413 | 422))
    }

    /// There is such an object already.
    #[must_use]
    pub fn is_already_there(&self) -> bool {
        self.status()
            .is_some_and(|status| status.reason == "AlreadyExists")
    }

    /// We may not do this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status()
            .is_some_and(|status| matches!(status.code, 401 | 403))
    }

    /// Nothing can be made any more in a namespace that is being deleted.
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        let is_cause = |cause: &StatusCause| cause.reason == "NamespaceTerminating";
        self.is_forbidden()
            && self.status().is_some_and(|status| {
                let details = status.details.as_ref();
                details.is_some_and(|details| details.causes.iter().any(is_cause))
                    || status.message.contains("because it is being terminated")
            })
    }

    /// The same may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Deadline => true,
            Self::Failed(_) => self
                .status()
                .is_none_or(|status| status.code == 429 || status.code >= 500),
        }
    }

    fn status(&self) -> Option<&Status> {
        match self {
            Self::Failed(error) => match error.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::Deadline => None,
        }
    }
}

/// Makes one call.
pub(crate) async fn call<T>(calling: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match timeout(DEADLINE, calling).await {
        Ok(answer) => answer.map_err(|error| CallError::Failed(Box::new(error))),
        Err(_) => Err(CallError::Deadline),
    }
}

/// Makes a call again and again while it fails for reasons that pass, until it succeeds or `patience` is over.
pub(crate) async fn patiently<T, F>(patience: Duration, calling: impl Fn() -> F) -> Result<T, CallError>
where
    F: Future<Output = kube::Result<T>>,
{
    let started = Instant::now();
    let mut wait = FIRST_WAIT;
    loop {
        match call(calling()).await {
            Err(error) if error.is_transient() && started.elapsed() + wait < patience => {
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            answer => return answer,
        }
    }
}

/// An error and everything behind it, in one line.
pub(crate) fn words(error: &dyn StdError) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        words.push_str(": ");
        // The client prints an answer of the API three times over; its own words are enough.
        let boxed = source.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
        if let Some(kube::Error::Api(status)) = source.downcast_ref::<kube::Error>().or(boxed) {
            words.push_str(&status.message);
            break;
        }
        words.push_str(&source.to_string());
        next = source.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_api_is_told_once() {
        let status = Status::failure("namespace gone is being terminated", "Forbidden");
        let error = CallError::Failed(Box::new(kube::Error::Api(Box::new(status))));
        assert_eq!(
            words(&error),
            "the call failed: namespace gone is being terminated"
        );
    }

    #[test]
    fn a_namespace_that_goes_is_told_from_other_refusals() {
        let refused = |message: &str, code: u16, cause: &str| {
            let status = serde_json::json!({
                "status": "Failure", "message": message, "reason": "Forbidden", "code": code,
                "details": {"causes": [{"reason": cause, "message": "", "field": ""}]},
            });
            let status: Status = serde_json::from_value(status).expect("a status");
            CallError::Failed(Box::new(kube::Error::Api(Box::new(status)))).is_namespace_terminating()
        };
        let words = "unable to create new content in namespace x because it is being terminated";
        assert!(refused("no", 403, "NamespaceTerminating"));
        assert!(refused(words, 403, ""));
        assert!(!refused("no", 403, ""));
        assert!(!refused("no", 409, "NamespaceTerminating"));
    }
}
