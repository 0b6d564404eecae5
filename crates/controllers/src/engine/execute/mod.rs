//! Carries out a decision, in the order that `capt_core::decision` asks for, and stops at the first thing that fails.
//!
//! What a decision was made about may have changed since. Then nothing is written and the object is looked at again:
//! that is no failure.

mod child;
mod events;
mod order;
mod own;
mod ownership;
mod removal;
mod telling;
#[cfg(test)]
mod testing;

use std::{sync::Arc, time::Duration};

use capt_api::lean::Document;
use capt_core::decision::{Decision, Desired, Event, EventKind, Target};
use futures::future::{join, join_all};
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicResourceScope, GroupVersionKind},
};
use serde::Serialize;
use serde_json::Value;

use super::call::{CallError, within_deadline};
pub(crate) use events::Teller;
use order::{may_be_marked_meanwhile, written_together};
use own::Marked;
pub(crate) use telling::{Patience, Untold};

/// Who writes, as field ownership has it.
pub(crate) const FIELD_MANAGER: &str = "capt-controllers";
/// Who writes on the object that was decided about. Another controller may author the same object by applying it, and
/// what it leaves out must not go because one name stands for both.
const OWN_FIELD_MANAGER: &str = "capt-controllers-own";

/// The object that it was decided about.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Which object.
    pub(crate) target: Target,
    /// Its uid.
    pub(crate) uid: String,
    /// Its version when it was decided.
    pub(crate) resource_version: String,
    /// Its generation then.
    pub(crate) generation: Option<i64>,
    /// Its finalizers then.
    pub(crate) finalizers: Vec<String>,
    /// Others have something to say in its status, too.
    pub(crate) shares_status: bool,
    /// Something was told about it before.
    pub(crate) is_told: bool,
    /// What of its status need not be told at once.
    pub(crate) patience: Patience,
    /// Nothing was told about it yet, and what it belongs to may only just be on its way.
    pub(crate) is_new: bool,
}

impl Subject {
    /// An object by what it says of itself.
    pub(crate) fn of(api_version: &str, kind: &str, metadata: &ObjectMeta) -> Self {
        Self {
            target: Target {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone().unwrap_or_default(),
            },
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            generation: metadata.generation,
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
            shares_status: false,
            is_told: true,
            patience: Patience::None,
            is_new: false,
        }
    }

    /// An object with its status, of which not every word has to be told at once.
    pub(crate) fn with_status<S>(self, status: Option<&S>) -> Self {
        self.patient(status, Patience::Words)
    }

    /// An object with its status, of which all has to be told at once but that something begins.
    pub(crate) fn with_beginning<S>(self, status: Option<&S>) -> Self {
        self.patient(status, Patience::Beginning)
    }

    fn patient<S>(self, status: Option<&S>, patience: Patience) -> Self {
        Self {
            is_told: status.is_some(),
            patience,
            ..self
        }
    }

    /// An object that people make together with others, some of which say what it belongs to.
    pub(crate) fn made_with_others(self) -> Self {
        Self {
            is_new: !self.is_told,
            ..self
        }
    }

    /// An object whose status we do not write alone.
    pub(crate) fn with_shared_status(self) -> Self {
        Self {
            shares_status: true,
            ..self
        }
    }
}

/// Something that was written, and the version it got.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// Which object.
    pub(crate) target: Target,
    /// Its version, or 0 if that cannot be compared.
    pub(crate) version: u64,
}

/// What came of one look at an object, as far as it was written.
#[derive(Default)]
pub(crate) struct Writes {
    /// What was written.
    pub(crate) all: Vec<Written>,
    /// Secrets among it that decisions are made from.
    pub(crate) secrets: Vec<Secret>,
    /// What was not told at the looks before.
    pub(crate) untold: Untold,
    /// The status is left to the next look, for so long.
    pub(crate) tells_after: Option<Duration>,
    /// The version that the object got by its status, if that is all that was written.
    pub(crate) only_told: Option<u64>,
}

impl Writes {
    /// Takes note of what became of marks on the object itself.
    fn note_own(&mut self, subject: &Subject, marked: &Marked) {
        if let Marked::Changed(object) = marked {
            self.all.push(Written::of(&subject.target, object));
        }
    }
}

