//! What one request may cost, and how it ends when the server does.

use std::{panic::AssertUnwindSafe, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::{FutureExt, StreamExt};
use http::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::status::ApiError;

/// Bounds on what clients may use up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// How long a client may take to finish the TLS handshake.
    pub handshake: Duration,
    /// How long an HTTP/1 connection may wait for the next request's head. Longer than clients keep idle
    /// connections, so that it is they who close them and none is closed under a request.
    pub header: Duration,
    /// How long a request may take to be answered; watches may take as long as they like.
    pub request: Duration,
    /// How long requests under way may go on after the server was told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(120),
            request: Duration::from_secs(60),
            grace: Duration::from_secs(10),
        }
    }
}

/// What [`guard`] needs to know.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) time_limit: Duration,
    /// Cancelled when the server is told to stop.
    pub(super) stopping: CancellationToken,
}

/// The middleware: bounds the time to an answer, turns a panic into an answer, and ends watches, which
/// would otherwise never end, when the server stops.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let watch = is_watch(request.uri().query());
    let description = format!("{} {}", request.method(), request.uri().path());
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    let answer = if watch {
        Ok(answer.await)
    } else {
        tokio::time::timeout(guard.time_limit, answer).await
    };
    match answer {
        Ok(Ok(response)) if watch => until(response, guard.stopping),
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => {
            tracing::error!(request = description, "a request panicked");
            let message = "the server failed at this request; its log says more";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message).into_response()
        }
        Err(_elapsed) => {
            tracing::warn!(request = description, "a request took too long");
            let message = "Timeout: request did not complete within the allotted timeout";
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).into_response()
        }
    }
}

/// Ends the response's body, as if it were complete, once `stopping` is cancelled.
fn until(response: Response, stopping: CancellationToken) -> Response {
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(stopping.cancelled_owned())))
}

/// Whether a query asks for a watch, by the rule of Kubernetes: anything but `0` and `false` is true.
fn is_watch(query: Option<&str>) -> bool {
    query
        .unwrap_or_default()
        .split('&')
        .any(|pair| match pair.split_once('=') {
            Some(("watch", value)) => value != "0" && !value.eq_ignore_ascii_case("false"),
            _ => pair == "watch",
        })
}

#[cfg(test)]
mod tests {
    use axum::{Router, middleware, routing::get};
    use bytes::Bytes;
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn endless() -> Body {
        let first = futures::stream::once(async { Ok::<_, std::io::Error>(Bytes::from("event\n")) });
        Body::from_stream(first.chain(futures::stream::pending()))
    }

    fn router(stopping: &CancellationToken) -> Router {
        let guarded = Guard {
            time_limit: Duration::from_secs(60),
            stopping: stopping.clone(),
        };
        Router::new()
            .route("/hang", get(std::future::pending::<()>))
            .route(
                "/panic",
                get(|| async { assert!(std::env::args().count() == usize::MAX) }),
            )
            .route("/fine", get(|| async { "fine" }))
            .route("/events", get(endless))
            .layer(middleware::from_fn_with_state(guarded, guard))
    }

    async fn ask(uri: &str) -> (u16, String) {
        let request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        let response = router(&CancellationToken::new()).oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_answered_in_time_whatever_the_handler_does() {
        assert_eq!(ask("/fine").await, (200, "fine".to_owned()));
        for (uri, expected_code, expected_reason) in
            [("/hang", 504, "Timeout"), ("/panic", 500, "InternalError")]
        {
            let (code, body) = ask(uri).await;
            let status: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(
                (code, status["reason"].as_str()),
                (expected_code, Some(expected_reason)),
                "{uri}"
            );
        }
    }

    #[tokio::test]
    async fn a_watch_ends_cleanly_when_the_server_stops() {
        let stopping = CancellationToken::new();
        let request = Request::builder()
            .uri("/events?watch=1")
            .body(Body::empty())
            .unwrap();
        let mut body = router(&stopping).oneshot(request).await.unwrap().into_body();
        assert_eq!(
            body.frame().await.unwrap().unwrap().into_data().unwrap(),
            "event\n"
        );
        stopping.cancel();
        assert!(body.frame().await.is_none());
    }

    #[test]
    fn a_watch_is_known_by_its_query() {
        let cases = [
            (None, false),
            (Some(""), false),
            (Some("limit=500"), false),
            (Some("watch=0"), false),
            (Some("watch=False"), false),
            (Some("watchful=1"), false),
            (Some("watch"), true),
            (Some("watch=1"), true),
            (Some("limit=500&watch=true"), true),
        ];
        for (query, expected) in cases {
            assert_eq!(is_watch(query), expected, "{query:?}");
        }
    }
}
