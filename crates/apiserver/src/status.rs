//! Answers that are no objects: Kubernetes' `Status`, for refusals and for deletions.
//!
//! Clients branch on `reason`, people read `message`; both follow upstream's words.

use apiary_semantics::FieldError;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Map, Value, json};

/// A refusal, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// HTTP status.
    pub code: u16,
    /// Machine-readable reason (`NotFound`, `Conflict`, …); empty where upstream has none.
    pub reason: &'static str,
    /// What a person reads.
    pub message: String,
    /// Name, kind, causes; `Null` if there is nothing to say.
    pub details: Value,
    /// What the client should know besides, each in a header of its own.
    pub warnings: Vec<String>,
}

/// The result of handling a request.
pub type ApiResult<T> = Result<T, Box<ApiError>>;

/// What an error is about: the resource and the name in it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// `""` for the core group.
    pub group: &'a str,
    /// Upstream puts the plural into `details.kind` for most errors.
    pub resource: &'a str,
    /// `Kind`, which validation errors name instead.
    pub kind: &'a str,
    /// The object's name, may be empty.
    pub name: &'a str,
}

impl Subject<'_> {
    /// `captclusters.infrastructure.cluster.x-k8s.io` or `configmaps`.
    fn qualified(&self) -> String {
        qualified(self.resource, self.group)
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        let mut put = |key: &str, value: &str| {
            if !value.is_empty() {
                details.insert(key.to_owned(), Value::from(value));
            }
        };
        put("name", self.name);
        put("group", self.group);
        put("kind", self.resource);
        details
    }
}

/// `plural.group`, or the plural alone in the core group.
#[must_use]
pub fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

