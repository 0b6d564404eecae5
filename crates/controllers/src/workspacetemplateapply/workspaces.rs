//! Workspaces that may be an object's own.

use std::{collections::BTreeSet, sync::Arc};

use capt_api::{WorkspaceTemplateApply, marks};
use capt_core::{
    names,
    render::WorkspaceGroup,
    wta::snapshot::{Usage, WorkspaceSeen},
};

use super::Applies;
use crate::{
    engine::{key::ObjectKey, table::Table, wakes::Reader},
    facts::{
        indexes::{self, within},
        workspace_key,
    },
};

const GROUPS: [WorkspaceGroup; 2] = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped];

impl Applies {
    /// Workspaces that carry the object's identity, that it names, and whose names its own would have.
    pub(super) fn workspaces(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        wta: &WorkspaceTemplateApply,
    ) -> Vec<Arc<WorkspaceSeen>> {
        let identity = within(key.namespace(), &names::label_value(key.name()));
        let plain = names::workspace(key.namespace(), key.name());
        let annotations = wta.metadata.annotations.as_ref();
        let named = |mark| {
            let value = annotations.and_then(|annotations| annotations.get(mark))?;
            Some(value.rsplit_once('/').map_or(value.as_str(), |(_, name)| name))
        };
        let status = wta.status.as_ref();
        let names: BTreeSet<&str> = [plain.preferred(), plain.parted()]
            .into_iter()
            .chain(named(marks::WORKSPACE))
            .chain(named(marks::ADOPT_RETAINED))
            .chain(status.and_then(|status| status.workspace_name.as_deref()))
            .collect();
        let mut found = Vec::new();
        for group in GROUPS {
            let table = self.facts.workspaces_of(group);
            let places = names
                .iter()
                .map(|name| workspace_key(group, key.namespace(), name));
            let workspaces = known_by(table, reader, key.namespace(), &identity, places);
            found.extend(
                workspaces
                    .into_iter()
                    .map(|workspace| self.workspace(reader, key, workspace)),
            );
        }
        found
    }

    fn workspace(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        workspace: Arc<WorkspaceSeen>,
    ) -> Arc<WorkspaceSeen> {
        let (usages, place) = match workspace.group {
            Some(WorkspaceGroup::ClusterScoped) => (
                &self.facts.legacy_usages,
                ObjectKey::cluster_scoped(&workspace.uid),
            ),
            _ => (
                &self.facts.usages,
                ObjectKey::within(key.namespace(), &workspace.uid),
            ),
        };
        let used_by_provider = match usages.get(reader, &place) {
            Some(_) => Usage::Yes,
            None if usages.is_hidden(reader) => Usage::Hidden,
            None => Usage::No,
        };
        used(workspace, used_by_provider)
    }
}

/// A Workspace with who uses it. It is large, and copied only if it does not say so already.
fn used(mut workspace: Arc<WorkspaceSeen>, by_provider: Usage) -> Arc<WorkspaceSeen> {
    if workspace.used_by_provider != by_provider {
        Arc::make_mut(&mut workspace).used_by_provider = by_provider;
    }
    workspace
}

/// Objects that are known by an identity, in this namespace or none, and then those in other places.
fn known_by<T: PartialEq>(
    table: &Table<T>,
    reader: &Reader,
    namespace: &str,
    identity: &str,
    places: impl Iterator<Item = ObjectKey>,
) -> Vec<Arc<T>> {
    let mut known = table.find(reader, indexes::IDENTITY, identity);
    // Labels can be written by anybody, in any namespace.
    known.retain(|(place, _)| {
        let other = place.own_namespace();
        other.is_none_or(|other| other == namespace)
    });
    let (mut seen, mut found): (BTreeSet<ObjectKey>, Vec<Arc<T>>) = known.into_iter().unzip();
    for place in places {
        // To open an object takes long. Whoever found it by its identity hears of every change of it already.
        if !seen.contains(&place)
            && let Some(object) = table.get(reader, &place)
        {
            seen.insert(place);
            found.push(object);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        queue::Queue,
        table::{Index, Row},
        wakes::Wakes,
    };

    const BY_IDENTITY: &[Index<(String, u32)>] = &[Index {
        name: indexes::IDENTITY,
        finds: true,
        values: |_, (identity, _)| vec![identity.clone()],
    }];

    #[test]
    fn a_workspace_is_not_copied_to_say_what_it_says_already() {
        let kept = Arc::new(WorkspaceSeen::default());
        for (usage, is_same) in [(Usage::No, true), (Usage::Yes, false), (Usage::Hidden, false)] {
            let found = used(kept.clone(), usage);
            assert_eq!(found.used_by_provider, usage);
            assert_eq!(Arc::ptr_eq(&found, &kept), is_same, "{usage:?}");
        }
        assert_eq!(kept.used_by_provider, Usage::No, "others see it too");
    }

    #[tokio::test]
    async fn what_is_found_by_its_identity_is_not_asked_for_again_and_every_change_of_it_is_heard() {
        let queue = Arc::new(Queue::default());
        let wakes = Wakes::new(vec![queue.clone()]);
        let table = Table::new("things", &wakes, BY_IDENTITY);
        let put = |namespace: &str, name: &str, identity: &str, size: u32| {
            table.apply(Row {
                key: ObjectKey::within(namespace, name),
                version: 1,
                value: Some((identity.to_owned(), size)),
            });
        };
        let who = ObjectKey::within("n", "who");
        let places = ["a", "b", "gone"].map(|name| ObjectKey::within("n", name));
        // What was found, and what was asked for by its name.
        let read = || {
            let reader = wakes.reader(0, &who);
            let found = known_by(&table, &reader, "n", "me", places.iter().cloned());
            reader.finish();
            let sizes: Vec<u32> = found.iter().map(|thing| thing.1).collect();
            (sizes, places.each_ref().map(|place| table.is_read(place)))
        };
        let woken = async || {
            assert!(queue.depth() > 0, "nobody was woken");
            let key = queue.next().await;
            queue.done(&key);
        };
        put("n", "a", "me", 1);
        put("n", "b", "other", 2);
        assert_eq!(read(), (vec![1, 2], [false, true, true]));
        put("n", "a", "me", 3);
        woken().await;
        assert_eq!(read(), (vec![3, 2], [false, true, true]));
        // What loses its identity is still found by its name.
        put("n", "a", "nobody", 4);
        woken().await;
        assert_eq!(read(), (vec![4, 2], [true, true, true]));
        put("n", "gone", "nobody", 5);
        woken().await;
        put("elsewhere", "a", "me", 6);
        woken().await;
        assert_eq!(read().0, [4, 2, 5]);
    }
}
