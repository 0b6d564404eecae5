//! What a person can do about a state that is not where it should be. The commands work as they are.

use capt_api::marks::{DESTROYED, STATE_HOME, WTA_NAME, WTA_NAMESPACE};

use crate::{inputs::destroys_on_deletion, view::WorkspaceView};

/// That something was made and has no state, and the ways out.
pub(super) fn words(view: &WorkspaceView) -> String {
    let home = view.annotations.get(STATE_HOME).map(String::as_str);
    let home = home.filter(|home| !home.is_empty()).unwrap_or("its place");
    let then = match view.deletion {
        Some(_) => "the Workspace goes",
        None => "everything is made anew",
    };
    let object = object(view);
    let mut words = format!(
        "there is no state in {home} of what was made, so that nothing is done. Put it back; the runner notices. If \
         nothing exists any more: kubectl annotate {object} {DESTROYED}=true; then {then}"
    );
    // What was made from a template gets its policies from there, and what to do is said there.
    if destroys_on_deletion(view) && made_for(view).is_none() {
        words.push_str(&format!(
            ". To delete the Workspace and leave everything alone: kubectl patch {object} --type merge -p \
             '{{\"spec\":{{\"managementPolicies\":[\"Observe\",\"Create\",\"Update\",\"LateInitialize\"]}}}}'"
        ));
    }
    words
}

/// The WorkspaceTemplateApply that it was made for: namespace and name.
fn made_for(view: &WorkspaceView) -> Option<(&str, &str)> {
    let label = |name: &str| {
        view.labels
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    };
    Some((label(WTA_NAMESPACE)?, label(WTA_NAME)?))
}

/// The object that people talk to, as kubectl is told.
fn object(view: &WorkspaceView) -> String {
    match (made_for(view), &view.namespace) {
        (Some((namespace, name)), _) => format!("wtapply {name} -n {namespace}"),
        (None, Some(namespace)) => {
            format!("workspaces.{} {} -n {namespace}", view.group.name(), view.name)
        }
        (None, None) => format!("workspaces.{} {}", view.group.name(), view.name),
    }
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    fn view(labels: &serde_json::Value, policies: &serde_json::Value) -> WorkspaceView {
        let object: Workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "vpc", "namespace": "team", "labels": labels, "annotations": {
                STATE_HOME: "secret/team/tfstate-vpc-capt",
            }},
            "spec": {"forProvider": {"source": "Inline", "module": ""}, "managementPolicies": policies},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn what_to_do_names_the_object_that_people_made() {
        let own = words(&view(&json!({}), &json!(["*"])));
        assert!(
            own.contains("kubectl annotate workspaces.tf.m.upbound.io vpc -n team infrastructure.cluster.x-k8s.io/destroyed=true"),
            "{own}"
        );
        assert!(
            own.contains("secret/team/tfstate-vpc-capt") && own.contains("kubectl patch"),
            "{own}"
        );
        let labels = json!({(WTA_NAMESPACE): "team", (WTA_NAME): "net"});
        let made = words(&view(&labels, &json!(["*"])));
        assert!(made.contains("kubectl annotate wtapply net -n team "), "{made}");
        assert!(!made.contains("managementPolicies"), "{made}");
        let harmless = words(&view(&json!({}), &json!(["Observe", "Create", "Update"])));
        assert!(!harmless.contains("managementPolicies"), "{harmless}");
    }
}
