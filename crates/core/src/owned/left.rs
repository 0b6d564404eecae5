//! What outlived a WorkspaceTemplateApply that somebody deleted: Workspaces that still say that they are that one's.
//!
//! Whether they were to be kept may have stood on the WorkspaceTemplateApply alone. So an owner that goes destroys nothing of
//! them by itself and does not leave them behind in silence either: it stays until a person says what becomes of them.

use capt_api::marks;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{ending::Fate, seen::OwnedSeen};
use crate::{commands, metadata, render::WorkspaceGroup, wta::snapshot::WorkspaceSeen};

/// Workspaces that outlived their WorkspaceTemplateApply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Name of the WorkspaceTemplateApply.
    pub apply: String,
    /// The Workspaces.
    pub workspaces: Vec<LeftWorkspace>,
}

/// A Workspace that outlived its WorkspaceTemplateApply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftWorkspace {
    /// Its resource and group, as kubectl takes them.
    pub resource: String,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// How it stands, in a few words.
    pub state: String,
}

impl LeftWorkspace {
    /// A Workspace that says that it belongs to a WorkspaceTemplateApply of this namespace.
    #[must_use]
    pub fn of(workspace: &WorkspaceSeen, namespace: &str) -> Self {
        let group = workspace.group.unwrap_or(WorkspaceGroup::Namespaced);
        let is_scoped = group == WorkspaceGroup::Namespaced;
        let ready = workspace.condition("Ready");
        let state = match ready {
            _ if workspace.deleting => "being deleted".to_owned(),
            Some(ready) if ready.status == "True" => "ready".to_owned(),
            Some(ready) => format!("not ready: {}", ready.reason),
            None => "not ready".to_owned(),
        };
        Self {
            resource: format!("workspaces.{}", group.name()),
            namespace: is_scoped.then(|| namespace.to_owned()),
            name: workspace.name.clone(),
            state,
        }
    }

    /// What a person types so that it belongs to nobody any more.
    fn to_set_free(&self) -> String {
        let object = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: self.namespace.clone(),
            ..ObjectMeta::default()
        };
        let labels = format!("{}-", marks::WTA_NAME);
        commands::kubectl(&format!("label {}", self.resource), &object, &labels)
    }
}

impl Left {
    /// What happened, in words.
    fn in_words(&self) -> String {
        let workspaces: Vec<String> = self
            .workspaces
            .iter()
            .map(|one| format!("{}/{} ({})", one.resource, one.name, one.state))
            .collect();
        format!(
            "Somebody deleted the WorkspaceTemplateApply {} before, and {} is left with all that it made",
            self.apply,
            workspaces.join(", ")
        )
    }

    /// What an owner that goes asks a person. `resource` is the owner's, as kubectl takes it.
    #[must_use]
    pub fn question(&self, resource: &str, owner: &ObjectMeta) -> String {
        let is_answered = metadata::annotation(owner, marks::LET_GO).is_some();
        let overwrite = if is_answered { " --overwrite" } else { "" };
        // An answer replaces the ones before it, which may be about others.
        let so_far: Vec<&str> = answers(owner).filter(|said| *said != "true").collect();
        let command = |answer: &str| {
            let all = [so_far.as_slice(), &[answer]].concat().join(",");
            let mark = format!("{}={all}{overwrite}", marks::LET_GO);
            commands::kubectl(&format!("annotate {resource}"), owner, &mark)
        };
        format!(
            "{}; whether that was to be kept is not known any more. To destroy it: {}. To keep it: {}",
            self.in_words(),
            command(&self.apply),
            command(&format!("{KEEP}{}", self.apply))
        )
    }

    /// What is told where an owner goes and this is kept.
    #[must_use]
    pub fn kept(&self) -> String {
        format!("{}. It is kept, as somebody wanted", self.in_words())
    }

    /// What is told of something that is not wanted any more, by an owner that lives.
    #[must_use]
    pub fn way_back(&self, what: &str) -> String {
        let free: Vec<String> = self.workspaces.iter().map(LeftWorkspace::to_set_free).collect();
        format!(
            "{}. To destroy it, write {what} into the spec again as it was, which takes it back, and then remove it from the \
             spec. To keep it: {}",
            self.in_words(),
            free.join("; ")
        )
    }
}

/// The answer by which everything stays that is left and not named.
const KEPT: &str = "false";
/// How an answer begins by which something that is left stays.
const KEEP: &str = "keep:";

/// What a person answered on an owner that asked what becomes of what is left of a WorkspaceTemplateApply. Whoever lets
/// something be destroyed names it: what is left later was not spoken about.
#[must_use]
pub fn answer(owner: &ObjectMeta, apply: &str) -> Option<Fate> {
    let said = |wanted: &dyn Fn(&str) -> bool| answers(owner).any(wanted);
    if said(&|one| one.strip_prefix(KEEP) == Some(apply)) {
        return Some(Fate::Retained);
    }
    if apply != KEPT && said(&|one| one == apply) {
        return Some(Fate::Destroyed);
    }
    said(&|one| one == KEPT).then_some(Fate::Retained)
}

/// All that a person answered.
fn answers(owner: &ObjectMeta) -> impl Iterator<Item = &str> {
    let all = metadata::annotation(owner, marks::LET_GO).unwrap_or_default();
    all.split(',').map(str::trim).filter(|one| !one.is_empty())
}

/// Whether a WorkspaceTemplateApply of an owner that goes may be deleted. One that was made again to end what is left has to
/// hold that first: before anybody has looked at it, it would go at once and leave everything as it was.
#[must_use]
pub fn may_end(owner: &ObjectMeta, seen: &OwnedSeen) -> bool {
    let finalizers = seen.wta.metadata.finalizers.as_deref().unwrap_or_default();
    let is_asked_for = answer(owner, seen.name()) == Some(Fate::Destroyed);
    !is_asked_for || seen.is_deleting() || !finalizers.is_empty()
}
