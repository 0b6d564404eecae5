//! A decision about a CAPTControlPlane while it is being made.

use std::time::Duration;

use capt_api::{
    CAPTControlPlane, CONTROL_PLANE_GROUP, VERSION,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State, OperationRecord},
    conditions::{
        ConditionStatus, Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
        find_condition,
    },
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use serde_json::json;

use super::{
    adoption, eks,
    fargate::beginning,
    judging::{Answer, Note, Verdict},
    kubeconfig,
    machine::{self, Goal, Line, Position},
    pauses, setup,
    snapshot::{self, Snapshot},
    view::{self, Said},
};
use crate::{
    decision::{self, Decision, Desired, Event, EventKind, OwnChange, Removal},
    metadata, names,
    owned::{self, Found, OwnedSeen, Owner, Role},
};

/// Group and version of a CAPTControlPlane.
pub(super) const API_VERSION: &str = "controlplane.cluster.x-k8s.io/v1beta1";

/// What is known, and what was decided so far.
pub(super) struct Deciding<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Timestamp,
    pub(super) owner: Owner<'a>,
    /// The WorkspaceTemplateApply of the EKS cluster.
    pub(super) found: Found<'a>,
    pub(super) children: Vec<Desired>,
    pub(super) removals: Vec<Removal>,
    pub(super) own: OwnChange<CAPTControlPlaneStatus>,
    pub(super) events: Vec<Event>,
    pub(super) status: CAPTControlPlaneStatus,
    /// What is made now for the first time, in words.
    pub(super) made: Option<String>,
    /// What lets others in is written, and not yet told.
    pub(super) is_prepared: bool,
    /// A request for another try could not be passed on to all that are stuck.
    pub(super) retry_is_kept: bool,
    said: Vec<Said>,
    /// The spec was looked at.
    has_looked: bool,
    look_again: Option<Duration>,
}