/// Why a decision was not carried out to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What it was decided about is not what it was.
    #[error("the {} {} changed meanwhile", target.kind, target.name)]
    Moved {
        /// What changed.
        target: Target,
    },
    /// What it depends on cannot be read, so that nobody knows what there is.
    #[error("objects of the kind {} cannot be read", target.kind)]
    Hidden {
        /// What cannot be read, without a name.
        target: Target,
    },
    /// A call failed.
    #[error("cannot {action} the {} {}", target.kind, target.name)]
    Call {
        /// What was tried.
        action: &'static str,
        /// With what.
        target: Target,
        /// Why it failed.
        source: CallError,
    },
}

impl Failure {
    /// What could not be written.
    pub(crate) fn target(&self) -> &Target {
        match self {
            Self::Moved { target } | Self::Hidden { target } | Self::Call { target, .. } => target,
        }
    }

    /// What people should hear about it: that the API refuses, which somebody has to mend.
    pub(crate) fn event(&self) -> Option<Event> {
        match self {
            Self::Call {
                action,
                target,
                source,
            } if source.is_refusal() => Some(Event {
                kind: EventKind::Warning,
                reason: "Refused".to_owned(),
                message: format!("Cannot {action} the {} {}: {source}", target.kind, target.name),
            }),
            Self::Hidden { target } => Some(Event {
                kind: EventKind::Warning,
                reason: "Hidden".to_owned(),
                message: format!(
                    "Nothing is done as long as objects of the kind {} cannot be read: let the controllers get, list and \
                     watch them, and let the API serve {}",
                    target.kind, target.api_version
                ),
            }),
            _ => None,
        }
    }

    /// What became of a call that was guarded.
    fn of(action: &'static str, target: &Target, source: CallError) -> Self {
        let target = target.clone();
        if source.is_conflict() {
            Self::Moved { target }
        } else {
            Self::Call {
                action,
                target,
                source,
            }
        }
    }
}

/// Hands that carry out decisions.
#[derive(Clone)]
pub(crate) struct Executor {
    client: Client,
    teller: Teller,
    witness: Witness,
}

/// Hears of every object that it was decided about as the API answers when it is written.
pub(crate) type Witness = Arc<dyn Fn(&Target, &Document) + Send + Sync>;

impl Executor {
    /// Hands that write by this client.
    pub(crate) fn new(client: Client, teller: Teller, witness: Witness) -> Self {
        Self {
            client,
            teller,
            witness,
        }
    }

    /// Carries out a decision about an object whose status told this, and says what was written, also if not all of it
    /// could be.
    pub(crate) async fn carry_out<S: Serialize + Sync>(
        &self,
        subject: &Subject,
        told: Option<&S>,
        decision: &Decision<S>,
        now: Timestamp,
        written: &mut Writes,
    ) -> Result<(), Failure> {
        let (beside, first): (Vec<&Desired>, Vec<&Desired>) =
            decision.children.iter().partition(|desired| desired.is_beside);
        let mut others = Writes::default();
        let (own, aside) = join(
            self.carry_out_own(subject, told, decision, &first, now, written),
            self.write_in_order(subject, &beside, now, &mut others),
        )
        .await;
        if !others.all.is_empty() {
            written.only_told = None;
        }
        written.all.append(&mut others.all);
        written.secrets.append(&mut others.secrets);
        own.and(aside)
    }

    /// Carries out what has an order: objects that are needed first, then what goes, then the object itself.
    async fn carry_out_own<S: Serialize + Sync>(
        &self,
        subject: &Subject,
        told: Option<&S>,
        decision: &Decision<S>,
        first: &[&Desired],
        now: Timestamp,
        written: &mut Writes,
    ) -> Result<(), Failure> {
        let marked = if may_be_marked_meanwhile(decision, first) {
            let (outcome, marked) = join(
                self.write_in_order(subject, first, now, written),
                self.mark_own(subject, &decision.own),
            )
            .await;
            if let Ok(marked) = &marked {
                written.note_own(subject, marked);
            }
            outcome?;
            marked?
        } else {
            self.write_in_order(subject, first, now, written).await?;
            for removal in &decision.removals {
                if let Some(object) = self.remove(removal).await? {
                    written.all.push(Written::of(&removal.target, &object));
                }
            }
            let marked = self.mark_own(subject, &decision.own).await?;
            written.note_own(subject, &marked);
            marked
        };
        if let Some(status) = &decision.own.status {
            let mut status = serde_json::to_value(status)
                .map_err(|error| Failure::of("report on", &subject.target, error.into()))?;
            if let (Marked::Changed(object), Some(before)) = (&marked, subject.generation) {
                own::observe(&mut status, before, object.metadata.generation);
            }
            written.tells_after = telling::may_wait(subject, told, decision, &status, written.untold);
            if written.tells_after.is_some() {
                return Ok(());
            }
            if let Some(version) = marked.version(subject)
                && let Some(object) = self.tell_status(subject, &status, version).await?
            {
                (self.witness)(&subject.target, &object);
                let told = Written::of(&subject.target, &object);
                let is_all = written.all.is_empty() && told.version > 0;
                written.only_told = is_all.then_some(told.version);
                written.all.push(told);
            }
        }
        self.tell_all(subject, &decision.events, now);
        Ok(())
    }

