//! Objects of ours that somebody took off what they are found by, so that it comes back: the labels of state, and the label
//! and the owner of a report.
//!
//! Watches tell of every object whether it has these; whose it is, its name tells. Where nobody takes anything off, nothing is
//! kept here and nothing is asked.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_api::marks;
use capt_core::{names, tenancy::WatchScope};
use capt_terraform::state::{
    LABEL_MANAGED_BY, LABEL_STATE, LABEL_SUFFIX, LABEL_WORKSPACE, Location, part_index,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};
use tokio::{task::JoinSet, time::sleep};

use super::states::{self, is_state};
use crate::{
    api::{CallError, words},
    context::Context,
    decide::{Answers, PEACE, Whose, answered, backoff},
    inputs::{self, Home, ObjectKind, ObjectRef},
    report::{self, Page},
    view::WorkspaceView,
    workspace::{claim, home_of},
};

/// Whether an object that is named like one of ours lacks what ours are found by.
pub(crate) fn is_bare(kind: ObjectKind, metadata: &ObjectMeta) -> bool {
    let name = metadata.name.as_deref().unwrap_or_default();
    match kind {
        ObjectKind::Secret => is_state(name) && !has_labels_of_state(name, metadata),
        ObjectKind::ConfigMap => names::is_run_report(name) && !has_marks_of_report(metadata),
    }
}

/// Whether the labels are there by which Terraform finds its state, and lead to this name.
fn has_labels_of_state(name: &str, metadata: &ObjectMeta) -> bool {
    let label = |name: &str| metadata.labels.as_ref()?.get(name).map(String::as_str);
    let (state, is_state) = LABEL_STATE;
    let location = label(LABEL_WORKSPACE)
        .zip(label(LABEL_SUFFIX))
        .and_then(|(workspace, suffix)| Location::new(workspace, suffix).ok());
    label(state) == Some(is_state)
        && label(LABEL_MANAGED_BY.0).is_some()
        && location.is_some_and(|location| location.secret_name(part_index(name)) == name)
}

fn has_marks_of_report(metadata: &ObjectMeta) -> bool {
    let labels = metadata.labels.as_ref();
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    labels
        .and_then(|labels| labels.get(marks::RUN_OF))
        .is_some_and(|uid| owners.iter().any(|owner| owner.uid == *uid))
}

/// Whether an object bears the name of a Workspace's state or report.
pub(crate) fn is_named_after(object: &ObjectRef, view: &WorkspaceView, runner_namespace: &str) -> bool {
    let ObjectRef {
        kind,
        namespace,
        name,
    } = object;
    match kind {
        ObjectKind::Secret => states::home(view)
            .is_some_and(|home| states::homes(namespace, name).any(|candidate| candidate == home)),
        ObjectKind::ConfigMap => {
            namespace == view.home_namespace(runner_namespace) && *name == report::name_of(view)
        }
    }
}

/// Whether nothing that is left on an object says that it is about something else than this Workspace.
fn may_be_of(object: &ObjectRef, metadata: &ObjectMeta, view: &WorkspaceView) -> bool {
    let annotations = metadata.annotations.as_ref();
    let owner = annotations.and_then(|annotations| annotations.get(marks::STATE_OF));
    match object.kind {
        ObjectKind::Secret => owner.is_none_or(|owner| *owner == claim(view)),
        ObjectKind::ConfigMap => view.identity().is_told_by(metadata),
    }
}

/// Objects that somebody took something off.
#[derive(Default)]
pub(crate) struct Stripped {
    bare: HashMap<ObjectRef, Bare>,
    /// When something was last given back, and how often in a row.
    answers: HashMap<ObjectRef, Answers>,
    tasks: JoinSet<(ObjectRef, Given)>,
}

/// One of them.
struct Bare {
    /// How it is; nothing if it has everything again.
    metadata: Option<ObjectMeta>,
    /// Somebody is giving it back what it lacks.
    is_worked_on: bool,
    /// It was told again since that began.
    is_told_again: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// It is over, well or not.
    Over,
    /// It may succeed later.
    NotYet,
}

impl Stripped {
    /// A watch tells of an object. Says whether something has to be given back.
    pub(crate) fn note(&mut self, object: &ObjectRef, bare: Option<ObjectMeta>) -> bool {
        let is_worked_on = self.bare.get(object).is_some_and(|bare| bare.is_worked_on);
        let is_whole = bare.is_none();
        // Who works on it comes back, and must find no other one in its place.
        if is_whole && !is_worked_on {
            self.bare.remove(object);
            return false;
        }
        let bare = Bare {
            metadata: bare,
            is_worked_on,
            is_told_again: is_worked_on && !is_whole,
        };
        self.bare.insert(object.clone(), bare);
        !is_worked_on
    }

