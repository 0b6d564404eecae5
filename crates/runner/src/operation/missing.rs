//! What a person can do about a state that is not where it should be. The commands work as they are.

use capt_api::marks::{DESTROYED, STATE_HOME, WTA_NAME, WTA_NAMESPACE};

use crate::{inputs::destroys_on_deletion, view::WorkspaceView};

/// That something was made and has no state since this time, and the ways out.
///
/// A WorkspaceTemplateApply takes the word that nothing exists any more once. The time makes it another word whenever
/// another state is lost, so that the command works each time.
pub(super) fn words(view: &WorkspaceView, since: &str) -> String {
    let home = view.annotations.get(STATE_HOME).map(String::as_str);
    let home = home.filter(|home| !home.is_empty()).unwrap_or("its place");
    let then = match view.deletion {
        Some(_) => "the Workspace goes",
        None => "everything is made anew",
    };
    let object = object(view);
    let annotate = match made_for(view) {
        Some(_) => format!("kubectl annotate --overwrite {object} {DESTROYED}=true/{since}"),
        None => format!("kubectl annotate {object} {DESTROYED}=true"),
    };
    let mut words = format!(
        "there is no state in {home} of what was made, so that nothing is done. Put it back; the runner notices. If \
         nothing exists any more: {annotate}; then {then}"
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

    const SINCE: &str = "2026-01-02T03:04:05Z";

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
        let own = words(&view(&json!({}), &json!(["*"])), SINCE);
        assert!(
            own.contains("kubectl annotate workspaces.tf.m.upbound.io vpc -n team infrastructure.cluster.x-k8s.io/destroyed=true; then"),
            "{own}"
        );
        assert!(
            own.contains("secret/team/tfstate-vpc-capt") && own.contains("kubectl patch"),
            "{own}"
        );
        let labels = json!({(WTA_NAMESPACE): "team", (WTA_NAME): "net"});
        let made = words(&view(&labels, &json!(["*"])), SINCE);
        let command = "kubectl annotate --overwrite wtapply net -n team \
                       infrastructure.cluster.x-k8s.io/destroyed=true/2026-01-02T03:04:05Z; then";
        assert!(made.contains(command), "{made}");
        assert!(!made.contains("managementPolicies"), "{made}");
        let harmless = words(&view(&json!({}), &json!(["Observe", "Create", "Update"])), SINCE);
        assert!(!harmless.contains("managementPolicies"), "{harmless}");
    }
}