impl ApiError {
    /// Any error from its parts.
    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code: code.as_u16(),
            reason,
            message: message.into(),
            details: Value::Null,
            warnings: Vec::new(),
        })
    }

    fn about(
        code: StatusCode,
        reason: &'static str,
        message: String,
        details: Map<String, Value>,
    ) -> Box<Self> {
        Box::new(Self {
            code: code.as_u16(),
            reason,
            message,
            details: Value::Object(details),
            warnings: Vec::new(),
        })
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 404: no such object.
    pub fn not_found(subject: Subject<'_>) -> Box<Self> {
        let message = format!("{} \"{}\" not found", subject.qualified(), subject.name);
        Self::about(StatusCode::NOT_FOUND, "NotFound", message, subject.details())
    }

    /// 404: no such path.
    pub fn no_such_path() -> Box<Self> {
        let mut error = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        );
        error.details = json!({});
        error
    }

    /// 409: the name is taken.
    pub fn already_exists(subject: Subject<'_>) -> Box<Self> {
        let message = format!("{} \"{}\" already exists", subject.qualified(), subject.name);
        Self::about(StatusCode::CONFLICT, "AlreadyExists", message, subject.details())
    }

    /// 409: somebody else was faster, or a precondition failed.
    pub fn conflict(subject: Subject<'_>, why: &str) -> Box<Self> {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{}\": {why}",
            subject.qualified(),
            subject.name
        );
        Self::about(StatusCode::CONFLICT, "Conflict", message, subject.details())
    }

    /// 409 of an update whose `resourceVersion` is not the current one.
    pub fn modified(subject: Subject<'_>) -> Box<Self> {
        Self::conflict(
            subject,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 403.
    pub fn forbidden(subject: Subject<'_>, why: &str) -> Box<Self> {
        let message = format!("{} \"{}\" is forbidden: {why}", subject.qualified(), subject.name);
        Self::about(StatusCode::FORBIDDEN, "Forbidden", message, subject.details())
    }

    /// 422: the document breaks rules. `details.kind` is the kind here, as upstream has it.
    pub fn invalid(subject: Subject<'_>, errors: &[FieldError]) -> Box<Self> {
        let listed = match errors {
            [] => String::new(),
            [one] => one.to_string(),
            many => {
                let mut texts: Vec<String> = Vec::new();
                for error in many {
                    let text = error.to_string();
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                if let [one] = texts.as_slice() {
                    one.clone()
                } else {
                    format!("[{}]", texts.join(", "))
                }
            }
        };
        let kind = qualified(subject.kind, subject.group);
        let message = format!("{kind} \"{}\" is invalid: {listed}", subject.name);
        let mut details = subject.details();
        if !subject.kind.is_empty() {
            details.insert("kind".to_owned(), Value::from(subject.kind));
        }
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| {
                let mut cause = Map::new();
                cause.insert("reason".to_owned(), Value::from(error.kind.cause_reason()));
                cause.insert("message".to_owned(), Value::from(error.body()));
                let field = if error.field.is_empty() {
                    "<nil>"
                } else {
                    error.field.as_str()
                };
                cause.insert("field".to_owned(), Value::from(field));
                Value::Object(cause)
            })
            .collect();
        details.insert("causes".to_owned(), Value::Array(causes));
        Self::about(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message, details)
    }

    /// 405.
    pub fn method_not_allowed() -> Box<Self> {
        let mut error = Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = json!({});
        error
    }

    /// 405 of a verb that a custom resource's subresource does not have.
    pub fn not_supported(subject: Subject<'_>, verb: &str) -> Box<Self> {
        let message = format!(
            "{verb} is not supported on resources of kind \"{}\"",
            subject.qualified()
        );
        let mut details = subject.details();
        details.remove("name");
        Self::about(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            message,
            details,
        )
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Box<Self> {
        Self::about(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message.into(),
            Map::new(),
        )
    }

    /// 500 without a reason: what upstream answers with where it did not think of the case.
    pub fn unthought_of(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// 422 about a patch, which names no kind.
    pub fn invalid_patch(patched: &Value, why: impl Into<String>) -> Box<Self> {
        let nameless = Subject {
            group: "",
            resource: "",
            kind: "",
            name: "",
        };
        let error = FieldError::invalid("patch", Value::from(patched.to_string()), why);
        Self::invalid(nameless, &[error])
    }

    /// 406.
    pub fn not_acceptable(available: &[&str]) -> Box<Self> {
        let message = format!(
            "406: Not Acceptable\n\nAvailable representations: {}",
            available.join(", ")
        );
        Self::about(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message, Map::new())
    }

    /// 406 about an object in a form that there is not.
    pub fn no_such_form(available: &[&str]) -> Box<Self> {
        let available = available.join(", ");
        let message = format!("only the following media types are accepted: {available}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// 410: the asked-for revision is no longer kept.
    pub fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 504 of a read that wants a revision from the future.
    pub fn revision_too_large(wanted: u64, current: u64) -> Box<Self> {
        let mut error = Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Too large resource version: {wanted}, current: {current}"),
        );
        error.details = json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        });
        error
    }

    /// 500.
    pub fn internal(message: impl std::fmt::Display) -> Box<Self> {
        let mut error = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        );
        error.details = json!({"causes": [{"message": message.to_string()}]});
        error
    }

    /// The same with more to tell.
    #[must_use]
    pub fn warned(mut self: Box<Self>, warnings: impl IntoIterator<Item = String>) -> Box<Self> {
        self.warnings.extend(warnings);
        self
    }

    /// The `Status` object.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = Value::from(self.reason);
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

impl IntoResponse for Box<ApiError> {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json_response(code, self.status().to_string());
        if let Some(seconds) = self.details.get("retryAfterSeconds").and_then(Value::as_u64) {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
        }
        add_warnings(&mut response, &self.warnings);
        response
    }
}

/// Tells the client what it should know besides the answer.
pub(crate) fn add_warnings(response: &mut Response, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        let safe: String = quoted.chars().filter(|c| !c.is_control()).collect();
        if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"{safe}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// The `Status` that answers a completed deletion.
#[must_use]
pub fn deleted(subject: Subject<'_>, uid: &str) -> Value {
    let mut details = subject.details();
    details.insert("uid".to_owned(), Value::from(uid));
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}

/// A JSON answer.
pub(crate) fn json_response(code: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    response
}