    fn tell_all<'a>(&self, subject: &Subject, events: impl IntoIterator<Item = &'a Event>, now: Timestamp) {
        for event in events {
            self.teller.tell(subject, event, now);
        }
    }

    /// Writes objects one after the other, and at the same time what can be.
    async fn write_in_order(
        &self,
        subject: &Subject,
        children: &[&Desired],
        now: Timestamp,
        written: &mut Writes,
    ) -> Result<(), Failure> {
        let mut children = children;
        while !children.is_empty() {
            let (together, later) = children.split_at(written_together(children));
            let mut losses = Vec::new();
            let outcome = self.write_children(together, written, &mut losses).await;
            self.tell_all(subject, losses, now);
            outcome?;
            children = later;
        }
        Ok(())
    }

    /// Writes objects of which none needs another, at the same time, and collects which losses that makes good. Tells the
    /// first failure, after all of them.
    async fn write_children<'a>(
        &self,
        together: &[&'a Desired],
        written: &mut Writes,
        losses: &mut Vec<&'a Event>,
    ) -> Result<(), Failure> {
        let answers = join_all(together.iter().map(|desired| self.write_child(desired))).await;
        let mut failure = None;
        for (desired, answer) in together.iter().zip(answers) {
            match answer {
                Ok(answer) => {
                    written.all.push(Written::of(&desired.target, &answer.object));
                    written.secrets.extend(answer.secret);
                    losses.extend(&desired.loss);
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Tells people something about an object.
    pub(crate) fn teller(&self) -> &Teller {
        &self.teller
    }

    /// Patches an object by a patch that is not applied.
    async fn patch(
        &self,
        target: &Target,
        manager: &str,
        patch: Patch<Value>,
    ) -> Result<Document, CallError> {
        let parameters = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        within_deadline(self.api(target).patch(&target.name, &parameters, &patch)).await
    }

    fn api(&self, target: &Target) -> Api<Document> {
        self.api_of(target)
    }

    fn api_of<K>(&self, target: &Target) -> Api<K>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let resource = ApiResource::from_gvk(&kind_of(target));
        match &target.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

impl Written {
    fn of(target: &Target, object: &Document) -> Self {
        let version = object.metadata.resource_version.as_deref();
        Self {
            target: target.clone(),
            version: version.and_then(|version| version.parse().ok()).unwrap_or(0),
        }
    }
}

fn kind_of(target: &Target) -> GroupVersionKind {
    let (group, version) = target
        .api_version
        .split_once('/')
        .unwrap_or(("", &target.api_version));
    GroupVersionKind::gvk(group, version, &target.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_told_with_what_to_do_and_what_only_moved_is_not_told() {
        let target = Target {
            api_version: "infrastructure.cluster.x-k8s.io/v1beta1".to_owned(),
            kind: "WorkspaceTemplateApply".to_owned(),
            namespace: Some("team".to_owned()),
            name: String::new(),
        };
        let hidden = Failure::Hidden {
            target: target.clone(),
        };
        let event = hidden.event().unwrap();
        assert_eq!(
            (event.kind, event.reason.as_str()),
            (EventKind::Warning, "Hidden")
        );
        assert_eq!(
            event.message,
            "Nothing is done as long as objects of the kind WorkspaceTemplateApply cannot be read: let the controllers get, \
             list and watch them, and let the API serve infrastructure.cluster.x-k8s.io/v1beta1"
        );
        assert_eq!(Failure::Moved { target }.event(), None);
    }
}
