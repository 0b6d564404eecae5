//! Calls of the API, each with a deadline.

use std::time::Duration;

use tokio::time::timeout;

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// Why a call came to nothing. What the API says in words may repeat what it was sent, and that may be secret: only the
/// names of fields are told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// No answer came in time.
    #[error("the API did not answer within {} seconds", DEADLINE.as_secs())]
    Deadline,
    /// The API refused.
    #[error("the API answered {code} {reason}{}", about(fields))]
    Refused {
        /// HTTP status.
        code: u16,
        /// One word why.
        reason: String,
        /// The fields that it is about.
        fields: Vec<String>,
    },
    /// There was no answer that could be read.
    #[error("the API could not be reached")]
    Unreachable(#[source] Box<kube::Error>),
}

fn about(fields: &[String]) -> String {
    match fields {
        [] => String::new(),
        fields => format!(" about {}", fields.join(", ")),
    }
}

impl CallError {
    /// Something is not what the caller thought.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// There is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// The same request would be refused again. Not so where the server had no time for it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { code: 400..=499, .. }) && !self.is_haste()
    }

    /// The server had no time.
    fn is_haste(&self) -> bool {
        matches!(self, Self::Refused { code: 408 | 429, .. })
    }

    /// Another way of asking for the same may be answered otherwise: something is there, the server does not know the
    /// way, or it does not take the document.
    pub(crate) fn is_about_the_way(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                code: 404 | 405 | 409 | 415 | 422,
                ..
            }
        )
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                Self::Refused {
                    code: status.code,
                    reason: status.reason.clone(),
                    fields: causes.map(|cause| cause.field.clone()).collect(),
                }
            }
            other => Self::Unreachable(Box::new(other)),
        }
    }
}

impl From<serde_json::Error> for CallError {
    fn from(error: serde_json::Error) -> Self {
        kube::Error::SerdeError(error).into()
    }
}

/// Makes a call, but waits for its answer only so long.
pub(crate) async fn within_deadline<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match timeout(DEADLINE, call).await {
        Ok(answer) => answer.map_err(CallError::from),
        Err(_) => Err(CallError::Deadline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_a_hurry_refuses_nothing() {
        for (code, is_refusal, is_about_the_way) in [
            (400, true, false),
            (403, true, false),
            (404, true, true),
            (405, true, true),
            (408, false, false),
            (409, true, true),
            (415, true, true),
            (422, true, true),
            (429, false, false),
            (500, false, false),
            (503, false, false),
        ] {
            let error = CallError::Refused {
                code,
                reason: String::new(),
                fields: Vec::new(),
            };
            assert_eq!(error.is_refusal(), is_refusal, "{code}");
            assert_eq!(error.is_about_the_way(), is_about_the_way, "{code}");
        }
    }
}
