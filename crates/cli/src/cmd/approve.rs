//! `capt approve`: consent to a plan that deletes or replaces something.

use std::process::ExitCode;

use capt_api::{approval, marks, run::PlanReport};
use serde::Serialize;

use super::plan;
use crate::{
    access::{Access, Cluster},
    objects::Subject,
    output::Output,
    target::{Placed, Target},
};

/// Approve a plan that waits for it
///
/// An approval names one plan, and covers nothing that was not shown: as soon as the plan would do anything else
/// it has another name. It counts once: if the same plan comes up again later, it waits again. Without --plan nothing
/// is approved, and the plan that waits is shown.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # What waits for an approval?
  capt approve wtapply/network

  # Approve exactly that
  capt approve wtapply/network --plan 1f0c2a9be4d07c6e5a3b

Approvals can be switched off for one object by the annotation \
infrastructure.cluster.x-k8s.io/allow-destructive=\"true\".

Exit codes:
  0  it is approved; without --plan: what waits was shown, or that nothing does
  1  it is not: nothing waits, or another plan does; it says which
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// What to approve: wtapply/NAME or workspace/NAME
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    /// The plan, as `capt plan` names it
    #[arg(long, value_name = "ID")]
    plan: Option<String>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

/// Why a plan was not approved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApprovalError {
    /// Another plan waits.
    #[error(
        "plan {given} does not wait for an approval; {pending} does. Look at it first: capt {verb} {object}"
    )]
    Another {
        /// What was given.
        given: String,
        /// What waits.
        pending: String,
        /// What shows it: where nobody plans, there is no plan to look at.
        verb: &'static str,
        /// What it is about.
        object: Placed,
    },
    /// No plan waits.
    #[error("nothing of {target} waits for an approval")]
    Nothing {
        /// What it is about.
        target: Target,
    },
}