impl<'a> Deciding<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, now: Timestamp) -> Self {
        debug_assert_eq!(API_VERSION, format!("{CONTROL_PLANE_GROUP}/{VERSION}"));
        let cluster = snapshot.cluster.as_ref().map(|cluster| cluster.name.as_str());
        let label = metadata::label(&snapshot.control_plane.metadata, foreign_marks::CLUSTER_NAME);
        let owner = owner_of(&snapshot.control_plane, cluster.or(label));
        Self {
            snapshot,
            now,
            owner,
            found: eks_apply(&snapshot.control_plane, &snapshot.applies, &owner),
            children: Vec::new(),
            removals: Vec::new(),
            own: OwnChange::default(),
            events: Vec::new(),
            status: snapshot.control_plane.status.clone().unwrap_or_default(),
            made: None,
            is_prepared: false,
            retry_is_kept: false,
            said: Vec::new(),
            has_looked: false,
            look_again: None,
        }
    }

    pub(super) fn is_deleting(&self) -> bool {
        metadata::is_deleting(&self.snapshot.control_plane.metadata)
    }

    /// What a person asks for: another try.
    pub(super) fn retry(&self) -> Option<&'a str> {
        metadata::annotation(&self.snapshot.control_plane.metadata, marks::RETRY_REQUESTED)
    }

    pub(super) fn was_initialized(&self) -> bool {
        self.status.initialized
    }

    pub(super) fn history(&self) -> &[OperationRecord] {
        let progress = self.status.progress.as_ref();
        progress
            .and_then(|progress| progress.history.as_deref())
            .unwrap_or_default()
    }

    /// What must be on the object before anything is made for it.
    pub(super) fn prepare(&mut self) {
        let control_plane = &self.snapshot.control_plane;
        let profiles = control_plane.spec.additional_fargate_profiles.as_deref();
        let finalizers = [
            (marks::CAPTCONTROLPLANE_FINALIZER, true),
            (
                marks::FARGATE_PROFILES_FINALIZER,
                profiles.is_some_and(|profiles| !profiles.is_empty()),
            ),
        ];
        for (finalizer, is_needed) in finalizers {
            let is_there = metadata::has_finalizer(&control_plane.metadata, finalizer);
            if is_needed && !is_there && !self.is_deleting() {
                self.own.add_finalizers.push(finalizer.to_owned());
            }
        }
    }

    /// Time in which nothing was done is written down once it is over.
    pub(super) fn end_pause(&mut self) {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        let since = find_condition(conditions, Type::Paused.as_str())
            .filter(|paused| paused.status == "True")
            .map(|paused| paused.last_transition_time.0);
        if let Some(since) = since {
            let progress = self.status.progress.get_or_insert_default();
            let history = progress.history.get_or_insert_default();
            pauses::record(history, since, self.now);
        }
    }

    /// Puts a token into the kubeconfig that lasts longer than the one in it, says whether there is a valid one, and changes
    /// nothing else.
    pub(super) fn renew_token(&mut self) {
        let snapshot = self.snapshot;
        let (Some(cluster), Some(seen)) = (&snapshot.cluster, self.found.usable()) else {
            return;
        };
        let Some(kubeconfig) = snapshot.kubeconfig.as_ref().filter(|_| !self.is_deleting()) else {
            return;
        };
        if snapshot.token.is_none() && !kubeconfig.annotations.contains_key(marks::TOKEN_EXPIRES) {
            return;
        }
        let names = setup::Names {
            cluster: &cluster.name,
            in_aws: "",
            region: None,
        };
        let around = setup::look(snapshot, &self.owner, &names, seen, true, self.now);
        let name = kubeconfig::secret_name(&cluster.name);
        let renewed = around
            .secrets
            .into_iter()
            .filter(|secret| secret.target.name == name);
        self.children.extend(renewed);
        self.look_again(around.look_again);
        self.say(view::kubeconfig(&around.kubeconfig));
    }

    /// Says of what was under way when a pause began that nothing of it runs any more. The state stays as it was.
    pub(super) fn say_held_up(&mut self) {
        for told in self.status.conditions.clone().unwrap_or_default() {
            let words = (Type::from_word(&told.type_), Reason::from_word(&told.reason));
            let (Some(type_), Some(reason)) = words else {
                continue;
            };
            let message = match told.message.strip_prefix(eks::AT_WORK) {
                Some(rest) => format!("{}{rest}", owned::HELD_UP),
                None if (type_, reason) == (Type::Deleting, Reason::Deleting) => {
                    owned::held_up(&told.message)
                }
                None => continue,
            };
            self.say(Said {
                type_,
                status: (told.status == "True").into(),
                note: Note::new(reason, message),
            });
        }
    }

    /// Says something by a condition, in place of what was said by it before.
    pub(super) fn say(&mut self, said: Said) {
        self.said.retain(|other| other.type_ != said.type_);
        self.said.push(said);
    }

    /// Says something by a condition, which is news if it was not so before.
    pub(super) fn say_and_tell(&mut self, said: Said) {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        let before = find_condition(conditions, said.type_.as_str()).map(|before| before.status == "True");
        if before.unwrap_or_default() != (said.status == ConditionStatus::True) {
            self.tell(EventKind::Normal, said.note.reason, &said.note.message);
        }
        self.say(said);
    }

    /// Goes where the facts lead, and says so in every way.
    pub(super) fn arrive(&mut self, verdict: &Verdict, answer: &Answer) {
        let from = self.status.state.unwrap_or(State::Pending);
        let lines = machine::walk(from, verdict.goal);
        let state = lines.last().map_or(from, |line| line.to);
        self.tell_way(&lines, verdict, answer);
        if let Some(made) = self.made.take() {
            self.tell(EventKind::Normal, Reason::Creating, &made);
        }
        let position = Position::new(state, verdict.serves, self.was_initialized());
        view::show(&mut self.status, position, &verdict.note);
        for said in view::conditions(position, &verdict.note, answer) {
            self.say(said);
        }
        self.status.external_managed_control_plane = Some(true);
        self.has_looked = true;
    }

    /// The whole way that was gone at once is one piece of news: several would come at the same time, in no order.
    fn tell_way(&mut self, lines: &[&Line], verdict: &Verdict, answer: &Answer) {
        let Some((last, through)) = lines.split_last() else {
            return self.tell_silence(answer);
        };
        let Note { reason, message } = &verdict.note;
        // What is referred to and not there, or does not answer, is for somebody to see to.
        let is_silent = matches!(answer, Answer::Silent(_) | Answer::Dead(_));
        let is_warning = match last.to {
            State::Failed | State::Degraded | State::Validating => true,
            State::Configuring => is_silent,
            _ => false,
        };
        let kind = if is_warning {
            EventKind::Warning
        } else {
            EventKind::Normal
        };
        let begin = through.first().map_or(last.from, |line| line.from);
        let stops = through
            .iter()
            .map(|line| format!("{:?} ({})", line.to, line.because));
        let way: Vec<String> = stops.chain([format!("{:?}", last.to)]).collect();
        let made = self
            .made
            .take()
            .map_or_else(String::new, |made| format!(". {made}"));
        let way = way.join(" -> ");
        self.tell(kind, *reason, &format!("{begin:?} -> {way}: {message}{made}"));
    }

    /// That an API server does not answer is told once, also where nothing else comes of it.
    fn tell_silence(&mut self, answer: &Answer) {
        let (Answer::Silent(message) | Answer::Dead(message)) = answer else {
            return;
        };
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        let before = find_condition(conditions, Type::EndpointAnswers.as_str());
        if before.is_none_or(|before| before.status != "False") {
            self.tell(EventKind::Warning, Reason::EndpointNotReady, message);
        }
    }

    /// The generation that the status will speak about: writing our own fields makes another one.
    fn generation(&self) -> Option<i64> {
        let generation = self.snapshot.control_plane.metadata.generation?;
        Some(generation + i64::from(!self.own.spec.is_empty()))
    }

    pub(super) fn tell(&mut self, kind: EventKind, reason: Reason, message: &str) {
        self.events.push(event(kind, reason, message));
    }

    /// Decides again after this time, unless there is reason to do so sooner.
    pub(super) fn look_again(&mut self, after: Option<Duration>) {
        // A moment that has come needs no other decision than this one.
        let after = after.filter(|after| !after.is_zero());
        self.look_again = [self.look_again, after].into_iter().flatten().min();
    }

    /// The decision.
    pub(super) fn finish(mut self) -> Decision<CAPTControlPlaneStatus> {
        if !self.own.add_finalizers.is_empty() {
            return self.hold();
        }
        let generation = self.generation();
        if self.has_looked {
            self.status.observed_generation = generation;
        }
        let conditions = self.status.conditions.take().unwrap_or_default();
        self.status.conditions = Some(view::merge(&conditions, &self.said, generation, self.now));
        // Nobody can write the status of an object that is gone.
        let is_leaving = self.is_deleting() && !self.own.remove_finalizers.is_empty();
        let before = self.snapshot.control_plane.status.as_ref();
        if !is_leaving && before != Some(&self.status) {
            let is_progress = before.is_some_and(|before| beginning::is_all(before, &self.status));
            // The address in the spec made another generation, which is told with the rest when all is there.
            let is_echo = self.is_prepared
                && self.events.is_empty()
                && !self.was_unwell()
                && before.is_some_and(|before| is_told_of_another_generation(before, &self.status));
            self.own.tells_progress = is_echo || (is_progress && self.is_repeatable());
            self.own.status = Some(self.status);
        }
        Decision {
            children: self.children,
            removals: self.removals,
            own: self.own,
            events: self.events,
            look_again: self.look_again,
        }
    }

    /// Whether the next look comes to the same, should nothing be told by this one. A spec that is put right, a request
    /// that is answered and a Secret that was missing are seen once.
    fn is_repeatable(&self) -> bool {
        let mut marks = self.own.annotations.keys();
        let is_loss = |child: &Desired| child.loss.is_some();
        self.own.spec.is_empty()
            && marks.all(|mark| mark == marks::TURN)
            && !self.children.iter().any(is_loss)
    }

    /// Nothing is made before the object is held. What the first child will be called, and that it has the turn, is
    /// written down in the same write.
    fn hold(self) -> Decision<CAPTControlPlaneStatus> {
        let mut own = OwnChange {
            add_finalizers: self.own.add_finalizers,
            ..OwnChange::default()
        };
        let metadata = &self.snapshot.control_plane.metadata;
        let is_named = self
            .snapshot
            .control_plane
            .spec
            .workspace_template_apply_name
            .is_some();
        if let (Found::Absent { name }, false) = (&self.found, is_named)
            && metadata::annotation(metadata, marks::TURN).is_none()
            && self.snapshot.applies.is_empty()
        {
            own.spec
                .insert("workspaceTemplateApplyName".to_owned(), json!(name));
            own.annotations.insert(marks::TURN.to_owned(), Some(name.clone()));
            own.only_if_unchanged = true;
        }
        Decision {
            own,
            ..Decision::default()
        }
    }
}