    /// A watch lists all objects of a kind and scope anew.
    pub(crate) fn forget(&mut self, kind: ObjectKind, scope: &WatchScope) {
        let is_listed = |object: &ObjectRef| object.kind == kind && scope.contains(&object.namespace);
        self.bare
            .retain(|object, bare| !is_listed(object) || bare.is_worked_on);
        for (_, bare) in self.bare.iter_mut().filter(|(object, _)| is_listed(object)) {
            (bare.metadata, bare.is_told_again) = (None, false);
        }
    }

    /// Those that bear the name of a Workspace's state or report.
    pub(crate) fn named_after(&self, view: &WorkspaceView, runner_namespace: &str) -> Vec<ObjectRef> {
        let waiting = self.bare.iter().filter(|(_, bare)| !bare.is_worked_on);
        waiting
            .map(|(object, _)| object)
            .filter(|object| is_named_after(object, view, runner_namespace))
            .cloned()
            .collect()
    }

    /// Begins to give an object back what it lacks, if it is of one of these Workspaces.
    pub(crate) fn begin(&mut self, ctx: &Arc<Context>, object: &ObjectRef, named: &[&WorkspaceView]) {
        let Some(bare) = self.bare.get_mut(object).filter(|bare| !bare.is_worked_on) else {
            return;
        };
        let Some(seen) = bare.metadata.clone() else { return };
        let mut views = named.iter().copied();
        let Some(view) = views.find(|view| may_be_of(object, &seen, view)) else {
            return;
        };
        bare.is_worked_on = true;
        bare.is_told_again = false;
        let wait = self.wait(object, ctx.now());
        let (ctx, object, view) = (ctx.clone(), object.clone(), view.clone());
        self.tasks.spawn(async move {
            sleep(wait).await;
            let given = give_back(&ctx, &object, &seen, &view).await;
            (object, given)
        });
    }

    /// How long an object waits. Who takes it off again and again is not answered as often.
    fn wait(&mut self, object: &ObjectRef, now: Timestamp) -> Duration {
        self.answers.retain(|_, (at, _)| {
            let ago = Duration::try_from(now.duration_since(*at)).unwrap_or_default();
            ago < PEACE
        });
        let before = self.answers.get(object).copied();
        self.answers.insert(object.clone(), answered(before, now));
        before.map_or(Duration::ZERO, |(_, count)| backoff(count, &object.name))
    }

    /// Waits for one that is over. Says which has to be seen to again; never comes back while there is none.
    pub(crate) async fn next_left(&mut self) -> ObjectRef {
        loop {
            match self.tasks.join_next().await {
                None => std::future::pending().await,
                Some(Err(error)) => tracing::error!(%error, "giving something back broke off"),
                Some(Ok((object, given))) => {
                    let Some(bare) = self.bare.get_mut(&object) else {
                        continue;
                    };
                    bare.is_worked_on = false;
                    if bare.metadata.is_some() && (given == Given::NotYet || bare.is_told_again) {
                        return object;
                    }
                    self.bare.remove(&object);
                }
            }
        }
    }
}

async fn give_back(ctx: &Context, object: &ObjectRef, seen: &ObjectMeta, view: &WorkspaceView) -> Given {
    match try_give_back(ctx, object, seen, view).await {
        Ok(true) => {
            tracing::info!(%object, "somebody took off what it is found by, and it was put back");
            Given::Over
        }
        Ok(false) => Given::Over,
        Err(error) if error.is_transient() => Given::NotYet,
        // It is gone, or another one by now, of which a watch tells.
        Err(error) if error.is_not_found() || error.is_conflict() => Given::Over,
        Err(error) => {
            let error = words(&error);
            tracing::warn!(%object, error, "what it is found by was taken off and cannot be put back");
            Given::Over
        }
    }
}

