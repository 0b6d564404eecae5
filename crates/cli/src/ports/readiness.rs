//! Whether the process can do its work.

use super::{Arc, IntoResponse, Router, StatusCode, get, text};

type Why = dyn Fn() -> Option<String> + Send + Sync;

/// Tells why the process cannot do its work yet, if it cannot.
#[derive(Clone)]
pub(crate) struct Readiness(Arc<Why>);

impl Readiness {
    /// Asks this each time.
    pub(crate) fn new(why_not: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(why_not))
    }
}

/// `/healthz` says that the process answers; `/readyz` that it can do its work.
pub(super) fn routes(readiness: &Readiness) -> Router {
    let readiness = readiness.clone();
    Router::new()
        .route("/healthz", get(async || text(StatusCode::OK, "ok\n".to_owned())))
        .route("/readyz", get(async move || answer(readiness.0())))
}

fn answer(why_not: Option<String>) -> impl IntoResponse {
    match why_not {
        None => text(StatusCode::OK, "ok\n".to_owned()),
        Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
    }
}
