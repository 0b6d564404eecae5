//! What an API server has counted: requests by verb and kind. Ours and the real one tell it in nearly the same words.

use std::collections::BTreeMap;

use anyhow::Context;
use http::Method;

use crate::bench::connection::Target;

/// Kinds whose requests are made by capt, by people, or by nobody. What a server asks itself is about others.
const KINDS: [&str; 14] = [
    "captclusters",
    "captcontrolplanes",
    "clusterproviderconfigs",
    "clusters",
    "configmaps",
    "events",
    "leases",
    "namespaces",
    "providerconfigs",
    "providerconfigusages",
    "secrets",
    "workspaces",
    "workspacetemplateapplies",
    "workspacetemplates",
];

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verb {
    Create,
    Change,
    Delete,
    Read,
    List,
    Watch,
}

/// Requests by kind and verb.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts(BTreeMap<(String, Verb), u64>);

impl Counts {
    /// What a server has counted until now, by a connection of its own: one that is silent for long is closed.
    pub(super) async fn of(target: &Target) -> anyhow::Result<Self> {
        let mut connection = target.connect().await?;
        let text = connection.call(Method::GET, "/metrics", None).await?;
        let text = std::str::from_utf8(&text).context("metrics are text")?;
        Ok(Self::parse(text))
    }

    fn parse(text: &str) -> Self {
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let Some((labels, number)) = line
                .strip_prefix("apiserver_request_total{")
                .and_then(|rest| rest.rsplit_once("} "))
            else {
                continue;
            };
            let (mut kind, mut verb) = (None, None);
            for label in labels.split(',') {
                match label.split_once('=') {
                    Some(("resource", value)) => kind = plural(value.trim_matches('"')),
                    Some(("verb", value)) => verb = Verb::of(value.trim_matches('"')),
                    _ => {}
                }
            }
            if let (Some(kind), Some(verb), Ok(number)) = (kind, verb, number.trim().parse::<f64>()) {
                *counts.entry((kind.to_owned(), verb)).or_default() += number as u64;
            }
        }
        Self(counts)
    }

    /// What was counted since an earlier time.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let more = self.0.iter().map(|(place, count)| {
            let before = earlier.0.get(place).copied().unwrap_or_default();
            (place.clone(), count.saturating_sub(before))
        });
        Self(more.filter(|(_, count)| *count > 0).collect())
    }

    /// How many requests these are.
    pub(super) fn sum(&self, is_meant: impl Fn(&str, Verb) -> bool) -> u64 {
        let meant = self.0.iter().filter(|((kind, verb), _)| is_meant(kind, *verb));
        meant.map(|(_, count)| count).sum()
    }

    /// Writes, without events and leases.
    pub(super) fn writes(&self) -> u64 {
        self.sum(|kind, verb| verb.is_write() && kind != "events" && kind != "leases")
    }

    /// Everything but leases and watches.
    pub(super) fn requests(&self) -> u64 {
        self.sum(|kind, verb| verb != Verb::Watch && kind != "leases")
    }

    /// One line for each kind, with what each of so many clusters cost.
    pub(super) fn by_kind(&self, clusters: usize) -> Vec<String> {
        let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((kind, verb), count) in &self.0 {
            let each = *count as f64 / clusters as f64;
            lines
                .entry(kind)
                .or_default()
                .push(format!("{verb:?} {each:.2}").to_lowercase());
        }
        let line = |(kind, parts): (&str, Vec<String>)| format!("{kind}: {}", parts.join(", "));
        lines.into_iter().map(line).collect()
    }
}

impl Verb {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "create" | "POST" => Self::Create,
            "update" | "patch" | "PUT" | "PATCH" | "APPLY" => Self::Change,
            "delete" | "deletecollection" | "DELETE" | "DELETECOLLECTION" => Self::Delete,
            "get" | "GET" => Self::Read,
            "list" | "LIST" => Self::List,
            "watch" | "WATCH" | "WATCHLIST" => Self::Watch,
            _ => return None,
        })
    }

    pub(super) fn is_write(self) -> bool {
        matches!(self, Self::Create | Self::Change | Self::Delete)
    }
}

/// The plural in a name with or without its group.
fn plural(resource: &str) -> Option<&'static str> {
    let is_it = |kind: &&str| resource.split(['.', '/']).any(|part| part == *kind);
    KINDS.into_iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusters",scope="resource",subresource="status",verb="APPLY",version="v1beta2"} 7
apiserver_request_total{code="409",component="apiserver",dry_run="",group="cluster.x-k8s.io",resource="clusters",scope="resource",subresource="",verb="PATCH",version="v1beta2"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="flowcontrol.apiserver.k8s.io",resource="flowschemas",scope="cluster",subresource="",verb="LIST",version="v1"} 9
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="secrets",scope="cluster",subresource="",verb="WATCH",version="v1"} 2
"#;
    const OURS: &str = r#"
apiserver_request_total{verb="patch",resource="clusters.cluster.x-k8s.io",code="200"} 8
apiserver_request_total{verb="watch",resource="secrets",code="200"} 2
apiserver_request_total{verb="create",resource="events",code="201"} 3
"#;

    #[test]
    fn both_servers_count_alike_and_what_a_server_asks_itself_is_left_out() {
        let (real, ours) = (Counts::parse(REAL), Counts::parse(OURS));
        assert_eq!(real.writes(), 8);
        assert_eq!(real.requests(), 8);
        assert_eq!((ours.writes(), ours.requests()), (8, 11));
        assert_eq!(ours.since(&real).requests(), 3);
        assert_eq!(ours.by_kind(2)[0], "clusters: change 4.00");
    }
}
