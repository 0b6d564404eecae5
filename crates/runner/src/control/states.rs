//! Which Secrets with state there are, so that one that somebody deletes is missed.
//!
//! Only names are known here, and they may be old: whoever seems to lack a state has to be looked at.

use std::collections::HashSet;

use capt_api::marks::STATE_HOME;
use capt_core::tenancy::WatchScope;

use crate::view::WorkspaceView;

/// How the names of Secrets with state begin.
const NAMES: &str = "tfstate-";
/// How the names of copies begin that a write of a state may leave.
const COPIES: &str = "staged-tfstate-";

/// How the names of Secrets with provider versions begin.
const PROVIDER_LOCKS: &str = "providers-tfstate-";

/// Namespace and name of a Secret.
pub(crate) type Name = (String, String);

/// The Secrets with state that there are, once they are known.
#[derive(Debug, Default)]
pub(crate) struct States {
    secrets: HashSet<Name>,
    /// The scopes whose Secrets are known.
    known: HashSet<WatchScope>,
}

/// A Secret that came or went.
pub(crate) struct News(Name);

/// Whether a Secret of this name may hold state.
pub(crate) fn is_state(name: &str) -> bool {
    name.starts_with(NAMES)
}

/// Whether a Secret of this name may hold a state, a copy of one, or the provider versions that were chosen for one.
pub(crate) fn is_of_state(name: &str) -> bool {
    [NAMES, COPIES, PROVIDER_LOCKS]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

impl States {
    /// In this scope there are these and no others.
    pub(crate) fn only(&mut self, scope: WatchScope, secrets: HashSet<Name>) {
        self.secrets.retain(|(namespace, _)| !scope.contains(namespace));
        self.secrets.extend(secrets);
        self.known.insert(scope);
    }

    fn are_known(&self, namespace: &str) -> bool {
        self.known.iter().any(|scope| scope.contains(namespace))
    }

    /// Takes note that a Secret is there, or is gone. None if that is no news, or nobody's state.
    pub(crate) fn note(&mut self, namespace: &str, name: &str, is_there: bool) -> Option<News> {
        if !is_state(name) || !self.are_known(namespace) {
            return None;
        }
        let secret = (namespace.to_owned(), name.to_owned());
        let is_news = match is_there {
            true => self.secrets.insert(secret.clone()),
            false => self.secrets.remove(&secret),
        };
        is_news.then_some(News(secret))
    }

    /// Whether the state of a Workspace is not where it was kept, as far as is known.
    pub(crate) fn lacks(&self, view: &WorkspaceView) -> bool {
        home(view).is_some_and(|home| self.are_known(&home.0) && !self.secrets.contains(&home))
    }
}

impl News {
    /// The Secrets that a state may be kept in which this one holds, or holds a part of.
    pub(crate) fn homes(&self) -> impl Iterator<Item = Name> {
        let Self((namespace, name)) = self;
        homes(namespace, name)
    }
}

/// The Secrets that a state may be kept in which one of this name holds, or holds a part of.
pub(crate) fn homes(namespace: &str, name: &str) -> impl Iterator<Item = Name> {
    let parts = name.match_indices("-part-").map(|(at, _)| &name[..at]);
    std::iter::once(name)
        .chain(parts)
        .map(|home| (namespace.to_owned(), home.to_owned()))
}

/// The Secret that the state of a Workspace is kept in.
pub(crate) fn home(view: &WorkspaceView) -> Option<Name> {
    let written = view.annotations.get(STATE_HOME)?.strip_prefix("secret/")?;
    let (namespace, name) = written.split_once('/')?;
    Some((namespace.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    fn kept_in(home: &str) -> WorkspaceView {
        let object: Workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "vpc", "namespace": "ns", "annotations": {(STATE_HOME): home}},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn a_state_is_missed_only_where_it_was_and_only_once_all_are_known() {
        let ours = kept_in("secret/ns/tfstate-vpc-capt");
        let elsewhere = kept_in("backend s3 0123");
        let mut states = States::default();
        assert!(states.note("ns", "tfstate-vpc-capt", false).is_none());
        assert!(!states.lacks(&ours), "nothing is known yet");
        let others = [("other".to_owned(), "tfstate-vpc-capt".to_owned())];
        states.only(WatchScope::Cluster, others.into());
        assert!(states.lacks(&ours) && !states.lacks(&elsewhere));

        assert!(states.note("ns", "something-else", true).is_none());
        let news = states.note("ns", "tfstate-vpc-capt", true).expect("it is new");
        let is_about = |news: &News, view: &WorkspaceView| news.homes().any(|one| home(view) == Some(one));
        assert!(is_about(&news, &ours) && !is_about(&news, &elsewhere));
        assert!(!states.lacks(&ours));
        assert!(
            states.note("ns", "tfstate-vpc-capt", true).is_none(),
            "it is known"
        );
        states.note("ns", "tfstate-vpc-capt-part-1", true);
        let news = states
            .note("ns", "tfstate-vpc-capt-part-1", false)
            .expect("it went");
        assert!(is_about(&news, &ours));
        let news = states.note("ns", "tfstate-vpc-capt-2", true).expect("it is new");
        assert!(!is_about(&news, &ours));
        assert!(states.note("ns", "tfstate-vpc-capt", false).is_some());
        assert!(states.lacks(&ours));
    }
    #[test]
    fn what_is_known_of_one_namespace_says_nothing_about_another() {
        let [a, b] = ["a", "b"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
        let of = |namespace: &str| (namespace.to_owned(), "tfstate-vpc-capt".to_owned());
        let in_a = kept_in("secret/a/tfstate-vpc-capt");
        let in_b = kept_in("secret/b/tfstate-vpc-capt");
        let mut states = States::default();
        states.only(a.clone(), [of("a")].into());
        assert!(
            !states.lacks(&in_a) && !states.lacks(&in_b),
            "b was not listed yet"
        );
        states.only(b, [of("b")].into());
        states.only(a, [].into());
        assert!(states.lacks(&in_a) && !states.lacks(&in_b));
    }
}
