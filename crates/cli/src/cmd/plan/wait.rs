//! Waiting for a plan, woken by watches.

use std::time::Duration;

use capt_api::WorkspaceTemplateApply;
use futures::{Stream, StreamExt as _, stream};
use kube::{
    Api, ResourceExt as _,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio::time::{Instant, timeout_at};

use super::{
    depends,
    judge::{Unanswered, Verdict, Why, judge},
    told::Told,
};
use crate::{
    access::Cluster,
    objects::{Foreign, Page, ReportPlace, Subject},
};

/// How waiting ended.
pub(super) enum Ended {
    /// With a plan.
    Planned(Box<Page>),
    /// Without one.
    Unanswered(Unanswered),
    /// Somebody else runs Terraform for the Workspace, and makes no plans.
    Foreign,
}

/// The plan, or why there is none.
pub(super) async fn for_plan(
    cluster: &Cluster,
    subject: &Subject,
    token: &str,
    timeout: Duration,
    told: &mut Told,
) -> anyhow::Result<Ended> {
    let end = Instant::now() + timeout;
    let mut doubts = Doubts::default();
    // A Workspace that is made meanwhile has a report in a place that was not known before.
    let mut subject = subject.clone();
    loop {
        let place = match &subject.workspace {
            Some(workspace) => Some(cluster.report_place(workspace).await?),
            None => None,
        };
        let mut changes = changes(cluster, &subject, place.as_ref());
        let has_place = place.is_some();
        loop {
            subject = cluster.refreshed(&subject).await?;
            let page = match &place {
                Some(place) => cluster.report(place).await?,
                None => None,
            };
            if let (Some(workspace), None) = (&subject.workspace, &page)
                && cluster.is_foreign(workspace).await? == Foreign::Yes
            {
                return Ok(Ended::Foreign);
            }
            let mut verdict = judge(subject.apply.as_ref(), subject.workspace.as_ref(), page, token);
            if let (Verdict::Depends(message), Some(apply)) = (&verdict, &subject.apply) {
                verdict = depends::judge(cluster, apply, message).await;
            }
            let now = Instant::now();
            let (waits_for, until) = match verdict {
                Verdict::Answered(page) => return Ok(Ended::Planned(page)),
                Verdict::Refused(unanswered) => return Ok(Ended::Unanswered(unanswered)),
                Verdict::Waiting(reason) | Verdict::Depends(reason) => {
                    doubts.none();
                    (reason, end)
                }
                Verdict::Unless { problem, still_after } => {
                    let until = doubts.about(&problem.problem, now) + still_after;
                    if now >= until {
                        return Ok(Ended::Unanswered(problem));
                    }
                    (problem.problem, until.min(end))
                }
            };
            told.tell(&waits_for);
            if subject.workspace.is_some() != has_place {
                break;
            }
            if timeout_at(until, changes.next()).await.is_err() && Instant::now() >= end {
                return Ok(Ended::Unanswered(late(timeout, &waits_for)));
            }
        }
    }
}

fn late(timeout: Duration, waits_for: &str) -> Unanswered {
    let doubt = match waits_for.starts_with("a runner") {
        true => ". Is one at work?",
        false => "",
    };
    Unanswered {
        why: Why::Late,
        problem: format!("none was made within {timeout:?}; what was waited for: {waits_for}{doubt}"),
    }
}

/// Since when something that may pass by itself was so without a break.
#[derive(Default)]
struct Doubts {
    known: Option<(String, Instant)>,
}

impl Doubts {
    fn none(&mut self) {
        self.known = None;
    }

    /// Since when this one was so.
    fn about(&mut self, problem: &str, now: Instant) -> Instant {
        match &self.known {
            Some((known, since)) if known == problem => *since,
            _ => {
                self.known = Some((problem.to_owned(), now));
                now
            }
        }
    }
}

/// Something happens each time that the object or the report changes.
fn changes(
    cluster: &Cluster,
    subject: &Subject,
    place: Option<&ReportPlace>,
) -> impl Stream<Item = ()> + Unpin + use<> {
    let mut streams = Vec::new();
    if let Some(apply) = &subject.apply {
        let api: Api<WorkspaceTemplateApply> =
            Api::namespaced(cluster.client.clone(), &apply.namespace().unwrap_or_default());
        let named = watcher::Config::default().fields(&format!("metadata.name={}", apply.name_any()));
        streams.push(watcher(api, named).default_backoff().map(drop).boxed());
    }
    if let Some(place) = place {
        let named = watcher::Config::default().fields(&format!("metadata.name={}", place.name));
        streams.push(
            watcher(cluster.reports(place), named)
                .default_backoff()
                .map(drop)
                .boxed(),
        );
    }
    stream::select_all(streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_doubt_is_as_old_as_the_time_for_which_it_was_not_dispelled() {
        let mut doubts = Doubts::default();
        let start = Instant::now();
        assert_eq!(doubts.about("one", start), start);
        let later = start + Duration::from_secs(2);
        assert_eq!(doubts.about("one", later), start);
        assert_eq!(doubts.about("another", later), later);
        assert_eq!(doubts.about("one", later), later);
        doubts.none();
        let latest = start + Duration::from_secs(9);
        assert_eq!(doubts.about("one", latest), latest);
    }
}