/// Whether a status says the same as the one before, but in other words or of another generation.
fn is_told_of_another_generation(before: &CAPTControlPlaneStatus, new: &CAPTControlPlaneStatus) -> bool {
    let verdicts = |status: &CAPTControlPlaneStatus| {
        let conditions = status.conditions.iter().flatten();
        let verdict = |one: &Condition| (one.type_.clone(), one.status.clone(), one.reason.clone());
        conditions.map(verdict).collect::<Vec<_>>()
    };
    before.state == new.state && before.ready == new.ready && verdicts(before) == verdicts(new)
}

pub(super) fn event(kind: EventKind, reason: Reason, message: &str) -> Event {
    Event {
        kind,
        reason: reason.as_str().to_owned(),
        message: decision::news(reason.as_str(), message),
    }
}

/// The WorkspaceTemplateApply of the EKS cluster.
fn eks_apply<'a>(control_plane: &CAPTControlPlane, applies: &'a [OwnedSeen], owner: &Owner<'_>) -> Found<'a> {
    owned::find(
        owner,
        &Role::Eks,
        control_plane.spec.workspace_template_apply_name.as_deref(),
        &names::eks_apply(owner.name),
        &adoption::former_names(owner.name, applies),
        applies,
    )
}

/// The WorkspaceTemplateApply of the EKS cluster of a control plane, if there is one that may be written to, among those
/// that a snapshot has.
#[must_use]
pub fn apply_of<'a>(control_plane: &CAPTControlPlane, applies: &'a [OwnedSeen]) -> Option<&'a OwnedSeen> {
    let owner = owner_of(control_plane, snapshot::cluster_of(control_plane));
    eks_apply(control_plane, applies, &owner).usable()
}

/// The name that the WorkspaceTemplateApply of the EKS cluster of a control plane has, or will have.
#[must_use]
pub fn apply_name(control_plane: &CAPTControlPlane, applies: &[OwnedSeen]) -> String {
    let owner = owner_of(control_plane, snapshot::cluster_of(control_plane));
    eks_apply(control_plane, applies, &owner).name().to_owned()
}

/// A control plane as an owner.
fn owner_of<'a>(control_plane: &'a CAPTControlPlane, cluster: Option<&'a str>) -> Owner<'a> {
    let metadata = &control_plane.metadata;
    Owner {
        api_version: API_VERSION,
        kind: "CAPTControlPlane",
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        name: metadata.name.as_deref().unwrap_or_default(),
        uid: metadata.uid.as_deref().unwrap_or_default(),
        cluster,
    }
}

/// The goal of something that nothing is known about.
pub(super) fn waiting(reason: Reason, message: &str) -> Verdict {
    Verdict {
        goal: Goal::Pending,
        serves: false,
        note: Note::new(reason, message),
    }
}
