//! Query parameters of the resource API.

use std::time::Duration;

use apiary_semantics::selector::{FieldSelector, LabelSelector};
use apiary_semantics::{FieldError, FieldErrorKind, naming};
use http::Method;
use serde_json::json;

use crate::status::{ApiError, ApiResult, Subject};

/// What to do about unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so in a header.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// How `resourceVersion` of a list is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMatch {
    /// That state and no other.
    Exact,
    /// That state or a newer one.
    NotOlderThan,
}

/// All parameters, parsed.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// A stream of changes instead of a list.
    pub watch: bool,
    /// Labels to match.
    pub labels: LabelSelector,
    /// Fields to match.
    pub fields: FieldSelector,
    /// At most this many items; 0 for all.
    pub limit: usize,
    /// Where a limited list goes on.
    pub continue_token: String,
    /// As given; empty if absent.
    pub resource_version: String,
    /// How it is meant.
    pub version_match: Option<VersionMatch>,
    /// A watch that starts with what is there.
    pub send_initial_events: Option<bool>,
    /// Whether the client understands bookmarks.
    pub bookmarks: bool,
    /// When a watch ends by itself.
    pub timeout: Option<Duration>,
    /// Do everything but the write.
    pub dry_run: bool,
    /// Who writes.
    pub field_manager: String,
    /// About unknown fields.
    pub field_validation: FieldValidation,
    /// Take over fields of other appliers.
    pub force: Option<bool>,
    /// `None`, `Metadata` or `Object`: what a table's rows carry.
    pub include_object: String,
    /// Delete options given as parameters.
    pub propagation_policy: Option<String>,
    /// Delete options given as parameters.
    pub orphan_dependents: Option<bool>,
}

impl Query {
    /// Reads a query string.
    pub fn parse(method: &Method, text: &str) -> ApiResult<Self> {
        let kind = options_kind(method);
        let mut query = Self::default();
        for (key, value) in form_urlencoded::parse(text.as_bytes()) {
            let value = value.as_ref();
            match key.as_ref() {
                "watch" => query.watch = truthy(value),
                "labelSelector" => {
                    query.labels = LabelSelector::parse(value).map_err(ApiError::bad_request)?;
                }
                "fieldSelector" => {
                    query.fields = FieldSelector::parse(value).map_err(ApiError::bad_request)?;
                }
                "limit" => {
                    query.limit = usize::try_from(number(value)?).unwrap_or(0);
                }
                "continue" => query.continue_token = value.to_owned(),
                "resourceVersion" => query.resource_version = value.to_owned(),
                "resourceVersionMatch" => query.version_match = version_match(value)?,
                "sendInitialEvents" => query.send_initial_events = Some(truthy(value)),
                "allowWatchBookmarks" => query.bookmarks = truthy(value),
                "timeoutSeconds" => {
                    let seconds = u64::try_from(number(value)?).unwrap_or(0);
                    query.timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
                }
                "dryRun" => query.dry_run = dry_run(kind, value)?,
                "fieldManager" => query.field_manager = field_manager(kind, value)?,
                "fieldValidation" => query.field_validation = field_validation(kind, value)?,
                "force" => query.force = Some(truthy(value)),
                "includeObject" => query.include_object = value.to_owned(),
                "propagationPolicy" => query.propagation_policy = Some(value.to_owned()),
                "orphanDependents" => query.orphan_dependents = Some(truthy(value)),
                // Unknown parameters are ignored, as upstream does.
                _ => {}
            }
        }
        Ok(query)
    }

