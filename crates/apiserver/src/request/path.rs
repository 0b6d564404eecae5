//! Paths of the resource API.

use percent_encoding::percent_decode_str;

/// What a path points at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// `""` for `/api`.
    pub group: String,
    /// `v1`
    pub version: String,
    /// Empty when the path points at a group version.
    pub plural: String,
    /// Empty for cluster-wide resources and for all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    /// `status`, `finalize`, …; empty for the object itself.
    pub subresource: String,
    /// The old way to ask for a watch: `/api/v1/watch/…`.
    pub legacy_watch: bool,
}

/// Subresources that make `/namespaces/x/y` a namespace's own path, not a resource inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads `/api/v1/…` and `/apis/group/version/…`; `None` if it is neither or has too many parts.
#[must_use]
pub fn parse_path(path: &str) -> Option<Target> {
    // Upstream decodes before it splits: a slash in a name cannot be written at all.
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let mut parts = decoded.trim_matches('/').split('/');
    let group = match parts.next()? {
        "api" => "",
        "apis" => parts.next()?,
        _ => return None,
    };
    let mut target = Target {
        group: group.to_owned(),
        version: parts.next()?.to_owned(),
        ..Target::default()
    };
    let mut rest: Vec<&str> = parts.collect();
    if rest.first() == Some(&"watch") {
        target.legacy_watch = true;
        rest.remove(0);
    }
    if let ["namespaces", namespace, tail @ ..] = rest.as_slice()
        && !tail.is_empty()
        && !(tail.len() == 1 && NAMESPACE_SUBRESOURCES.contains(&tail[0]))
    {
        target.namespace = (*namespace).to_owned();
        rest = tail.to_vec();
    }
    match rest.as_slice() {
        [] => {}
        [plural] => target.plural = (*plural).to_owned(),
        [plural, name] => (target.plural, target.name) = ((*plural).to_owned(), (*name).to_owned()),
        [plural, name, subresource] => {
            target.plural = (*plural).to_owned();
            target.name = (*name).to_owned();
            target.subresource = (*subresource).to_owned();
        }
        _ => return None,
    }
    (!target.version.is_empty()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_point_at_what_they_say() {
        let cases = [
            ("/api/v1", ["", "v1", "", "", "", ""]),
            ("/api/v1/nodes", ["", "v1", "", "nodes", "", ""]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]),
            (
                "/api/v1/namespaces/a/status",
                ["", "v1", "", "namespaces", "a", "status"],
            ),
            ("/api/v1/namespaces/a/secrets", ["", "v1", "a", "secrets", "", ""]),
            (
                "/apis/g.io/v2/namespaces/a/things/b/status",
                ["g.io", "v2", "a", "things", "b", "status"],
            ),
            (
                "/apis/g.io/v2/things/a%2Fb",
                ["g.io", "v2", "", "things", "a", "b"],
            ),
            (
                "/apis/g.io/v2/things/a%20b",
                ["g.io", "v2", "", "things", "a b", ""],
            ),
        ];
        for (path, [group, version, namespace, plural, name, subresource]) in cases {
            let target = parse_path(path).unwrap();
            let found = [
                &target.group,
                &target.version,
                &target.namespace,
                &target.plural,
                &target.name,
                &target.subresource,
            ];
            assert_eq!(
                found,
                [group, version, namespace, plural, name, subresource],
                "{path}"
            );
        }
        for path in [
            "/",
            "/version",
            "/apis",
            "/apis/g.io",
            "/api/v1/a/b/c/d",
            "/apis/g/v/%ff",
        ] {
            assert_eq!(parse_path(path), None, "{path}");
        }
        assert!(
            parse_path("/api/v1/watch/namespaces/a/secrets")
                .unwrap()
                .legacy_watch
        );
    }
}
