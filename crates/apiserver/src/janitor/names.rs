//! Definitions that were refused a name, which may have become free.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::work::Progress;
use super::write::{edit, resource_of};
use crate::server::{DEFINITIONS, Inner};
use crate::status::ApiResult;
use crate::store::{Object, ObjectKey};

/// The names of the definitions that were refused something.
#[derive(Debug, Default)]
pub(super) struct Refused(BTreeSet<String>);

impl Refused {
    pub(super) fn note(&mut self, definition: &Object) {
        if is_refused(definition) {
            self.0.insert(definition.key.name().to_owned());
        } else {
            self.forget(definition);
        }
    }

    pub(super) fn forget(&mut self, definition: &Object) {
        self.0.remove(definition.key.name());
    }

    /// Those of the same group, for names clash only there.
    pub(super) fn beside<'a>(&'a self, definition: &'a Object) -> impl Iterator<Item = &'a String> {
        let group = group_of(definition.key.name());
        self.0.iter().filter(move |name| group_of(name) == group)
    }
}

fn group_of(definition: &str) -> &str {
    definition.split_once('.').map_or("", |(_, group)| group)
}

/// Read without the schemas, which are most of a definition.
fn is_refused(definition: &Object) -> bool {
    #[derive(Deserialize)]
    struct Definition {
        #[serde(default)]
        status: Status,
    }
    #[derive(Deserialize, Default)]
    struct Status {
        #[serde(default)]
        conditions: Vec<Condition>,
    }
    #[derive(Deserialize)]
    struct Condition {
        #[serde(rename = "type")]
        kind: String,
        status: String,
    }
    let read: Result<Definition, _> = serde_json::from_slice(&definition.bytes);
    read.is_ok_and(|definition| {
        let mut conditions = definition.status.conditions.iter();
        conditions.any(|condition| condition.kind == "NamesAccepted" && condition.status == "False")
    })
}

/// Every write of a definition decides about its names, so one that changes nothing else does.
pub(super) async fn decide_again(server: &Arc<Inner>, name: &str) -> ApiResult<Progress> {
    let state = server.store.visible();
    let definition = state.get(DEFINITIONS, &ObjectKey::new("", name));
    let Some(definition) = definition.filter(|found| !found.deleting) else {
        return Ok(Progress::Done);
    };
    match resource_of(server, &DEFINITIONS.into()) {
        Some(definitions) => edit(server, &definitions, definition, |_| {}).await,
        None => Ok(Progress::Done),
    }
}
