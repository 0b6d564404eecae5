//! Which calls and which watch events a rule is about.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::call::{Call, Verb};

type Condition<T> = Arc<dyn Fn(&T) -> bool + Send + Sync>;

/// A selection of calls: what is not said matches everything.
///
/// ```
/// use capt_testkit::{Calls, Verb};
///
/// let status_writes = Calls::by("demo").verb(Verb::Apply).resource("captclusters/status");
/// ```
#[derive(Clone, Default)]
pub struct Calls {
    caller: Option<String>,
    verbs: Vec<Verb>,
    writes_only: bool,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    condition: Option<Condition<Call>>,
}

impl Calls {
    /// Every call.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Calls of one caller.
    #[must_use]
    pub fn by(caller: &str) -> Self {
        Self {
            caller: Some(caller.to_owned()),
            ..Self::default()
        }
    }

    /// Only this verb; said twice, either of them.
    #[must_use]
    pub fn verb(mut self, verb: Verb) -> Self {
        self.verbs.push(verb);
        self
    }

    /// Only calls that may change something. Leader election does not count.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.writes_only = true;
        self
    }

    /// Only this resource, by plural name; a subresource is `plural/subresource`.
    #[must_use]
    pub fn resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Only this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only objects of this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only calls that fulfil a condition.
    #[must_use]
    pub fn matching(mut self, condition: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    pub(crate) fn matches(&self, call: &Call) -> bool {
        is(self.caller.as_deref(), &call.caller)
            && (self.verbs.is_empty() || self.verbs.contains(&call.verb))
            && (!self.writes_only || (call.is_write() && !call.is_lease()))
            && is(self.resource.as_deref(), &call.qualified_resource())
            && is(self.namespace.as_deref(), &call.namespace)
            && is(self.name.as_deref(), &call.name)
            && self.condition.as_ref().is_none_or(|condition| condition(call))
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.writes_only {
            words.push("writes".to_owned());
        }
        words.extend(self.verbs.iter().map(|verb| format!("{verb:?}")));
        words.extend(self.resource.iter().map(|resource| format!("of {resource}")));
        words.extend(self.namespace.iter().map(|namespace| format!("in {namespace}")));
        words.extend(self.name.iter().map(|name| format!("named {name}")));
        words.extend(self.caller.iter().map(|caller| format!("by {caller}")));
        if self.condition.is_some() {
            words.push("under a condition".to_owned());
        }
        if words.is_empty() {
            words.push("any call".to_owned());
        }
        f.write_str(&words.join(" "))
    }
}

/// What a watch event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The object appeared.
    Added,
    /// The object changed.
    Modified,
    /// The object went.
    Deleted,
    /// Nothing happened up to this revision.
    Bookmark,
}

impl EventKind {
    fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
        }
    }
}

/// A selection of watch events: what is not said matches everything, except that bookmarks must be asked for.
#[derive(Clone, Default)]
pub struct Events {
    caller: Option<String>,
    resource: Option<String>,
    kinds: Vec<EventKind>,
    namespace: Option<String>,
    name: Option<String>,
    condition: Option<Condition<Value>>,
}

impl Events {
    /// Events that reach one caller.
    #[must_use]
    pub fn to(caller: &str) -> Self {
        Self {
            caller: Some(caller.to_owned()),
            ..Self::default()
        }
    }

    /// Only of this resource, by plural name.
    #[must_use]
    pub fn resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// Only of this kind; said twice, either of them.
    #[must_use]
    pub fn kind(mut self, kind: EventKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Only about objects in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only about objects of this name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only about objects that fulfil a condition.
    #[must_use]
    pub fn matching(mut self, condition: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Arc::new(condition));
        self
    }

    /// Whether such events can be on this watch.
    pub(crate) fn are_on(&self, watch: &Call) -> bool {
        is(self.caller.as_deref(), &watch.caller) && is(self.resource.as_deref(), &watch.resource)
    }

    pub(crate) fn matches(&self, event: &Value) -> bool {
        let kind = event["type"].as_str().unwrap_or_default();
        let metadata = &event["object"]["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let kind_matches = match self.kinds.as_slice() {
            [] => ["ADDED", "MODIFIED", "DELETED"].contains(&kind),
            kinds => kinds.iter().any(|wanted| wanted.word() == kind),
        };
        kind_matches
            && is(self.namespace.as_deref(), &text("namespace"))
            && is(self.name.as_deref(), &text("name"))
            && self
                .condition
                .as_ref()
                .is_none_or(|condition| condition(&event["object"]))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.kinds.iter().map(|kind| format!("{kind:?}")).collect();
        words.push("events".to_owned());
        words.extend(self.resource.iter().map(|resource| format!("of {resource}")));
        words.extend(self.namespace.iter().map(|namespace| format!("in {namespace}")));
        words.extend(self.name.iter().map(|name| format!("named {name}")));
        words.extend(self.caller.iter().map(|caller| format!("to {caller}")));
        if self.condition.is_some() {
            words.push("under a condition".to_owned());
        }
        f.write_str(&words.join(" "))
    }
}

fn is(wanted: Option<&str>, actual: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == actual)
}
