//! From an HTTP request to a verb, and back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::FutureExt;
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode, header};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::metrics::RequestLabels;
use crate::registry::{Registry, Resource};
use crate::request::{Form, Query, Target, accepted_form, decode_object, media_type, parse_path, read_body};
use crate::serve::Identity;
use crate::server::Inner;
use crate::status::{ApiError, ApiResult, json_response};
use crate::verbs::{Call, collection, create, delete, get, list, patch, render, update, watch};
use crate::{discovery, openapi, reviews};

/// The Kubernetes version that is reported, which clients compare with their own.
pub(crate) const VERSION: &str = "v1.36.3";
const VERSION_MINOR: &str = "36";
/// Upstream's limit for requests that are no watches.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn router(server: Arc<Inner>) -> Router {
    Router::new().fallback(handle).with_state(server)
}

async fn handle(State(server): State<Arc<Inner>>, request: Request<Body>) -> Response {
    let started = Instant::now();
    let mut labels = RequestLabels {
        verb: "other",
        resource: String::new(),
        code: 500,
    };
    let answered = timeout(REQUEST_TIMEOUT, answer(&server, request, &mut labels));
    // A panic is a defect of ours, never the client's: it must not take the connection, or the server, with it.
    let response = match AssertUnwindSafe(answered).catch_unwind().await {
        Ok(Ok(Ok(response))) => response,
        Ok(Ok(Err(error))) => error.into_response(),
        Ok(Err(_elapsed)) => ApiError::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        )
        .into_response(),
        Err(_panic) => {
            tracing::error!(
                verb = labels.verb,
                resource = labels.resource,
                "a request handler panicked"
            );
            ApiError::internal("this is a defect of the server; its log has the details").into_response()
        }
    };
    labels.code = response.status().as_u16();
    let duration = (labels.verb != "watch").then(|| started.elapsed());
    server.metrics.observe(&labels, duration);
    response
}

async fn answer(
    server: &Arc<Inner>,
    request: Request<Body>,
    labels: &mut RequestLabels,
) -> ApiResult<Response> {
    if let Some(name) = request
        .headers()
        .keys()
        .find(|name| name.as_str().starts_with("impersonate-"))
    {
        // Acting as somebody else is not offered; acting as oneself instead would be a lie.
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "Forbidden",
            format!("impersonation is not supported here: send no {name} header"),
        ));
    }
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let registry = server.registry();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match parts.as_slice() {
        [""] => return Ok(paths()),
        [check @ ("healthz" | "livez" | "readyz")] => {
            return Ok(health(server, check, request.uri().query()));
        }
        ["healthz" | "livez" | "readyz", "ping" | "store"] => return Ok(health(server, "healthz", None)),
        ["version"] | ["apis", _] if !reads => return Err(ApiError::method_not_allowed()),
        ["version"] => return Ok(version()),
        ["metrics"] => return Ok(metrics(server)),
        ["api"] => return Ok(discovery::core(&registry, request.headers())),
        ["apis"] => return Ok(discovery::groups(&registry, request.headers())),
        ["apis", group] => {
            return discovery::group(&registry, group).ok_or_else(ApiError::no_such_path);
        }
        ["openapi", "v2"] => {
            return openapi::second(request.headers());
        }
        ["openapi", "v3"] => return Ok(server.openapi.index(&registry)),
        ["openapi", "v3", "api", version] => {
            let found = server.openapi.document(&registry, "", version);
            return Ok(found.unwrap_or_else(not_found));
        }
        ["openapi", "v3", "apis", group, version] => {
            let found = server.openapi.document(&registry, group, version);
            return Ok(found.unwrap_or_else(not_found));
        }
        _ => {}
    }
    let Some(target) = parse_path(&path) else {
        return Ok(not_found_page());
    };
    if target.plural.is_empty() {
        if !reads {
            return Err(ApiError::method_not_allowed());
        }
        let found = discovery::version(&registry, &target.group, &target.version);
        return found.map_or_else(|| not_served(&registry, &target), Ok);
    }
    if target.legacy_watch && !reads {
        return Err(ApiError::method_not_allowed());
    }
    let (parts, body) = request.into_parts();
    let body = if reads {
        Bytes::new()
    } else {
        read_body(body).await?
    };
    if reviews::is_review(&target.group, &target.version, &target.plural) {
        (labels.verb, labels.resource) = ("create", target.plural.clone());
        return review(&parts, &body, &target);
    }
    // What is served may have changed while the body came in.
    let registry = server.registry();
    let served = registry
        .get(&target.group, &target.version, &target.plural)
        .cloned();
    let Some(resource) = served else {
        return not_served(&registry, &target);
    };
    if !resource.namespaced && !target.namespace.is_empty() {
        return match resource.custom() {
            Some(_) => Ok(not_found_page()),
            None => Err(ApiError::no_such_path()),
        };
    }
    if let Some(name) = [&target.name, &target.namespace]
        .into_iter()
        .find(|part| matches!(part.as_str(), "." | ".."))
    {
        return Err(ApiError::bad_request(format!(
            "Name parameter invalid: {name:?}: may not be '{name}'"
        )));
    }
    labels.resource = resource.id.to_string();
    let mut query = Query::parse(&parts.method, parts.uri.query().unwrap_or_default())?;
    query.watch |= target.legacy_watch;
    let form = accepted_form(&parts.headers)?;
    if let Form::Table(_) = form {
        query.check_table()?;
    }
    let call = Call {
        server: server.clone(),
        form,
        user_agent: header_text(&parts.headers, &header::USER_AGENT),
        media_type: media_type(&parts.headers).to_owned(),
        resource,
        target,
        query,
    };
    let deprecation = call.deprecation().to_vec();
    check_subresource(&call)?;
    perform(call, &parts.method, &body, labels)
        .await
        .map_err(|error| error.warned(deprecation))
}

