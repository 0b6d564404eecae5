//! What upstream refuses in a definition, as far as this server uses it.

use apiary_semantics::naming::{self, NameRule};
use apiary_semantics::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

use super::{is_established, list, names, text, versions};

const APPROVAL: &str = "api-approved.kubernetes.io";

/// What is wrong with a definition.
pub(crate) fn check(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &definition["spec"];
    let name = text(&definition["metadata"]["name"]);
    let wanted = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if old.is_none() && name != wanted {
        let must = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", json!(name), must));
    }
    check_group(&spec["group"], &mut errors);
    one_of(
        &spec["scope"],
        "spec.scope",
        &["Cluster", "Namespaced"],
        &mut errors,
    );
    versions::check(spec, &mut errors);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"][field]).is_empty() {
            errors.push(FieldError::required(format!("spec.names.{field}"), ""));
        }
    }
    names::check(&spec["names"], "spec.names", &mut errors);
    check_conversion(&spec["conversion"], &mut errors);
    check_stored(definition, &mut errors);
    check_approval(definition, old, &mut errors);
    if spec["preserveUnknownFields"] == json!(true) {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            json!(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    if let Some(old) = old {
        check_unchanged(spec, old, &mut errors);
    }
    errors
}

fn check_group(group: &Value, errors: &mut Vec<FieldError>) {
    let name = text(group);
    if name.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
        return;
    }
    let found = naming::name_errors(NameRule::DnsSubdomain, name);
    if !found.is_empty() {
        errors.push(FieldError::invalid("spec.group", group.clone(), found.join(",")));
    } else if !name.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", group.clone(), detail));
    }
}

fn one_of(value: &Value, path: &str, accepted: &[&str], errors: &mut Vec<FieldError>) {
    let said = text(value);
    if said.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !accepted.contains(&said) {
        let quoted: Vec<String> = accepted.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        errors.push(FieldError::new(
            FieldErrorKind::NotSupported,
            path,
            Some(value.clone()),
            detail,
        ));
    }
}

/// Webhooks are never called, but a definition for a server that calls them must still be sound.
fn check_conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    if conversion.is_null() {
        return;
    }
    let path = "spec.conversion";
    one_of(
        &conversion["strategy"],
        "spec.conversion.strategy",
        &["None", "Webhook"],
        errors,
    );
    let webhook = &conversion["webhook"];
    let reviewed = list(&webhook["conversionReviewVersions"]);
    let client = format!("{path}.webhookClientConfig");
    if conversion["strategy"] == "Webhook" {
        let config = &webhook["clientConfig"];
        if config.is_null() {
            let detail = "required when strategy is set to Webhook";
            errors.push(FieldError::required(client, detail));
        } else if config["url"].is_null() == config["service"].is_null() {
            let detail = "exactly one of url or service is required";
            errors.push(FieldError::required(client, detail));
        }
        let versions = format!("{path}.conversionReviewVersions");
        if reviewed.is_empty() {
            errors.push(FieldError::required(versions, ""));
        } else if !reviewed.contains(&json!("v1")) && !reviewed.contains(&json!("v1beta1")) {
            errors.push(FieldError::invalid(
                versions,
                Value::Array(reviewed.to_vec()),
                "must include at least one of v1, v1beta1",
            ));
        }
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if !webhook["clientConfig"].is_null() {
        errors.push(FieldError::forbidden(client, detail));
    }
    if !reviewed.is_empty() {
        errors.push(FieldError::forbidden(
            format!("{path}.conversionReviewVersions"),
            detail,
        ));
    }
}

fn check_stored(definition: &Value, errors: &mut Vec<FieldError>) {
    let path = "status.storedVersions";
    let stored = list(&definition["status"]["storedVersions"]);
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        errors.push(FieldError::invalid(path, Value::Null, detail));
        return;
    }
    let versions = list(&definition["spec"]["versions"]);
    for version in versions {
        if version["storage"] == json!(true) && !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(&version["name"]));
            errors.push(FieldError::invalid(path, Value::Array(stored.to_vec()), detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let plain = text(name);
            errors.push(FieldError::invalid(
                format!("{path}[{index}]"),
                name.clone(),
                format!(
                    "missing from spec.versions; {plain} was previously a storage version, and must remain in \
                     spec.versions until a storage migration ensures no data remains persisted in {plain} and \
                     removes {plain} from status.storedVersions"
                ),
            ));
        }
    }
}

/// The groups of Kubernetes itself are reserved.
fn check_approval(definition: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let group = text(&definition["spec"]["group"]);
    let is_reserved = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let approval = |definition: &Value| definition["metadata"]["annotations"][APPROVAL].clone();
    let said = approval(definition);
    if !is_reserved || old.is_some_and(|old| approval(old) == said) {
        return;
    }
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let path = format!("metadata.annotations[{APPROVAL}]");
    let must = format!("protected groups must have approval annotation {APPROVAL:?}");
    match text(&said) {
        "" => errors.push(FieldError::required(path, format!("{must}, {see}"))),
        text if text.starts_with("unapproved") || text.contains("://") => {}
        _ => errors.push(FieldError::invalid(
            path,
            said,
            format!("{must} with either a URL or a reason starting with \"unapproved\", {see}"),
        )),
    }
}

fn check_unchanged(spec: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let before = &old["spec"];
    let mut compare = |new: &Value, old: &Value, path: &str| {
        if new != old {
            errors.push(FieldError::invalid(path, new.clone(), "field is immutable"));
        }
    };
    if is_established(old) {
        compare(&spec["scope"], &before["scope"], "spec.scope");
        compare(
            &spec["names"]["kind"],
            &before["names"]["kind"],
            "spec.names.kind",
        );
    }
    compare(&spec["group"], &before["group"], "spec.group");
    compare(
        &spec["names"]["plural"],
        &before["names"]["plural"],
        "spec.names.plural",
    );
}
