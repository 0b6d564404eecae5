//! A WorkspaceTemplateApply as its owner sees it.

use capt_api::{
    WorkspaceTemplateApply,
    conditions::{Word as _, find_condition, workspacetemplateapply::WorkspaceTemplateApplyReason as Reason},
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

use super::{
    glance::{RunGlance, Trouble, WorkspaceGlance},
    standing::{Standing, standing},
};
use crate::{commands, render::WorkspaceGroup};

/// The type of Secrets that outputs are written to.
const CONNECTION_SECRET: &str = "connection.crossplane.io/v1alpha1";

/// A WorkspaceTemplateApply as its owner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedSeen {
    /// The object. Gather it from the cache of WorkspaceTemplateApplies.
    pub wta: WorkspaceTemplateApply,
    /// What went wrong, if its condition Synced is False for the reason `ReconcileError`. Gather it from the message of
    /// that condition: made readable by `capt_terraform::diagnostics::readable`, and judged by `classify_text`.
    pub trouble: Option<Trouble>,
    /// The Workspace that its annotation `workspace` names, if that exists; for one that is going away and has no such
    /// annotation, the only one that says by its labels that it is this one's. Gather it from the caches of Workspaces.
    pub workspace: Option<WorkspaceGlance>,
    /// What our runner tells. Gather it from the ConfigMap [`crate::names::run_report`] beside the Workspace; there is
    /// none with another runner.
    pub run: Option<RunGlance>,
}