    /// Refuses a wish for rows that no table can carry.
    pub fn check_table(&self) -> ApiResult<()> {
        match self.include_object.as_str() {
            "" | "None" | "Metadata" | "Object" => Ok(()),
            other => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid("includeObject", json!(other), why);
                let message = format!("Unable to convert to Table as requested: {error}");
                Err(ApiError::bad_request(message))
            }
        }
    }

    /// `resourceVersion` as a number; unset and `0` are `None`. The error is a sentence for the caller to answer with.
    pub fn revision(&self) -> Result<Option<u64>, String> {
        match self.resource_version.as_str() {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let value = json!(text);
                let detail = format!("strconv.ParseUint: parsing {value}: invalid syntax");
                FieldError::invalid("resourceVersion", value, detail).to_string()
            }),
        }
    }

    /// Refuses combinations that mean nothing.
    pub fn check_list(&self) -> ApiResult<()> {
        let forbidden =
            |field: &str, why: &str| options_invalid("ListOptions", &[FieldError::forbidden(field, why)]);
        if self.send_initial_events.is_some() && !self.watch {
            return Err(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        if self.watch && self.send_initial_events.is_some() && self.version_match.is_none() {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(forbidden("resourceVersionMatch", why));
        }
        if self.watch && self.send_initial_events.is_none() && self.version_match.is_some() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            return Err(forbidden("resourceVersionMatch", why));
        }
        if self.watch && self.version_match == Some(VersionMatch::Exact) {
            let why = "supported values: \"NotOlderThan\"";
            let error = FieldError::new(
                FieldErrorKind::NotSupported,
                "resourceVersionMatch",
                Some(json!("Exact")),
                why,
            );
            return Err(options_invalid("ListOptions", &[error]));
        }
        let Some(wanted) = self.version_match.filter(|_| !self.watch) else {
            return Ok(());
        };
        let mut errors = Vec::new();
        if self.resource_version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !self.continue_token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !errors.is_empty() {
            return Err(options_invalid("ListOptions", &errors));
        }
        if wanted == VersionMatch::Exact && self.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            return Err(forbidden("resourceVersionMatch", why));
        }
        Ok(())
    }
}

/// 422 about the options of a patch.
pub(crate) fn patch_options_invalid(errors: &[FieldError]) -> Box<ApiError> {
    options_invalid("PatchOptions", errors)
}

/// 422 about the options of a request.
fn options_invalid(kind: &str, errors: &[FieldError]) -> Box<ApiError> {
    ApiError::invalid(
        Subject {
            group: "meta.k8s.io",
            resource: kind,
            kind,
            name: "",
        },
        errors,
    )
}

/// What upstream calls the options of a request with this method.
fn options_kind(method: &Method) -> &'static str {
    match *method {
        Method::POST => "CreateOptions",
        Method::PUT => "UpdateOptions",
        Method::PATCH => "PatchOptions",
        Method::DELETE => "DeleteOptions",
        _ => "ListOptions",
    }
}

/// 422 about the options of a deletion.
pub(crate) fn delete_options_invalid(error: FieldError) -> Box<ApiError> {
    options_invalid("DeleteOptions", &[error])
}

/// Go's notion of a set boolean parameter: anything but `false` and `0`.
fn truthy(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn number(value: &str) -> ApiResult<i64> {
    if value.is_empty() {
        return Ok(0);
    }
    value
        .parse()
        .map_err(|_| ApiError::bad_request(format!("strconv.ParseInt: parsing \"{value}\": invalid syntax")))
}

fn version_match(value: &str) -> ApiResult<Option<VersionMatch>> {
    match value {
        "" => Ok(None),
        "Exact" => Ok(Some(VersionMatch::Exact)),
        "NotOlderThan" => Ok(Some(VersionMatch::NotOlderThan)),
        other => {
            let error = FieldError::new(
                FieldErrorKind::NotSupported,
                "resourceVersionMatch",
                Some(json!(other)),
                "supported values: \"Exact\", \"NotOlderThan\", \"\"",
            );
            Err(options_invalid("ListOptions", &[error]))
        }
    }
}

fn dry_run(kind: &str, value: &str) -> ApiResult<bool> {
    match value {
        "" => Ok(false),
        "All" => Ok(true),
        other => {
            let error = FieldError::new(
                FieldErrorKind::NotSupported,
                "dryRun",
                Some(json!([other])),
                "supported values: \"All\"",
            );
            Err(options_invalid(kind, &[error]))
        }
    }
}

fn field_manager(kind: &str, value: &str) -> ApiResult<String> {
    let errors = naming::field_manager_errors("fieldManager", value);
    if errors.is_empty() {
        Ok(value.to_owned())
    } else {
        Err(options_invalid(kind, &errors))
    }
}

fn field_validation(kind: &str, value: &str) -> ApiResult<FieldValidation> {
    match value {
        "Ignore" => Ok(FieldValidation::Ignore),
        "" | "Warn" => Ok(FieldValidation::Warn),
        "Strict" => Ok(FieldValidation::Strict),
        other => {
            let error = FieldError::new(
                FieldErrorKind::NotSupported,
                "fieldValidation",
                Some(json!(other)),
                "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
            );
            Err(options_invalid(kind, &[error]))
        }
    }
}