/// Says whether it was this Workspace's to do.
async fn try_give_back(
    ctx: &Context,
    object: &ObjectRef,
    seen: &ObjectMeta,
    view: &WorkspaceView,
) -> Result<bool, CallError> {
    if ctx.whose_now(view).await? != Whose::Ours {
        return Ok(false);
    }
    match object.kind {
        ObjectKind::ConfigMap => {
            let page = Page::new(&ctx.client, view, &ctx.options.system_namespace);
            page.mark(seen).await?;
        }
        ObjectKind::Secret => {
            let prepared = inputs::load(view, &ctx.lookup, &ctx.surroundings).await;
            let Ok(Some(Home::Ours(place))) = home_of(view, &prepared) else {
                return Ok(false);
            };
            let name = place.location.secret_name(part_index(&object.name));
            if (&place.namespace, &name) != (&object.namespace, &object.name) {
                return Ok(false);
            }
            ctx.store.label(&place, &name, seen).await?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn is_bare_with(kind: ObjectKind, name: &str, labels: &Value, owners: &Value) -> bool {
        let metadata = json!({"name": name, "labels": labels, "ownerReferences": owners});
        is_bare(kind, &serde_json::from_value(metadata).expect("metadata"))
    }

    #[test]
    fn a_state_is_bare_unless_its_labels_lead_to_its_name() {
        let whole = json!({
            "tfstate": "true", "app.kubernetes.io/managed-by": "terraform",
            "tfstateWorkspace": "prod-vpc", "tfstateSecretSuffix": "capt",
        });
        let bare = |name: &str, labels: &Value| is_bare_with(ObjectKind::Secret, name, labels, &Value::Null);
        assert!(!bare("tfstate-prod-vpc-capt", &whole));
        assert!(!bare("tfstate-prod-vpc-capt-part-1", &whole));
        assert!(!bare("staged-tfstate-prod-vpc-capt", &json!({})));
        assert!(!bare("something-else", &json!({})));
        assert!(bare("tfstate-prod-vpc-capt", &Value::Null));
        assert!(bare("tfstate-other-capt", &whole));
        for label in [
            "tfstate",
            "app.kubernetes.io/managed-by",
            "tfstateWorkspace",
            "tfstateSecretSuffix",
        ] {
            let mut labels = whole.clone();
            labels.as_object_mut().expect("labels").remove(label);
            assert!(bare("tfstate-prod-vpc-capt", &labels), "{label}");
        }
    }

    #[test]
    fn a_report_is_bare_without_its_label_or_its_owner() {
        let name = names::run_report("tf.m.upbound.io", "vpc");
        let labels = json!({(marks::RUN_OF): "u"});
        let owners =
            |uid: &str| json!([{"apiVersion": "v1", "kind": "Workspace", "name": "vpc", "uid": uid}]);
        let bare = |name: &str, labels: &Value, owners: &Value| {
            is_bare_with(ObjectKind::ConfigMap, name, labels, owners)
        };
        assert!(!bare(&name, &labels, &owners("u")));
        assert!(!bare("nightly-run", &Value::Null, &Value::Null));
        assert!(bare(&name, &Value::Null, &owners("u")));
        assert!(bare(&name, &labels, &Value::Null));
        assert!(bare(&name, &labels, &owners("other")));
    }

    #[tokio::test]
    async fn what_is_bare_again_while_somebody_sees_to_it_is_seen_to_once_more() {
        let object = ObjectRef {
            kind: ObjectKind::ConfigMap,
            namespace: "ns".to_owned(),
            name: "vpc-run".to_owned(),
        };
        let bare = || Some(ObjectMeta::default());
        let working = |given: Given| {
            let mut stripped = Stripped::default();
            assert!(stripped.note(&object, bare()));
            stripped.bare.get_mut(&object).expect("an entry").is_worked_on = true;
            let done = (object.clone(), given);
            stripped.tasks.spawn(async move { done });
            stripped
        };
        let left = async |mut stripped: Stripped| {
            let left = tokio::time::timeout(Duration::from_secs(1), stripped.next_left()).await;
            (left.is_ok(), stripped.bare.len())
        };
        tokio::time::pause();
        for (given, notes, expected) in [
            (Given::Over, vec![], (false, 0)),
            (Given::NotYet, vec![], (true, 1)),
            (Given::Over, vec![bare()], (true, 1)),
            (Given::NotYet, vec![None], (false, 0)),
            (Given::Over, vec![None, bare()], (true, 1)),
        ] {
            let mut stripped = working(given);
            for note in notes.clone() {
                assert!(!stripped.note(&object, note), "somebody is at it");
            }
            assert_eq!(left(stripped).await, expected, "{given:?} {notes:?}");
        }
    }

    #[test]
    fn what_is_taken_off_again_and_again_comes_back_less_and_less_soon() {
        let mut stripped = Stripped::default();
        let object = ObjectRef {
            kind: ObjectKind::Secret,
            namespace: "ns".to_owned(),
            name: "tfstate-vpc-capt".to_owned(),
        };
        let at = |second: i64| Timestamp::from_second(second).expect("a valid time");
        assert_eq!(stripped.wait(&object, at(0)), Duration::ZERO);
        let waits = [1, 2, 3].map(|second| stripped.wait(&object, at(second)));
        assert!(
            Duration::ZERO < waits[0] && waits[0] < waits[1] && waits[1] < waits[2],
            "{waits:?}"
        );
        assert_eq!(stripped.wait(&object, at(700)), Duration::ZERO);
    }
}
