//! Questions about the caller: who am I, may I. They are answered, never stored.
//!
//! There is no authorisation here: whoever got in may do everything, and the answers say so.

use serde_json::{Value, json};

use crate::serve::Identity;
use crate::status::{ApiError, ApiResult};

/// Whether a resource is one of them.
pub(crate) fn is_review(group: &str, version: &str, plural: &str) -> bool {
    apiary_semantics::builtin::reviews()
        .iter()
        .any(|review| review.group == group && review.version == version && review.plural == plural)
}

/// Answers one.
pub(crate) fn answer(plural: &str, mut document: Value, identity: &Identity) -> ApiResult<Value> {
    if !document.is_object() {
        return Err(ApiError::bad_request("the request body is not a JSON object"));
    }
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
            let status = json!({"authenticated": false, "user": {}, "error": "tokens are not issued here"});
            ("authentication.k8s.io/v1", "TokenReview", status)
        }
        _ => return Err(ApiError::no_such_path()),
    };
    document["apiVersion"] = json!(api_version);
    document["kind"] = json!(kind);
    document["status"] = status;
    Ok(document)
}

fn allowed() -> Value {
    json!({"allowed": true, "reason": "everyone who is authenticated may do everything here"})
}
