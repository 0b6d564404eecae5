//! Nobody unknown gets further than the health endpoints.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header::AUTHORIZATION};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use super::{certs::Token, identity::Identity};
use crate::status::ApiError;

/// Who the certificate of this connection's client names, if it has shown one.
///
/// The [`listener`](super::listener) puts it into the extensions of every request.
#[derive(Clone, Debug, Default)]
pub struct ClientCertificate(pub Option<Arc<Identity>>);

/// Cancelled once a request of this connection came from somebody known, who may keep the connection.
///
/// The [`listener`](super::listener) puts it into the extensions of every request.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(pub(super) CancellationToken);

/// Tells who a request comes from.
#[derive(Debug)]
pub struct Authenticator {
    token_digest: [u8; 32],
    token_identity: Arc<Identity>,
}

impl Authenticator {
    /// Knows clients by their certificates, and whoever shows `token` as `identity`.
    pub fn new(token: &Token, identity: Identity) -> Self {
        Self {
            token_digest: digest(token.reveal()),
            token_identity: Arc::new(identity),
        }
    }

    /// The identity behind a request. A certificate counts before a token, as in Kubernetes.
    fn identify(&self, request: &Request) -> Option<Arc<Identity>> {
        if let Some(ClientCertificate(Some(identity))) = request.extensions().get() {
            return Some(identity.clone());
        }
        // Digests have the same length whatever is shown, so the time taken tells nothing about the token.
        let shown = digest(bearer_token(request.headers())?);
        bool::from(shown.ct_eq(&self.token_digest)).then(|| self.token_identity.clone())
    }
}

/// The middleware: adds an [`Identity`] to the request's extensions, or answers 401 itself.
pub async fn authenticate(
    State(authenticator): State<Arc<Authenticator>>,
    mut request: Request,
    next: Next,
) -> Response {
    match authenticator.identify(&request) {
        Some(identity) => {
            if let Some(Known(known)) = request.extensions().get() {
                known.cancel();
            }
            request.extensions_mut().insert(Identity::clone(&identity));
            next.run(request).await
        }
        None if is_health_check(request.uri().path()) => next.run(request).await,
        None => ApiError::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized").into_response(),
    }
}

fn is_health_check(path: &str) -> bool {
    ["/healthz", "/livez", "/readyz"].iter().any(|endpoint| {
        path.strip_prefix(endpoint)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use axum::{Extension, Router, body::Body, middleware};
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    /// Answers with the name of whoever asks.
    fn router(token: &str) -> Router {
        let identity = Identity::authenticated("token-user", ["ops".to_owned()]);
        let authenticator = Arc::new(Authenticator::new(&Token::for_test(token), identity));
        Router::new()
            .fallback(|identity: Option<Extension<Identity>>| async move {
                identity.map_or_else(|| "nobody".to_owned(), |Extension(identity)| identity.user)
            })
            .layer(middleware::from_fn_with_state(authenticator, authenticate))
    }

    async fn ask(path: &str, authorization: Option<&str>, certificate: Option<&str>) -> (u16, String) {
        let mut request = Request::builder().uri(path);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let identity = certificate.map(|user| Arc::new(Identity::authenticated(user, [])));
        let request = request
            .extension(ClientCertificate(identity))
            .body(Body::empty())
            .unwrap();
        let response = router("s3cret").oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn only_the_known_get_in() {
        let nobody = (200, "nobody");
        type Case<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<(u16, &'a str)>);
        let cases: [Case<'_>; 19] = [
            ("/api", None, None, None),
            ("/", None, None, None),
            ("/version", None, None, None),
            ("/metrics", None, None, None),
            ("/healthzx", None, None, None),
            ("/api/healthz", None, None, None),
            ("/healthz", None, None, Some(nobody)),
            ("/livez", None, None, Some(nobody)),
            ("/readyz?verbose", None, None, Some(nobody)),
            ("/readyz/ping", None, None, Some(nobody)),
            ("/api", Some("Bearer s3cret"), None, Some((200, "token-user"))),
            ("/api", Some("bearer s3cret"), None, Some((200, "token-user"))),
            ("/api", Some("Bearer s3cre"), None, None),
            ("/api", Some("Bearer s3cretx"), None, None),
            ("/api", Some("Bearer "), None, None),
            ("/api", Some("Bearer"), None, None),
            ("/api", Some("Basic s3cret"), None, None),
            ("/api", None, Some("cert-user"), Some((200, "cert-user"))),
            (
                "/api",
                Some("Bearer wrong"),
                Some("cert-user"),
                Some((200, "cert-user")),
            ),
        ];
        for (path, authorization, certificate, expected) in cases {
            let (code, body) = ask(path, authorization, certificate).await;
            match expected {
                Some(expected) => assert_eq!((code, body.as_str()), expected, "{path} {authorization:?}"),
                None => {
                    assert_eq!(code, 401, "{path} {authorization:?}");
                    let status: serde_json::Value = serde_json::from_str(&body).unwrap();
                    assert_eq!(status["kind"], "Status");
                    assert_eq!(status["reason"], "Unauthorized");
                    assert_eq!(status["code"], 401);
                }
            }
        }
    }
}