/// Something that waits for an approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pending {
    object: String,
    /// What an approval has to name.
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanReport>,
    approved: bool,
    /// The last approval of a plan that counts no more.
    #[serde(skip)]
    used_up: Option<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let subject = cluster.subject(&args.target).await?;
    let (pending, used_up) = pending(&cluster, &subject).await?;
    let object = subject.placed();
    let target = &object.target;
    let Some(given) = args.plan else {
        let words = || match &pending {
            Some(pending) => pending.words(&object),
            None => format!("Nothing of {target} waits for an approval.\n"),
        };
        args.output.answer(&pending, words)?;
        return Ok(ExitCode::SUCCESS);
    };
    let approved = subject.mark(marks::APPROVED).map(String::as_str);
    match check(&given, pending.as_ref(), used_up.as_deref(), approved, &object)? {
        Consent::Given => {}
        Consent::New => {
            let token = uuid::Uuid::new_v4().simple().to_string();
            let value = approval::once(&given, &token);
            cluster.annotate(&subject, marks::APPROVED, &value).await?;
        }
    }
    let pending = pending.map(|pending| Pending {
        approved: true,
        ..pending
    });
    args.output
        .answer(&pending, || format!("Plan {given} of {target} is approved.\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, PartialEq, Eq)]
enum Consent {
    /// It was given before, and is not used up.
    Given,
    /// It has to be written.
    New,
}

/// Whether an approval may be written. The last one that counts no more is known where our runner told about it.
fn check(
    given: &str,
    pending: Option<&Pending>,
    used_up: Option<&str>,
    approved: Option<&str>,
    object: &Placed,
) -> Result<Consent, ApprovalError> {
    match pending {
        // Which approval of a rendering is used up is not told; if it waits although it has one, that one is.
        Some(pending) if pending.id == given => {
            let counts = approval::counts(approved, given, pending.used_up.as_deref());
            Ok(match counts && pending.plan.is_some() {
                true => Consent::Given,
                false => Consent::New,
            })
        }
        // The runner is about to take it up. One that it has taken up is no answer to somebody who asks again.
        None if used_up.is_some() && approval::counts(approved, given, used_up) => Ok(Consent::Given),
        Some(pending) => Err(ApprovalError::Another {
            given: given.to_owned(),
            pending: pending.id.clone(),
            verb: if pending.plan.is_some() {
                "plan"
            } else {
                "describe"
            },
            object: object.clone(),
        }),
        None => Err(ApprovalError::Nothing {
            target: object.target.clone(),
        }),
    }
}

/// What waits: a plan of our runner, or a rendering where there are no plans. And the last approval that our runner has
/// used up, which is empty where it has used none.
async fn pending(cluster: &Cluster, subject: &Subject) -> anyhow::Result<(Option<Pending>, Option<String>)> {
    let of = |id: String, plan: Option<PlanReport>, used_up: Option<String>| Pending {
        object: subject.target().to_string(),
        id,
        plan,
        approved: false,
        used_up,
    };
    if let Some(revision) = plan::pending(subject) {
        return Ok((Some(of(revision, None, None)), None));
    }
    let Some(workspace) = &subject.workspace else {
        return Ok((None, None));
    };
    let place = cluster.report_place(workspace).await?;
    let Some(page) = cluster.report(&place).await? else {
        return Ok((None, None));
    };
    let used_up = page.report.answered.get(marks::APPROVED).cloned();
    let plan = page.report.plan.filter(|plan| plan.awaits_approval);
    let known = used_up.clone().unwrap_or_default();
    Ok((
        plan.map(|plan| of(plan.id.clone(), Some(plan), used_up)),
        Some(known),
    ))
}

impl Pending {
    fn words(&self, object: &Placed) -> String {
        let target = &object.target;
        let mut text = match &self.plan {
            Some(plan) => format!(
                "Plan {} of {target} waits for an approval: {}\n",
                self.id, plan.summary
            ),
            None => format!("Rendering {} of {target} waits for an approval.\n", self.id),
        };
        for change in self.plan.iter().flat_map(|plan| &plan.changes) {
            text.push_str(&format!("  {:<8} {}\n", change.action, change.address));
        }
        text + &format!(
            "To approve exactly this:\n  {}\n",
            plan::approve(object, &self.id)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_waits_can_be_approved() {
        let target: Target = "wtapply/x".parse().unwrap();
        let object = target.clone().placed(Some("team".to_owned()));
        let of = |id: &str, plan: Option<PlanReport>, used_up: Option<&str>| Pending {
            object: target.to_string(),
            id: id.to_owned(),
            plan,
            approved: false,
            used_up: used_up.map(str::to_owned),
        };
        let plan = |id: &str, used_up: Option<&str>| Some(of(id, Some(PlanReport::default()), used_up));
        let rendering = |id: &str| Some(of(id, None, None));
        for (pending, approved, expected) in [
            (plan("a", None), None, Ok(Consent::New)),
            (plan("a", None), Some("b"), Ok(Consent::New)),
            (plan("a", None), Some("a"), Ok(Consent::Given)),
            (plan("a", None), Some("a/1"), Ok(Consent::Given)),
            (plan("a", Some("a")), Some("a"), Ok(Consent::New)),
            (plan("a", Some("a/1")), Some("a/1"), Ok(Consent::New)),
            (plan("a", Some("a/1")), Some("a/2"), Ok(Consent::Given)),
            (rendering("a"), None, Ok(Consent::New)),
            (rendering("a"), Some("a/1"), Ok(Consent::New)),
            (
                plan("b", None),
                Some("a"),
                Err("b does. Look at it first: capt plan wtapply/x -n team"),
            ),
            (
                rendering("b"),
                Some("a"),
                Err("b does. Look at it first: capt describe wtapply/x -n team"),
            ),
            (None, None, Err("nothing of wtapply/x")),
        ] {
            match (check("a", pending.as_ref(), None, approved, &object), expected) {
                (Ok(consent), Ok(expected)) => assert_eq!(consent, expected, "{pending:?} {approved:?}"),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (found, _) => panic!("{pending:?} {approved:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn who_asks_again_is_told_that_it_is_approved_only_until_it_is_used() {
        let target: Target = "wtapply/x".parse().unwrap();
        let object = target.placed(Some("team".to_owned()));
        for (used_up, approved, is_given) in [
            (Some(""), Some("a/1"), true),
            (Some("a/1"), Some("a/2"), true),
            (Some("a/1"), Some("a/1"), false),
            (Some("a"), Some("a"), false),
            (Some(""), Some("b"), false),
            (Some(""), None, false),
            // Where nobody tells what is used up, nothing waits any more because it was.
            (None, Some("a/1"), false),
        ] {
            let consent = check("a", None, used_up, approved, &object);
            assert_eq!(
                consent.is_ok_and(|consent| consent == Consent::Given),
                is_given,
                "{used_up:?} {approved:?}"
            );
        }
    }
}