/// A built-in group answers for what it has not; for others there is no one to answer.
fn not_served(registry: &Registry, target: &Target) -> ApiResult<Response> {
    let is_builtin = |resource: &Arc<Resource>| resource.group == target.group && resource.custom().is_none();
    if registry.all().any(is_builtin) {
        return Err(ApiError::no_such_path());
    }
    Ok(not_found_page())
}

fn check_subresource(call: &Call) -> ApiResult<()> {
    match call.target.subresource.as_str() {
        "" => Ok(()),
        "status" if call.resource.has_status => Ok(()),
        "finalize" if call.resource.quirk == crate::registry::Quirk::Namespace => Ok(()),
        _ if call.resource.custom().is_some() => {
            Err(ApiError::not_found(call.resource.subject(&call.target.name)))
        }
        _ => Err(ApiError::no_such_path()),
    }
}

async fn perform(
    call: Call,
    method: &Method,
    body: &Bytes,
    labels: &mut RequestLabels,
) -> ApiResult<Response> {
    let is_object = !call.target.name.is_empty();
    let has_subresource = !call.target.subresource.is_empty();
    if !is_object && call.resource.namespaced && call.target.namespace.is_empty() && *method != Method::GET {
        return Err(ApiError::method_not_allowed());
    }
    if is_object && call.resource.namespaced == call.target.namespace.is_empty() {
        return Err(ApiError::no_such_path());
    }
    let mut name = |verb: &'static str| labels.verb = verb;
    match (method, is_object) {
        (&Method::GET, _) if call.query.watch && (!is_object || call.target.legacy_watch) => {
            name("watch");
            watch::watch(call)
        }
        (&Method::GET, true) => {
            name("get");
            Ok(render::outcome(&call, &get::get(&call)?))
        }
        (&Method::GET, false) => {
            name("list");
            Ok(render::page(&call, &list::list(&call)?))
        }
        (&Method::POST, false) => {
            name("create");
            Ok(render::outcome(&call, &create::create(&call, body).await?))
        }
        (&Method::PUT, true) => {
            name("update");
            Ok(render::outcome(&call, &update::replace(&call, body).await?))
        }
        (&Method::PATCH, true) => {
            name("patch");
            Ok(render::outcome(&call, &patch::patch(&call, body).await?))
        }
        (&Method::DELETE, true) if !has_subresource => {
            name("delete");
            Ok(render::outcome(&call, &delete::delete(&call, body).await?))
        }
        (&Method::DELETE, false) if call.resource.quirk.deletes_collections() => {
            name("deletecollection");
            let page = collection::delete_collection(&call, body).await?;
            Ok(render::page(&call, &page))
        }
        _ if has_subresource && call.resource.custom().is_some() => {
            let verb = if *method == Method::POST {
                "create"
            } else {
                "delete"
            };
            Err(ApiError::not_supported(
                call.resource.subject(&call.target.name),
                verb,
            ))
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn review(parts: &Parts, body: &[u8], target: &Target) -> ApiResult<Response> {
    if parts.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let identity = parts.extensions.get::<Identity>().cloned().unwrap_or_default();
    let (document, _) = decode_object("review", false, media_type(&parts.headers), body)?;
    let answer = reviews::answer(&target.plural, &target.namespace, document, &identity)?;
    if accepted_form(&parts.headers)? != Form::Full {
        return Err(ApiError::not_acceptable(&["application/json"]));
    }
    Ok(json_response(StatusCode::CREATED, answer.to_string()))
}

fn header_text(headers: &http::HeaderMap, name: &header::HeaderName) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn plain(code: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// 404 and nothing more.
fn not_found() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// What upstream answers for paths that nothing serves: not a `Status`.
fn not_found_page() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// The server lives as long as it answers; it is ready as long as it can keep writes.
fn health(server: &Inner, check: &str, query: Option<&str>) -> Response {
    let verbose = query.is_some_and(|query| query.split('&').any(|part| part.starts_with("verbose")));
    let failed = server.store.has_failed();
    let code = if failed {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::OK
    };
    let text = match (failed, verbose) {
        (false, false) => "ok".to_owned(),
        (false, true) => format!("[+]ping ok\n[+]store ok\n{check} check passed\n"),
        (true, _) => {
            format!("[+]ping ok\n[-]store failed: writes can no longer be kept\n{check} check failed\n")
        }
    };
    plain(code, text)
}

fn version() -> Response {
    let body = json!({
        "major": "1",
        "minor": VERSION_MINOR,
        "gitVersion": format!("{VERSION}+apiary"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    json_response(StatusCode::OK, body.to_string())
}

fn metrics(server: &Inner) -> Response {
    let mut response = plain(StatusCode::OK, server.metrics.text(&server.store.visible()));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
    );
    response
}

fn paths() -> Response {
    let body = json!({"paths": ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"]});
    json_response(StatusCode::OK, body.to_string())
}
