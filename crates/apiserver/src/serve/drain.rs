//! How answers without an end come to one.

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

/// The middleware: a watch, known by having no length, ends as if it were complete once `stopping` is
/// cancelled. Clients see an ordinary end and watch again from where they are.
pub(super) async fn drain(
    State(stopping): State<CancellationToken>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(stopping.cancelled_owned())))
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

    #[tokio::test]
    async fn only_what_has_no_length_is_ended() {
        let stopping = CancellationToken::new();
        let router = Router::new()
            .route("/events", get(endless))
            .route("/object", get(|| async { "whole" }))
            .layer(middleware::from_fn_with_state(stopping.clone(), drain));
        let ask = |uri| {
            router
                .clone()
                .oneshot(Request::builder().uri(uri).body(Body::empty()).unwrap())
        };

        let mut events = ask("/events").await.unwrap().into_body();
        let object = ask("/object").await.unwrap().into_body();
        assert_eq!(
            events.frame().await.unwrap().unwrap().into_data().unwrap(),
            "event\n"
        );
        stopping.cancel();
        assert!(events.frame().await.is_none());
        assert_eq!(object.collect().await.unwrap().to_bytes(), "whole");
    }
}
