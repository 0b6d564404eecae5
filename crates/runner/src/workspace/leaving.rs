//! What was made and the state does not have, when its Workspace goes.
//!
//! What is told about a Workspace goes with it. Where its infrastructure stays, the next Workspace that takes the state up
//! must not make any of it a second time, so that the list is left with the state.

use capt_api::{
    conditions::workspace::WorkspaceReason as Reason,
    run::{CutShort, RunReport},
};
use capt_terraform::state::Location;

use super::{facts::home_of, owner::claim, pass::Looking};
use crate::{
    api::words,
    events::News,
    inputs::{self, Home},
    report::{missing_names, missing_words},
    store::{ListPlace, Place, StoreError},
    view::WorkspaceView,
};

/// The suffix of a Secret that has such a list and no state.
const SUFFIX: &str = "capt-missing";

impl Looking<'_> {
    /// Tells what is left of a Workspace that goes. Where its infrastructure stays, it is left for the next one.
    pub(super) async fn leave_missing(&self, is_destroyed: bool) -> Result<(), (Reason, String)> {
        let report = &self.record.report;
        if is_destroyed {
            if !report.missing.is_empty() {
                let words = missing_words(report, &self.view);
                self.ctx.herald.tell(&self.view, News::Left, &words).await;
            }
            return Ok(());
        }
        let Some(list) = left(report) else { return Ok(()) };
        let Some(at) = self.list_place().await else {
            return Ok(());
        };
        match self.ctx.store.write_list(&at, &claim(&self.view), &list).await {
            Ok(()) => {}
            // Nothing can be left in a namespace that goes, and nothing is taken up in it either.
            Err(StoreError::Call { source, .. }) if source.is_namespace_terminating() => return Ok(()),
            Err(error) => {
                let reason = match error.is_transient() {
                    true => Reason::Network,
                    false => Reason::StateUnavailable,
                };
                return Err((reason, words(&error)));
            }
        }
        let note = format!(
            "the state does not have what was being made, and whichever Workspace takes it up goes on listing that: {}",
            missing_names(report)
        );
        self.ctx.herald.tell(&self.view, News::Left, &note).await;
        Ok(())
    }

    async fn list_place(&self) -> Option<ListPlace> {
        let prepared = inputs::load(&self.view, &self.ctx.lookup, &self.ctx.surroundings).await;
        let home = home_of(&self.view, &prepared).ok().flatten();
        let ours = match home {
            Some(Home::Ours(place)) => Some(place),
            Some(Home::Backend(_)) => None,
            None => Home::recorded(&self.view),
        };
        match ours {
            Some(place) => Some(ListPlace::State(place)),
            None => beside_backend(&self.view, &self.ctx.options.system_namespace),
        }
    }
}

/// Where the list of a Workspace is left whose state is in a backend of the user's.
pub(crate) fn beside_backend(view: &WorkspaceView, runner_namespace: &str) -> Option<ListPlace> {
    Some(ListPlace::Alone(Place {
        namespace: view.home_namespace(runner_namespace).to_owned(),
        location: Location::new(view.external_name(), SUFFIX).ok()?,
        labels: [].into(),
    }))
}

/// What is left, in the words in which it is kept.
fn left(report: &RunReport) -> Option<String> {
    let mut left = CutShort {
        started_at: None,
        making: report.missing.clone(),
        more: report.more_missing,
    };
    if let Some(cut_short) = &report.cut_short {
        let is_new = |address: &str| !report.missing.iter().any(|known| known.address == address);
        let more = cut_short.making.iter().filter(|one| is_new(&one.address));
        left.making.extend(more.cloned());
        left.more = left.more.saturating_add(cut_short.more);
    }
    let is_anything = !left.making.is_empty() || left.more > 0;
    serde_json::to_string(&left).ok().filter(|_| is_anything)
}

/// Takes over what an earlier Workspace left.
pub(crate) fn take_over(report: &mut RunReport, list: &str) {
    // Who wrote it wrote nothing else there.
    let left: CutShort = serde_json::from_str(list).unwrap_or_default();
    for one in left.making {
        if !report.missing.iter().any(|known| known.address == one.address) {
            report.missing.push(one);
        }
    }
    report.more_missing = report.more_missing.saturating_add(left.more);
}

#[cfg(test)]
mod tests {
    use capt_api::run::MissingResource;

    use super::*;

    fn one(address: &str) -> MissingResource {
        MissingResource {
            address: address.to_owned(),
            unfinished: true,
            ..MissingResource::default()
        }
    }

    #[test]
    fn what_one_leaves_is_what_the_next_one_takes_over() {
        assert_eq!(left(&RunReport::default()), None);
        let report = RunReport {
            missing: vec![one("thing.a")],
            more_missing: 2,
            cut_short: Some(CutShort {
                making: vec![one("thing.a"), one("thing.b")],
                more: 3,
                ..CutShort::default()
            }),
            ..RunReport::default()
        };
        let list = left(&report).expect("a list");
        let mut next = RunReport {
            missing: vec![one("thing.b")],
            ..RunReport::default()
        };
        take_over(&mut next, &list);
        assert_eq!(next.missing, [one("thing.b"), one("thing.a")]);
        assert_eq!(next.more_missing, 5);
        take_over(&mut next, "nonsense");
        assert_eq!(next.missing.len(), 2);
    }
}