impl OwnedSeen {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.wta.metadata.name.as_deref().unwrap_or_default()
    }

    /// What a person types to ask for another try, of the owner if there is one: that passes it down.
    #[must_use]
    pub fn retry_command(&self) -> String {
        retry_command(&self.wta.metadata)
    }

    /// What a person does about what Terraform failed with, be it that he changes this or not.
    #[must_use]
    pub fn way_out_of_failure(&self, changes: &str) -> String {
        let says = |type_: &str, reason: Reason| {
            let condition = self.condition(type_);
            condition.is_some_and(|condition| condition.reason == reason.as_str())
        };
        // What failed leaves the turn to others, and nothing gives it back by itself.
        let has_its_turn = !says("Waiting", Reason::WaitingForTurn);
        if says("Applied", Reason::InputMissing) && has_its_turn {
            return format!("It goes on by itself when that is there, or when you change {changes}");
        }
        format!(
            "Change {changes}, or mend what it fails with and ask for another try: {}",
            self.retry_command()
        )
    }

    /// What is wrong with its module, with where that is to be mended.
    #[must_use]
    pub fn naming_template(&self, problem: &str) -> String {
        let template = &self.wta.spec.template_ref;
        let namespace = template
            .namespace
            .as_ref()
            .map_or_else(String::new, |other| format!(" in namespace {other}"));
        let problem = problem.trim_end_matches('.');
        format!(
            "{problem} (module of the WorkspaceTemplate {}{namespace})",
            template.name
        )
    }

    /// Its uid.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.wta.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether it is going away.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.wta.metadata.deletion_timestamp.is_some()
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        annotation(&self.wta.metadata, name)
    }

    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.wta.metadata.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// Its condition of a type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        let status = self.wta.status.as_ref()?;
        find_condition(status.conditions.as_deref().unwrap_or_default(), type_)
    }

    /// Whether its condition of a type is True.
    #[must_use]
    pub fn is(&self, type_: &str) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition.status == "True")
    }

    /// That a person paused its Workspace, and what to do.
    #[must_use]
    pub fn paused_by_hand(&self) -> Option<String> {
        let (source, end) = self.pause_of_workspace()?;
        Some(format!(
            "Nothing is done, because {source}. To end the pause: {end}"
        ))
    }

    /// Through what a person paused it or its Workspace, and how that ends. What its owner and its Cluster are paused by
    /// pauses it too, and is told by those.
    #[must_use]
    pub fn pause(&self) -> Option<String> {
        let own = self.annotation(foreign_marks::PAUSED).map(|_| {
            let end = format!("{}-", foreign_marks::PAUSED);
            (
                format!(
                    "the WorkspaceTemplateApply {} has the annotation {}",
                    self.name(),
                    foreign_marks::PAUSED
                ),
                commands::kubectl("annotate wtapply", &self.wta.metadata, &end),
            )
        });
        let (sources, ends): (Vec<String>, Vec<String>) =
            own.into_iter().chain(self.pause_of_workspace()).unzip();
        let pauses = match ends.len() {
            0 => return None,
            1 => "the pause",
            _ => "both pauses",
        };
        let (sources, ends) = (sources.join(", and "), ends.join(" and "));
        Some(format!("{sources}. To end {pauses}: {ends}"))
    }

    /// Through what a person paused its Workspace, and the command that ends that.
    fn pause_of_workspace(&self) -> Option<(String, String)> {
        let workspace = self.workspace.as_ref().filter(|seen| seen.paused_by_hand)?;
        let recorded = self.annotation(marks::WORKSPACE);
        let group = recorded
            .and_then(|recorded| WorkspaceGroup::from_name(recorded.split_once('/')?.0))
            .unwrap_or(WorkspaceGroup::Namespaced);
        let namespace = self.wta.metadata.namespace.clone();
        let metadata = ObjectMeta {
            name: Some(workspace.name.clone()),
            namespace: namespace.filter(|_| group == WorkspaceGroup::Namespaced),
            ..ObjectMeta::default()
        };
        let mark = foreign_marks::CROSSPLANE_PAUSED;
        let source = format!("the Workspace {} has the annotation {mark}", workspace.name);
        let what = format!("annotate workspaces.{}", group.name());
        Some((source, commands::kubectl(&what, &metadata, &format!("{mark}-"))))
    }

    /// Whether a person paused it or its Workspace.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let is_asked_for = self.annotation(foreign_marks::PAUSED).is_some();
        is_asked_for || self.is("Paused") || self.paused_by_hand().is_some()
    }

    /// Whether something is known to run for it, which a pause lets come to its end. Nobody tells of a change that
    /// provider-terraform makes to what is there.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        let word = |type_: &str| {
            self.condition(type_)
                .map(|condition| (condition.status.as_str(), condition.reason.as_str()))
        };
        let is_made = || word("Ready") == Some(("False", "Creating")) && self.is("Synced");
        let is_running = self.run.as_ref().map_or_else(is_made, |run| run.is_running);
        // That nothing runs any more is proved then, whatever a report says that nobody brought to its end.
        is_running && word("Paused") != Some(("True", "Paused"))
    }

    /// Whether it is known that nothing runs for it. Another runner than ours proves that only by resting.
    #[must_use]
    pub fn is_known_to_rest(&self) -> bool {
        let is_told = self.run.is_some() && !self.is_at_work();
        !self.has_workspace() || is_told || self.is_at_rest()
    }

    /// Whether it is proved that nothing runs for it.
    fn is_at_rest(&self) -> bool {
        let says = |type_: &str, status: &str, reason: &str| {
            self.condition(type_)
                .is_some_and(|condition| condition.status == status && condition.reason == reason)
        };
        says("Paused", "True", "Paused") || says("Synced", "False", "ReconcilePaused")
    }

    /// Whether somebody else changed its infrastructure, and that is mended when it is its turn.
    #[must_use]
    pub fn is_to_be_mended(&self) -> bool {
        let found = self.workspace.as_ref().and_then(|seen| seen.drifted_at.as_ref());
        let mended = self.run.as_ref().and_then(|run| run.mended.as_ref());
        found.is_some() && found != mended
    }

    /// Whether it is known that nothing was ever made for it. Only our runner tells whether a creation that failed left
    /// something.
    #[must_use]
    pub fn made_nothing(&self) -> bool {
        let status = self.wta.status.as_ref();
        let was_ready = status.is_some_and(|status| status.ready_revision.is_some());
        let rests = self
            .run
            .as_ref()
            .is_some_and(|run| !run.is_running && !run.is_in_doubt);
        let is_empty = self.workspace.as_ref().is_some_and(|seen| seen.made_nothing);
        !was_ready && rests && is_empty
    }

    /// Whether the destruction of its infrastructure has begun: its Workspace is going away, which cannot be taken back.
    #[must_use]
    pub fn is_being_destroyed(&self) -> bool {
        self.is_deleting() && self.workspace.as_ref().is_some_and(|seen| seen.deleting)
    }

    /// Whether its infrastructure stays when it goes.
    #[must_use]
    pub fn is_retained(&self) -> bool {
        self.wta.spec.retain_workspace_on_delete == Some(true)
    }

    /// Whether there is, or may be, infrastructure behind it.
    #[must_use]
    pub fn has_workspace(&self) -> bool {
        let status = self.wta.status.as_ref();
        self.annotation(capt_api::marks::WORKSPACE).is_some()
            || status.is_some_and(|status| status.workspace_name.is_some())
    }

    /// Name of its Workspace, or where that is not known what it is called itself.
    #[must_use]
    pub fn workspace_name(&self) -> &str {
        self.told_workspace().unwrap_or_else(|| self.name())
    }

    /// Name of its Workspace, once it tells that. It has written it down where nobody edits it by mistake, and that counts.
    #[must_use]
    pub fn told_workspace(&self) -> Option<&str> {
        let told = self.wta.status.as_ref()?.workspace_name.as_deref()?;
        let recorded = self.annotation(capt_api::marks::WORKSPACE);
        let recorded = recorded.and_then(|recorded| recorded.split_once('/'));
        Some(recorded.map_or(told, |(_, name)| name))
    }

    /// Whether a Secret that exists is somebody else's, so that no runner writes outputs to it: by its type, and by kind and
    /// name of its controller.
    #[must_use]
    pub fn cannot_write_to(&self, type_: &str, controller: Option<(&str, &str)>) -> bool {
        let workspace = self.told_workspace();
        match controller {
            Some((kind, name)) => kind != "Workspace" || workspace.is_some_and(|own| own != name),
            None => !type_.is_empty() && type_ != CONNECTION_SECRET,
        }
    }

    /// Whether its status speaks about its spec as it is now.
    #[must_use]
    pub fn is_observed(&self) -> bool {
        let observed = self
            .wta
            .status
            .as_ref()
            .and_then(|status| status.observed_generation);
        observed.is_some() && observed == self.wta.metadata.generation
    }

    /// Whether the infrastructure that the Workspace stands for now is there and works, whatever it should become.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.is_real() && self.is("Synced") && self.is("Ready")
    }

    /// Whether the infrastructure was there and worked when its Workspace was put to rest by a pause. One that rests is not
    /// synced, and none the worse for that.
    #[must_use]
    pub fn rests_well(&self) -> bool {
        let synced = self.condition("Synced");
        let rests =
            synced.is_some_and(|synced| synced.status == "False" && synced.reason == "ReconcilePaused");
        // What failed before is put to rest too.
        rests && self.is_real() && self.is("Ready") && self.annotation(marks::FAILED).is_none()
    }

    /// Whether something else is wanted than what Terraform last made real.
    #[must_use]
    pub fn is_change(&self) -> bool {
        let status = self.wta.status.as_ref();
        !self.is_observed() || !status.is_some_and(|status| status.applied) || !self.is_real()
    }

    /// Hash of the rendering that is wanted of it, as far as it is known.
    #[must_use]
    pub fn wanted_revision(&self) -> Option<&str> {
        wanted_revision(&self.wta)
    }

    /// Hash of the rendering that Terraform last made real. One that was made again does not know it before it has found its
    /// Workspace; until then it is what its owner told last.
    #[must_use]
    pub fn real_revision<'a>(&'a self, told: Option<&'a str>) -> Option<&'a str> {
        let status = self.wta.status.as_ref();
        status
            .and_then(|status| status.ready_revision.as_deref())
            .or(told)
    }

    /// Whether another rendering is wanted than the real one. That something of the objects is made or written again is no
    /// change of what they stand for.
    #[must_use]
    pub fn wants_other(&self, told: Option<&str>) -> bool {
        let wanted = self.wanted_revision();
        wanted.is_some() && (wanted != self.real_revision(told) || self.is_half_changed())
    }

    /// Whether Terraform got another rendering than the real one, which may be real in part. What goes back from there is a
    /// change like every other.
    #[must_use]
    pub fn is_half_changed(&self) -> bool {
        let status = self.wta.status.as_ref();
        status.is_some_and(|status| status.tried_revision.is_some())
    }

    /// Whether Terraform may be at work on the rendering that the Workspace has, or about to be.
    #[must_use]
    pub fn may_have_begun(&self) -> bool {
        let is_told = self.run.is_some();
        match standing(self) {
            Standing::Working => true,
            // Nobody tells what another runner does; only that it rests is proved.
            Standing::Retrying { .. } if !is_told => true,
            Standing::Waiting { reason, .. } if !is_told && reason == Reason::Paused => !self.is_at_rest(),
            _ => self.is_at_work(),
        }
    }

    /// Whether Terraform failed last, as far as its Workspace tells.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let synced = self.condition("Synced");
        synced.is_some_and(|synced| synced.status == "False" && synced.reason == "ReconcileError")
    }

    /// Whether Terraform made real what the Workspace holds.
    fn is_real(&self) -> bool {
        let status = self.wta.status.as_ref();
        status.is_some_and(|status| status.is_real(status.last_applied_revision.as_ref()))
    }
}

/// As [`OwnedSeen::wanted_revision`].
pub(super) fn wanted_revision(wta: &WorkspaceTemplateApply) -> Option<&str> {
    let status = wta.status.as_ref()?;
    let pending = status.pending_revision.as_deref();
    pending.or(status.last_applied_revision.as_deref())
}

/// As [`OwnedSeen::retry_command`].
pub(crate) fn retry_command(metadata: &ObjectMeta) -> String {
    let labels = metadata.labels.as_ref();
    let owner = labels.and_then(|labels| labels.get(marks::OWNER)?.split_once('.'));
    match owner {
        Some((kind, name)) => {
            let owner = ObjectMeta {
                name: Some(name.to_owned()),
                namespace: metadata.namespace.clone(),
                ..ObjectMeta::default()
            };
            commands::capt(&format!("retry {}", kind.to_lowercase()), &owner, "")
        }
        None => commands::capt("retry wtapply", metadata, ""),
    }
}

/// The value of an annotation.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}
