//! What was made and the state does not have is not made a second time before a person asks for it.

use capt_api::{marks::RETRY_REQUESTED, run::MissingResource};
use capt_terraform::{diagnostics::Class, plan::ResourceChange, state::Created, stream::Action};

use super::{Run, failure::own};
use crate::{
    decide::What,
    engine::{Failure, FailureKind, Planned, Session},
    report,
    store::ListPlace,
    workspace::take_over,
};

/// Resources that are named in a message.
const MAX_NAMED: usize = 10;

impl Run<'_> {
    /// Takes over what an earlier Workspace made and the state does not have. Whatever people asked for before that was told
    /// about this one is no answer to it.
    pub(super) fn take_over(&mut self, list: Option<&str>, at: ListPlace) {
        let Some(list) = list else { return };
        self.left_at = Some(at);
        if !self.record.is_unreported {
            return;
        }
        take_over(&mut self.record.report, list);
        self.is_retry = false;
        if let Some(retry) = self.requests.retry.clone() {
            let memory = self.record.memory.get_or_insert_default();
            memory.answered.insert(RETRY_REQUESTED.to_owned(), retry.clone());
            let answered = &mut self.record.report.answered;
            answered.insert(RETRY_REQUESTED.to_owned(), retry);
        }
    }

    /// Takes note of what an operation that was cut short left. A person who asks for another try has seen to what was
    /// told before, and to nothing else.
    pub(super) async fn see_missing(
        &mut self,
        session: &mut dyn Session,
        mut found: Vec<Created>,
        is_lost: bool,
    ) -> Result<(), Failure> {
        let report = &mut self.record.report;
        if self.what == What::Converge && self.is_retry {
            let told = std::mem::take(&mut report.missing);
            report.more_missing = 0;
            found.retain(|made| {
                !told
                    .iter()
                    .any(|told| report::may_be(&told.address, &made.address))
            });
            if found.is_empty() {
                session.settle_missing().await?;
            }
        }
        // Who finds as many as there ever were finds those that there was no room for.
        if found.len() >= report.missing.len().saturating_add(report.more_missing as usize) {
            report.more_missing = 0;
        }
        // What the engine found is all there is, unless it has nothing to find it in.
        if let Some(cut_short) = report.cut_short.take().filter(|_| is_lost) {
            let is_listed = |one: &MissingResource| {
                let mut found = found.iter();
                found.any(|made| report::may_be(&one.address, &made.address))
            };
            let more = cut_short.making.into_iter().filter(|one| !is_listed(one));
            report.missing.extend(more);
            report.more_missing = report.more_missing.saturating_add(cut_short.more);
        }
        self.missing.extend(found);
        Ok(())
    }

    /// What was made and the state does not have.
    pub(super) fn still_missing(&self) -> Vec<MissingResource> {
        report::missing(&self.record.report.missing, &self.missing, self.state.as_ref())
    }

    /// What was made and is not in the state would be made a second time.
    pub(super) fn check_repetition(&self, planned: &Planned) -> Result<(), Failure> {
        let missing = self.still_missing();
        let changes = &planned.plan.changes;
        let is_made = |one: &MissingResource| {
            // Something else at that address may be replaced without making this again.
            changes.iter().any(|change| match change.action {
                Action::Create => report::may_be(&one.address, &change.address),
                Action::Replace => one.replaces.is_some() && report::may_be(&one.address, &change.address),
                _ => false,
            })
        };
        let is_made = |one: &MissingResource| one.provisioner.is_none() && is_made(one);
        let mut again: Vec<String> = missing
            .iter()
            .filter(|one| is_made(one))
            .map(|one| one.address.clone())
            .collect();
        let is_new = |change: &ResourceChange| matches!(change.action, Action::Create | Action::Replace);
        // Anything may be among what there was no room to write down.
        if self.record.report.more_missing > 0 && !missing.is_empty() && changes.iter().any(is_new) {
            again.push(format!(
                "{} that there was no room to list",
                self.record.report.more_missing
            ));
        }
        if again.is_empty() {
            return Ok(());
        }
        let more = again.len().saturating_sub(MAX_NAMED);
        again.truncate(MAX_NAMED);
        if more > 0 {
            again.push(format!("{more} more"));
        }
        Err(Failure {
            kind: FailureKind::WouldRepeat,
            ..own(
                Class::Other,
                format!(
                    "nothing is done, because the plan makes what may exist already and is not in the state: {}",
                    again.join(", ")
                ),
            )
        })
    }
}
