//! Rights to read that are missing: told once each, with the rule that is to be added.

use std::{collections::BTreeSet, sync::Arc};

use capt_core::tenancy::WatchScope;
use parking_lot::Mutex;

/// The rules of rights that are missing now. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing(Arc<Mutex<BTreeSet<String>>>);

impl Missing {
    /// What is missing, in words, if anything is.
    pub(crate) fn words(&self) -> Option<String> {
        let rules = self.0.lock();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        (!rules.is_empty()).then(|| {
            format!(
                "these rules are missing in the ClusterRole (or Role) of the service account: {}",
                rules.join(", ")
            )
        })
    }

    /// The right to read the objects of a kind in a scope.
    pub(crate) fn right(&self, group: &str, resource: &str, scope: &WatchScope) -> Right {
        let verbs = r#"verbs: ["get", "list", "watch"]"#;
        let rule = format!(r#"{{apiGroups: ["{group}"], resources: ["{resource}"], {verbs}}}"#);
        Right {
            rule: match scope.namespace() {
                None => rule,
                Some(namespace) => format!("{rule} for the namespace {namespace}"),
            },
            resource: resource.to_owned(),
            group: group.to_owned(),
            scope: scope.clone(),
            missing: self.clone(),
        }
    }
}

/// The right to read the objects of a kind in a scope.
#[derive(Clone, Debug)]
pub(crate) struct Right {
    group: String,
    resource: String,
    rule: String,
    scope: WatchScope,
    missing: Missing,
}

impl Right {
    /// What it is a right to read of the kind.
    pub(crate) fn scope(&self) -> &WatchScope {
        &self.scope
    }

    /// Takes note that the API denied it. The first time in a row it is logged.
    pub(crate) fn is_denied(&self) {
        if self.missing.0.lock().insert(self.rule.clone()) {
            tracing::warn!(
                group = self.group,
                resource = self.resource,
                verbs = "list, watch",
                "may not be read. Add this rule to the ClusterRole (or Role) of the service account: {}",
                self.rule
            );
        }
    }

    /// Takes note that the API granted it.
    pub(crate) fn is_granted(&self) {
        if self.missing.0.lock().remove(&self.rule) {
            tracing::info!(
                group = self.group,
                resource = self.resource,
                "may be read from now on"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_by_the_rule_to_add_until_it_is_granted() {
        let missing = Missing::default();
        assert_eq!(missing.words(), None);
        let usages = missing.right("tf.upbound.io", "providerconfigusages", &WatchScope::Cluster);
        let secrets = missing.right("", "secrets", &WatchScope::Cluster);
        for right in [&usages, &usages, &secrets] {
            right.is_denied();
        }
        let words = missing.words().expect("something is missing");
        assert!(
            words.ends_with(
                r#": {apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"]}, {apiGroups: ["tf.upbound.io"], resources: ["providerconfigusages"], verbs: ["get", "list", "watch"]}"#
            ),
            "{words}"
        );
        usages.is_granted();
        secrets.is_granted();
        assert_eq!(missing.words(), None);
    }

    #[test]
    fn a_right_in_one_namespace_is_none_in_another() {
        let missing = Missing::default();
        let [a, b] = ["a", "b"].map(|namespace| {
            let scope = WatchScope::Namespace(namespace.to_owned());
            missing.right("", "secrets", &scope)
        });
        a.is_denied();
        b.is_denied();
        a.is_granted();
        let words = missing.words().expect("b is missing");
        assert!(
            words.ends_with(
                r#": {apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"]} for the namespace b"#
            ),
            "{words}"
        );
    }
}
