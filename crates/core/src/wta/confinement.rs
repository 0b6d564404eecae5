//! What keeps a Workspace within the namespace of its WorkspaceTemplateApply.
//!
//! A template is checked when it is rendered. What comes from the Secret with the last rendering is checked here at every use,
//! because whoever may write Secrets in the namespace may write that one.

use capt_api::{conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::{
    deciding::Deciding,
    identity,
    rendered::Rendered,
    snapshot::{Problem, Snapshot},
    source,
};
use crate::{commands, names, render::WorkspaceGroup, tenancy::NamespaceSet};

/// Where a spec of a Workspace names namespaces: lists of `forProvider`, and the keys that refer to an object.
const LISTS: [&str; 2] = ["env", "varFiles"];
const REFERENCES: [&str; 2] = ["configMapKeyRef", "secretKeyRef"];

/// The fields of a spec that name another namespace than this one, each with the namespace.
#[must_use]
pub fn foreign_references(spec: &Value, own: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |path: String, reference: &Value| {
        if let Some(namespace) = reference.get("namespace").and_then(Value::as_str)
            && !namespace.is_empty()
            && namespace != own
        {
            found.push(format!("{path}.namespace ({namespace})"));
        }
    };
    for list in LISTS {
        let items = spec
            .pointer(&format!("/forProvider/{list}"))
            .and_then(Value::as_array);
        for (at, item) in items.into_iter().flatten().enumerate() {
            for field in REFERENCES {
                if let Some(reference) = item.get(field) {
                    check(format!("spec.forProvider.{list}[{at}].{field}"), reference);
                }
            }
        }
    }
    if let Some(reference) = spec.get("writeConnectionSecretToRef") {
        check("spec.writeConnectionSecretToRef".to_owned(), reference);
    }
    found
}

/// Why a rendering may not run, if it leads out of the namespace. A Workspace that the Go implementation made keeps such
/// references, where an administrator says on the Workspace that it is one.
pub(super) fn check(
    deciding: &Deciding<'_>,
    rendered: &Rendered,
    place: (WorkspaceGroup, &str),
) -> Option<Problem> {
    let (snapshot, (group, name)) = (deciding.snapshot, place);
    let foreign = foreign_references(&rendered.spec, deciding.namespace());
    if foreign.is_empty() || source::is_legacy(snapshot, deciding.found) {
        return None;
    }
    let metadata = &snapshot.wta.metadata;
    let apply = metadata.name.as_deref().unwrap_or_default();
    let secret = ObjectMeta {
        name: Some(names::last_rendering(apply).parted().to_owned()),
        namespace: metadata.namespace.clone(),
        ..ObjectMeta::default()
    };
    let confirm = match group {
        WorkspaceGroup::Namespaced => String::new(),
        WorkspaceGroup::ClusterScoped => {
            let command = identity::permit_command(snapshot, group, name, marks::LEGACY_OF);
            format!(". If the Go implementation made it, an administrator confirms that: {command}")
        }
    };
    Some(Problem {
        reason: Reason::OtherNamespace,
        message: format!(
            "The last rendering names other namespaces: {}{confirm}. To render the template instead: {}",
            foreign.join(", "),
            commands::kubectl("delete secret", &secret, ""),
        ),
    })
}

/// Why the provider configuration may not be used from the namespace, if its administrator says so.
pub(super) fn check_provider_config(snapshot: &Snapshot) -> Option<Problem> {
    let own = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let allowed = snapshot.readable_config()?.allowed_namespaces.as_deref();
    let allowed = allowed.map(NamespaceSet::parse)?;
    (!allowed.contains(own)).then(|| Problem {
        reason: Reason::ProviderConfigNotAllowed,
        message: format!(
            "The provider configuration of the Workspace does not allow the namespace {own}. Its administrator adds it to the \
             annotation {}, or the template names another spec.providerConfigRef",
            marks::ALLOWED_NAMESPACES
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_names_another_namespace_is_found() {
        let key = |namespace: &str| json!({"namespace": namespace, "name": "n", "key": "k"});
        for (spec, expected) in [
            (json!({}), &[][..]),
            (
                json!({"forProvider": {"env": [{"name": "A", "secretKeyRef": key("a")}]}}),
                &[],
            ),
            (
                json!({"forProvider": {"env": [{"name": "A", "secretKeyRef": key("")}]}}),
                &[],
            ),
            (
                json!({"forProvider": {"env": [{"value": "v"}, {"name": "A", "secretKeyRef": key("b")}]}}),
                &["spec.forProvider.env[1].secretKeyRef.namespace (b)"],
            ),
            (
                json!({"forProvider": {"varFiles": [{"configMapKeyRef": key("b"), "secretKeyRef": key("c")}]}}),
                &[
                    "spec.forProvider.varFiles[0].configMapKeyRef.namespace (b)",
                    "spec.forProvider.varFiles[0].secretKeyRef.namespace (c)",
                ],
            ),
            (
                json!({"writeConnectionSecretToRef": key("kube-system")}),
                &["spec.writeConnectionSecretToRef.namespace (kube-system)"],
            ),
        ] {
            assert_eq!(foreign_references(&spec, "a"), expected, "{spec}");
        }
    }
}
