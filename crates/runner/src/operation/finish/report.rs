//! What the report says of an operation in the end.

use capt_api::{
    conditions::Word as _,
    run::{PLAN_KEY, RunReport},
};
use k8s_openapi::jiff::Timestamp;

use super::{
    super::{
        Run, Verdict,
        follow::{Followed, log_key},
    },
    End,
};
use crate::{
    api::words,
    decide::What,
    report::{self, Page},
};

impl Run<'_> {
    /// Writes the report. Says whether that was done.
    pub(super) async fn report(
        &mut self,
        end: &End,
        is_kept: bool,
        message: Option<&str>,
        followed: Followed,
        now: Timestamp,
    ) -> bool {
        let memory = self.record.memory.clone().unwrap_or_default();
        let mut report = RunReport {
            missing: self.record.report.missing.clone(),
            more_missing: self.record.report.more_missing,
            cut_short: self.record.report.cut_short.clone(),
            answered: memory.answered.clone(),
            refused_retry: None,
            made: memory.made.clone(),
            warnings: report::warnings(&self.warnings, &self.gate.redactor()),
            ..followed.report
        };
        if let Some(operation) = &mut report.operation {
            operation.ended_at = is_kept.then_some(now);
            operation.outcome = Some(end.outcome().to_owned());
            operation.message = message.map(str::to_owned);
            operation.reason = self.reason(end).map(|reason| reason.as_str().to_owned());
            if let (End::Badly(_), Some(failed)) = (end, &memory.failed) {
                operation.failures = failed.count;
                operation.transient = failed.is_transient;
            }
        }
        let is_over = match end {
            End::Well(Verdict::Settled { applied: Some(_) } | Verdict::Destroyed) => true,
            // What somebody else changed goes on being told, although it is no reason to do anything.
            End::Well(Verdict::Settled { applied: None }) => self.is_outdated(report.plan.as_ref()),
            _ => false,
        };
        if is_over {
            report.plan = None;
        }
        if let Some(plan) = &mut report.plan {
            plan.awaits_approval = memory.held.as_ref().is_some_and(|held| held.plan == plan.id);
        }
        let page = Page::new(&self.ctx.client, &self.view, &self.ctx.options.system_namespace);
        let is_plan = self.what == What::Plan;
        let mut changes = match followed.is_published || is_plan {
            true => report::Changes::new(),
            false => {
                let before = page.read().await.ok().flatten().and_then(|found| found.log);
                let before = before.filter(|log| !log.is_empty());
                report::with_rotated_log(before.map(|log| self.gate.text(&log)))
            }
        };
        changes.extend(report::with_report(&report, &self.gate.redactor()));
        changes.extend(followed.cleaned);
        changes.insert(log_key(is_plan), Some(followed.log));
        changes.extend(followed.plan_text.map(|text| (PLAN_KEY, Some(text))));
        let told = std::mem::replace(&mut self.record.report, report);
        let written = page.write(&changes).await;
        if let Err(error) = &written {
            // It is tried again at the next end.
            self.record.report.answered = told.answered;
            tracing::warn!(
                workspace = self.view.name,
                error = words(error),
                "a report was not written"
            );
        }
        written.is_ok()
    }
}
