//! One request, told in the words of the Kubernetes API: who, which verb, on what.

use std::fmt;

use bytes::Bytes;
use http::{Method, header, request::Parts};
use serde_json::Value;

/// What a request does. Server-side apply is a verb of its own here, because tests tell it from other patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows a collection.
    Watch,
    /// Makes an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes an object by JSON, merge or strategic merge patch.
    Patch,
    /// Makes or changes an object by server-side apply.
    Apply,
    /// Deletes one object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Anything that is no resource request, such as discovery.
    Other,
}

impl Verb {
    /// Whether the verb can change anything.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Other)
    }
}

/// A request as rules and records see it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The name under which the client was handed out.
    pub caller: String,
    /// What it does.
    pub verb: Verb,
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Subresource; empty for the object itself.
    pub subresource: String,
    /// Namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// Name of the object; for a create it is the one in the body, and empty if the server is to choose.
    pub name: String,
    /// Path and query as sent.
    pub path: String,
    /// The body, if it is a write.
    pub body: Bytes,
}

impl Call {
    pub(crate) fn new(caller: &str, parts: &Parts, body: Bytes) -> Self {
        let target = Target::of(parts.uri.path());
        let mut call = Self {
            caller: caller.to_owned(),
            verb: verb(parts, &target),
            group: target.group,
            version: target.version,
            resource: target.resource,
            subresource: target.subresource,
            namespace: target.namespace,
            name: target.name,
            path: parts
                .uri
                .path_and_query()
                .map(ToString::to_string)
                .unwrap_or_default(),
            body,
        };
        if call.verb == Verb::Create {
            let document = call.document();
            call.name = document["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
        }
        call
    }

    /// The body as JSON, or null.
    #[must_use]
    pub fn document(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The resource with its subresource, as in RBAC: `pods/status`.
    #[must_use]
    pub fn qualified_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }

    /// Whether the request may change something, which a dry run may not.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let is_dry_run = self.path.contains("dryRun=");
        self.verb.is_write() && !is_dry_run
    }

    /// Whether the request belongs to leader election, which goes on while everything else rests.
    #[must_use]
    pub fn is_lease(&self) -> bool {
        self.group == "coordination.k8s.io" && self.resource == "leases"
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {:?} {}",
            self.caller,
            self.verb,
            self.qualified_resource()
        )?;
        if !self.namespace.is_empty() {
            write!(f, " {}/{}", self.namespace, self.name)
        } else if !self.name.is_empty() {
            write!(f, " {}", self.name)
        } else {
            Ok(())
        }
    }
}

fn verb(parts: &Parts, target: &Target) -> Verb {
    let is_apply = || {
        let content_type = parts
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        content_type.is_some_and(|value| value.starts_with("application/apply-patch"))
    };
    let is_watch = || {
        let query = parts.uri.query().unwrap_or_default();
        form_urlencoded::parse(query.as_bytes())
            .any(|(key, value)| key == "watch" && (value == "true" || value == "1"))
    };
    match parts.method {
        _ if target.resource.is_empty() => Verb::Other,
        Method::GET if is_watch() => Verb::Watch,
        Method::GET if target.name.is_empty() => Verb::List,
        Method::GET => Verb::Get,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH if is_apply() => Verb::Apply,
        Method::PATCH => Verb::Patch,
        Method::DELETE if target.name.is_empty() => Verb::DeleteCollection,
        Method::DELETE => Verb::Delete,
        _ => Verb::Other,
    }
}

#[derive(Default)]
struct Target {
    group: String,
    version: String,
    namespace: String,
    resource: String,
    name: String,
    subresource: String,
}

impl Target {
    fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Self::default(),
        };
        // A namespace is itself an object, and `status` and `finalize` are subresources of it, not collections in it.
        let (namespace, rest) = match rest {
            ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            resource: part(0),
            name: part(1),
            subresource: part(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let apply = "application/apply-patch+yaml";
        let merge = "application/merge-patch+json";
        let cases = [
            (
                "GET",
                "/api/v1/namespaces/a/secrets/b",
                "",
                "",
                "demo: Get secrets a/b",
            ),
            (
                "GET",
                "/api/v1/namespaces/a/secrets?limit=1",
                "",
                "",
                "demo: List secrets a/",
            ),
            (
                "GET",
                "/api/v1/secrets?&watch=true",
                "",
                "",
                "demo: Watch secrets",
            ),
            ("GET", "/api/v1/namespaces/a", "", "", "demo: Get namespaces a"),
            (
                "PUT",
                "/api/v1/namespaces/a/status",
                "",
                "",
                "demo: Update namespaces/status a",
            ),
            (
                "POST",
                "/api/v1/namespaces",
                "",
                r#"{"metadata":{"name":"n"}}"#,
                "demo: Create namespaces n",
            ),
            (
                "PATCH",
                "/apis/x.io/v1/namespaces/a/things/b/status",
                merge,
                "",
                "demo: Patch things/status a/b",
            ),
            (
                "PATCH",
                "/apis/x.io/v1/things/b",
                apply,
                "",
                "demo: Apply things b",
            ),
            (
                "DELETE",
                "/apis/x.io/v1/things/b",
                "",
                "",
                "demo: Delete things b",
            ),
            (
                "DELETE",
                "/apis/x.io/v1/things",
                "",
                "",
                "demo: DeleteCollection things",
            ),
            ("GET", "/apis/x.io/v1", "", "", "demo: Other "),
            ("GET", "/version", "", "", "demo: Other "),
        ];
        for (method, path, content_type, body, expected) in cases {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(header::CONTENT_TYPE, content_type);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let call = Call::new("demo", &parts, Bytes::from(body));
            assert_eq!(call.to_string(), expected, "{method} {path}");
        }
    }
}
