//! Calls to the API that end, and say in words why they failed.

use std::{future::Future, time::Duration};

/// How long one call may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// It took too long.
    #[error("the API did not answer within {} seconds", DEADLINE.as_secs())]
    TooLong,
    /// The API refused it.
    #[error("the API refused: {0}")]
    Refused(String),
    /// The API does not let this person do it.
    #[error("the API refused: {0}")]
    Forbidden(String),
    /// It could not be reached.
    #[error("the API cannot be reached")]
    Unreachable(#[source] Box<kube::Error>),
}

/// Makes a call.
pub(crate) async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match tokio::time::timeout(DEADLINE, call).await {
        Err(_) => Err(CallError::TooLong),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
            Err(CallError::Forbidden(status.message.clone()))
        }
        Ok(Err(kube::Error::Api(status))) => Err(CallError::Refused(status.message.clone())),
        Ok(Err(error)) => Err(CallError::Unreachable(Box::new(error))),
        Ok(Ok(answer)) => Ok(answer),
    }
}

/// Makes a call whose object may not be there, or not even its kind.
pub(crate) async fn call_opt<T>(
    answer: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, CallError> {
    let answer = async {
        match answer.await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            answer => answer.map(Some),
        }
    };
    call(answer).await
}
