//! Waiting for a plan, woken by watches.

use std::{io::Write as _, time::Duration};

use capt_api::WorkspaceTemplateApply;
use futures::{Stream, StreamExt as _, stream};
use kube::{
    Api, ResourceExt as _,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio::time::{Instant, timeout_at};

use super::judge::{Unanswered, Verdict, judge};
use crate::{
    access::Cluster,
    objects::{Page, ReportPlace, Subject},
};

/// How long something that was said before the question may turn out to be no longer true.
const DOUBT: Duration = Duration::from_secs(3);

/// The plan, or why there is none.
pub(super) async fn for_plan(
    cluster: &Cluster,
    subject: &Subject,
    token: &str,
    timeout: Duration,
    show: bool,
) -> anyhow::Result<Result<Page, Unanswered>> {
    let end = Instant::now() + timeout;
    let doubt = Instant::now() + DOUBT;
    let mut line = Line {
        show,
        told: String::new(),
    };
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
            let (waits_for, until) =
                match judge(subject.apply.as_ref(), subject.workspace.as_ref(), page, token) {
                    Verdict::Answered(page) => return Ok(Ok(*page)),
                    Verdict::Refused(unanswered) => return Ok(Err(unanswered)),
                    Verdict::Waiting(reason) => {
                        line.tell(&reason);
                        (reason, end)
                    }
                    Verdict::Blocked(unanswered) if Instant::now() >= doubt => return Ok(Err(unanswered)),
                    Verdict::Blocked(unanswered) => (unanswered.problem, doubt.min(end)),
                };
            if subject.workspace.is_some() != has_place {
                break;
            }
            if timeout_at(until, changes.next()).await.is_err() && Instant::now() >= end {
                let problem = format!(
                    "none was made within {} seconds; what was waited for: {waits_for}. Is a runner at work?",
                    timeout.as_secs()
                );
                return Ok(Err(Unanswered { problem }));
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

/// One line on a terminal that changes.
struct Line {
    show: bool,
    told: String,
}

impl Line {
    fn tell(&mut self, text: &str) {
        if self.show && self.told != text {
            eprint!("\r\x1b[K{text} …");
            // Nobody is hurt if it is not seen.
            let _ = std::io::stderr().flush();
            text.clone_into(&mut self.told);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.told.is_empty() {
            eprint!("\r\x1b[K");
        }
    }
}
