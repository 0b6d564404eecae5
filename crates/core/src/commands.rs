//! Commands that messages tell people to type. They work as they are, from whatever namespace somebody is in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What somebody types to do something to an object: the verb and the kind, and what follows the name.
pub(crate) fn kubectl(what: &str, object: &ObjectMeta, more: &str) -> String {
    named("kubectl", what, " ", object, more)
}

/// The same with our own command.
pub(crate) fn capt(what: &str, object: &ObjectMeta, more: &str) -> String {
    named("capt", what, "/", object, more)
}

fn named(program: &str, what: &str, before: &str, object: &ObjectMeta, more: &str) -> String {
    let name = object.name.as_deref().unwrap_or_default();
    let mut text = format!("{program} {what}{before}{name}");
    if let Some(namespace) = object
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty())
    {
        text.push_str(" -n ");
        text.push_str(namespace);
    }
    if !more.is_empty() {
        text.push(' ');
        text.push_str(more);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_namespace_where_there_is_one() {
        let object = |namespace: Option<&str>| ObjectMeta {
            name: Some("x".to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ObjectMeta::default()
        };
        for (found, expected) in [
            (
                kubectl("annotate wtapply", &object(Some("team")), "a=b"),
                "kubectl annotate wtapply x -n team a=b",
            ),
            (
                kubectl("edit workspaces.g", &object(None), ""),
                "kubectl edit workspaces.g x",
            ),
            (
                capt("retry captcontrolplane", &object(Some("team")), ""),
                "capt retry captcontrolplane/x -n team",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
