//! Questions about the caller: who am I, may I. They are answered, never stored.
//!
//! There is no authorisation here: whoever got in may do everything, and the answers say so.

use apiary_semantics::FieldError;
use serde_json::{Value, json};

use crate::serve::Identity;
use crate::status::{ApiError, ApiResult, Subject};

/// Whether a resource is one of them.
pub(crate) fn is_review(group: &str, version: &str, plural: &str) -> bool {
    apiary_semantics::builtin::reviews()
        .iter()
        .any(|review| review.group == group && review.version == version && review.plural == plural)
}

/// Answers one; `namespace` is that of the path.
pub(crate) fn answer(
    plural: &str,
    namespace: &str,
    mut document: Value,
    identity: &Identity,
) -> ApiResult<Value> {
    if !document["metadata"].is_object() {
        document["metadata"] = json!({});
    }
    let user = json!({"username": identity.user, "groups": identity.groups});
    let (api_version, kind, status) = match plural {
        "selfsubjectaccessreviews" => ("authorization.k8s.io/v1", "SelfSubjectAccessReview", allowed()),
        "subjectaccessreviews" => ("authorization.k8s.io/v1", "SubjectAccessReview", allowed()),
        "localsubjectaccessreviews" => ("authorization.k8s.io/v1", "LocalSubjectAccessReview", allowed()),
        "selfsubjectrulesreviews" => {
            let everything = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
            let paths = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
            let status =
                json!({"resourceRules": [everything], "nonResourceRules": [paths], "incomplete": false});
            ("authorization.k8s.io/v1", "SelfSubjectRulesReview", status)
        }
        "selfsubjectreviews" => (
            "authentication.k8s.io/v1",
            "SelfSubjectReview",
            json!({"userInfo": user}),
        ),
        "tokenreviews" => {
            let status = json!({"user": {}, "error": "tokens are not issued here"});
            ("authentication.k8s.io/v1", "TokenReview", status)
        }
        _ => return Err(ApiError::no_such_path()),
    };
    refuse_invalid(plural, namespace, &document)?;
    document["apiVersion"] = json!(api_version);
    document["kind"] = json!(kind);
    document["status"] = status;
    Ok(document)
}

/// Refuses questions that make no sense. Upstream names no kind in these refusals.
fn refuse_invalid(plural: &str, namespace: &str, review: &Value) -> ApiResult<()> {
    let errors = match plural {
        "selfsubjectaccessreviews" => access_errors(review, false),
        "subjectaccessreviews" => access_errors(review, true),
        "localsubjectaccessreviews" => local_errors(namespace, review),
        "selfsubjectrulesreviews"
            if review["spec"]["namespace"]
                .as_str()
                .unwrap_or_default()
                .is_empty() =>
        {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        "tokenreviews" if review["spec"]["token"].as_str().unwrap_or_default().is_empty() => {
            return Err(ApiError::bad_request(
                "token is required for TokenReview in authentication",
            ));
        }
        _ => Vec::new(),
    };
    if errors.is_empty() {
        return Ok(());
    }
    let nameless = Subject {
        group: "authorization.k8s.io",
        resource: "",
        kind: "",
        name: "",
    };
    Err(ApiError::invalid(nameless, &errors))
}

fn access_errors(review: &Value, names_user: bool) -> Vec<FieldError> {
    let spec = &review["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if review["metadata"]
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
    {
        errors.push(FieldError::invalid(
            "metadata",
            review["metadata"].clone(),
            "must be empty",
        ));
    }
    if !resource.is_null() && !path.is_null() {
        let why = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            go_attributes(path),
            why,
        ));
    }
    if resource.is_null() && path.is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid("spec.resourceAttributes", Value::Null, why));
    }
    let has_user = spec["user"].as_str().is_some_and(|user| !user.is_empty());
    let has_groups = spec["groups"].as_array().is_some_and(|groups| !groups.is_empty());
    if names_user && !has_user && !has_groups {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", json!(""), why));
    }
    errors
}

fn local_errors(namespace: &str, review: &Value) -> Vec<FieldError> {
    let mut review = review.clone();
    if let Some(metadata) = review["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    let mut errors = access_errors(&review, true);
    let spec = &review["spec"];
    let asked = spec["resourceAttributes"]["namespace"]
        .as_str()
        .unwrap_or_default();
    if !spec["resourceAttributes"].is_null() && asked != namespace {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid(
            "spec.resourceAttributes.namespace",
            json!(asked),
            why,
        ));
    }
    if !spec["nonResourceAttributes"].is_null() {
        let shown = go_attributes(&spec["nonResourceAttributes"]);
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid("spec.nonResourceAttributes", shown, why));
    }
    errors
}

/// Upstream shows its Go struct here, whose fields are capitalised.
fn go_attributes(attributes: &Value) -> Value {
    json!({"Path": attributes["path"].as_str().unwrap_or_default(), "Verb": attributes["verb"].as_str().unwrap_or_default()})
}

fn allowed() -> Value {
    json!({"allowed": true, "reason": "everyone who is authenticated may do everything here"})
}
