//! A connection Secret that somebody changed or removed, or that was not moved with its state, written again from the
//! state that is kept.

use capt_api::conditions::{
    ConditionStatus,
    workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
};
use capt_terraform::state::State;

use super::{facts::likely_home, owner::belongs_to_another, pass::Looking};
use crate::{
    api::{CallError, words},
    connection::{ConnectionError, Published, publish, refusal},
    decide::{ConnectionFacts, answered},
    events::News,
    inputs::{self, Home},
    store::StoreError,
};

impl Looking<'_> {
    /// Writes it again, or leaves that to a run where only Terraform can tell what belongs into it or why it cannot be.
    pub(super) async fn hand_out(&mut self) -> Result<(), CallError> {
        if self
            .record
            .standing
            .has_reason(Type::Failing, Reason::ConnectionSecretFailed)
        {
            return self.ask_again_who_has_it().await;
        }
        let state = self.kept_state().await?;
        let handed = match &state {
            Some(state) => publish(&self.ctx.client, &self.view, &state.outputs).await,
            None => {
                self.record.connection.facts = ConnectionFacts::OnlyByRun;
                return Ok(());
            }
        };
        let connection = &mut self.record.connection;
        match handed {
            Err(ConnectionError::Call { source, .. }) if source.is_transient() => return Err(source),
            Err(_) => connection.facts = ConnectionFacts::OnlyByRun,
            Ok(handed) => {
                connection.facts = ConnectionFacts::Fine;
                connection.version = handed.version;
                if handed.published == Published::Written {
                    self.count_answer();
                    self.tell_restored().await;
                }
            }
        }
        Ok(())
    }

    /// Tells what the state has of something that was ready before this object was made. Outputs are told by the first run,
    /// which knows what is secret.
    pub(super) async fn take_up(&mut self) -> Result<(), CallError> {
        // That all is made up is said with everything that a simulation says, which is left to the first run.
        let state = self.kept_state().await?;
        let state = state.filter(|state| !state.is_empty() && !state.is_simulated());
        self.record.untaken = None;
        if let Some(state) = state {
            match publish(&self.ctx.client, &self.view, &state.outputs).await {
                Err(ConnectionError::Call { source, .. }) if source.is_transient() => return Err(source),
                // The run that tries the same tells why, unless there cannot be one.
                Err(error) => self.record.untaken = Some(words(&error)),
                Ok(handed) => {
                    let connection = &mut self.record.connection;
                    connection.facts = ConnectionFacts::Fine;
                    connection.version = handed.version;
                    let ready = (Type::Ready, ConditionStatus::True, Reason::Available);
                    let (generation, now) = (self.view.generation, self.ctx.now());
                    self.record.standing.say(ready, "", generation, now);
                    self.ctx.tell(&self.view, &mut self.record).await?;
                }
            }
        }
        self.record.is_looked_up = true;
        Ok(())
    }

    /// A Secret that is somebody else's is written by them as often as they like. That it still is theirs is told
    /// already; only a run takes it back.
    async fn ask_again_who_has_it(&mut self) -> Result<(), CallError> {
        let refusal = refusal(&self.ctx.client, &self.view).await?;
        let told = self.record.standing.condition(Type::Failing);
        let told = told
            .and_then(|failing| failing.message.as_deref())
            .unwrap_or_default();
        let is_told = refusal.is_some_and(|refusal| told.contains(&refusal.to_string()));
        self.record.connection.facts = match is_told {
            true => ConnectionFacts::Fine,
            false => ConnectionFacts::OnlyByRun,
        };
        if let Some(memory) = self.record.memory.as_mut().filter(|_| !is_told) {
            memory.failed = None;
        }
        self.count_answer();
        Ok(())
    }

    /// Takes note that somebody else's write was answered, so that the next one is not answered as soon.
    fn count_answer(&mut self) {
        let connection = &mut self.record.connection;
        connection.rewritten = Some(answered(connection.rewritten, self.ctx.now()));
    }

    async fn tell_restored(&self) {
        let Some(secret) = &self.view.connection_secret_ref else {
            return;
        };
        let note = format!(
            "the Secret {}/{} was not what was written to it, and was written again",
            secret.namespace, secret.name
        );
        self.ctx
            .herald
            .tell(&self.view, News::ConnectionRestored, &note)
            .await;
    }

    /// The state, if all of it is where we keep it.
    async fn kept_state(&self) -> Result<Option<State>, CallError> {
        let prepared = inputs::load(&self.view, &self.ctx.lookup, &self.ctx.surroundings).await;
        let Ok(Some(Home::Ours(place))) = likely_home(self.ctx, &self.view, &prepared).await else {
            return Ok(None);
        };
        let kept = match self.ctx.store.read(&place).await {
            Ok(kept) => kept,
            Err(StoreError::Call { source, .. }) if source.is_transient() => return Err(source),
            // Why it cannot be read is told by the run that tries the same.
            Err(_) => return Ok(None),
        };
        if kept.staged.is_some()
            || belongs_to_another(self.ctx, &self.view, &place, &kept)
                .await?
                .is_some()
        {
            return Ok(None);
        }
        Ok(kept.replica.as_deref().and_then(|file| State::parse(file).ok()))
    }
}
