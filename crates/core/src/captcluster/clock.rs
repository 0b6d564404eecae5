//! What time makes of a network that is being made.

use capt_api::{
    captcluster::Pause,
    conditions::{Word as _, captcluster::CAPTClusterCondition as Type},
};
use k8s_openapi::jiff::Timestamp;

use super::{
    deciding::Deciding,
    stage::Stage,
    timeouts::{self, Running, Step},
};

impl Deciding<'_> {
    /// Remembers a pause that has just ended, for as long as a network is being made.
    pub(super) fn end_pause(&mut self) {
        let paused = self
            .condition(Type::Paused)
            .filter(|paused| paused.status == "True");
        if let Some(from) = paused.map(|paused| paused.last_transition_time.0) {
            let now = self.now;
            timeouts::remember(self.status.pauses.get_or_insert_default(), from, now);
        }
    }

    /// Somebody changed the spec or asked for another try, so that what was said before counts no more.
    fn is_restarted(&self) -> bool {
        let generation = self.snapshot.captcluster.metadata.generation;
        self.retry.is_some() || self.status.observed_generation != generation
    }

    /// What time makes of a stage.
    pub(super) fn judge(&mut self, stage: Stage) -> Stage {
        let Stage::Creating { message, steps, .. } = &stage else {
            return stage;
        };
        let is_restarted = self.is_restarted();
        let said = |type_| {
            self.condition(type_)
                .filter(|one| one.status == "True" && !is_restarted)
        };
        let since = said(Type::VpcCreating).map(|creating| creating.last_transition_time.0);
        let verdict = said(Type::VpcFailed).map(|failed| failed.reason.clone());
        let spec = &self.snapshot.captcluster.spec;
        let remembered = steps
            .iter()
            .find(|step| verdict.as_deref() == Some(step.reason().as_str()));
        let expired = match remembered {
            Some(step) => Some(*step),
            None => {
                if since.is_none() {
                    // The clock starts now.
                    let conditions = self.status.conditions.get_or_insert_default();
                    conditions.retain(|condition| condition.type_ != Type::VpcCreating.as_str());
                    self.status.pauses = None;
                }
                let running = self.running(steps, since.unwrap_or(self.now));
                let pauses: &[Pause] = self.status.pauses.as_deref().unwrap_or_default();
                let verdict = timeouts::judge(spec, &running, pauses, self.now);
                if verdict.expired.is_none() {
                    self.decision.look_again = verdict.look_again;
                }
                verdict.expired.map(|(step, _)| step)
            }
        };
        match expired {
            Some(step) => Stage::Failed {
                reason: step.reason(),
                message: step.message(spec, message),
            },
            None => stage,
        }
    }

    /// What time makes of a network that was there, and whose Secret is lost. It counts from when the network ceased to be
    /// ready.
    pub(super) fn judge_loss(&mut self, stage: Stage) -> Stage {
        let Stage::Creating { message, steps, .. } = &stage else {
            return stage;
        };
        let is_restarted = self.is_restarted();
        let ready = self.condition(Type::Ready);
        let since = ready
            .filter(|ready| ready.status == "False" && !is_restarted)
            .map(|ready| ready.last_transition_time.0);
        if since.is_none() {
            // The clock starts now.
            let conditions = self.status.conditions.get_or_insert_default();
            conditions.retain(|condition| condition.type_ != Type::Ready.as_str());
            self.status.pauses = None;
        }
        let spec = &self.snapshot.captcluster.spec;
        let running = self.running(steps, since.unwrap_or(self.now));
        let pauses: &[Pause] = self.status.pauses.as_deref().unwrap_or_default();
        let verdict = timeouts::judge(spec, &running, pauses, self.now);
        match verdict.expired {
            Some((step, _)) => Stage::Failed {
                reason: step.reason(),
                message: step.message(spec, message),
            },
            None => {
                self.decision.look_again = verdict.look_again;
                stage
            }
        }
    }

    /// The steps that are going on, and since when.
    fn running(&self, steps: &[Step], since: Timestamp) -> Vec<Running> {
        let apply = self.found.usable();
        let start = |step: &Step| match step {
            Step::Vpc => Some(since),
            Step::Workspace => apply?.workspace.as_ref()?.created_at,
            Step::Secret => Some(apply?.condition("Ready")?.last_transition_time.0),
        };
        steps
            .iter()
            .filter_map(|step| {
                Some(Running {
                    step: *step,
                    since: start(step)?.max(since),
                })
            })
            .collect()
    }
}
