//! Who gets an edit of a template next.
//!
//! An edit reaches those who share a template a few at a time, so that everybody waits for somebody else. If everybody
//! looked again whenever somebody changed, that would cost the square of their number. So it is found out here, once for
//! all of them, who is next, and only their owners look again.
//!
//! This module must never decide who gets what: that is `capt_core::owned`.

use std::sync::Arc;

use capt_core::wta::owner;

use crate::{
    engine::key::ObjectKey,
    facts::{
        CAPTCLUSTERS, CONTROLPLANES, Facts,
        indexes::{self, within},
    },
};

/// Wakes those who are next, whenever a template or somebody who uses one changes. Never ends.
pub(crate) async fn drive(facts: Arc<Facts>) {
    let (mut applies, mut templates) = (facts.applies.changes(), facts.templates.changes());
    loop {
        applies.borrow_and_update();
        templates.borrow_and_update();
        for (template, view) in facts.templates.peek_all() {
            for apply in facts.next_in_line(&template, view.template.revision()) {
                wake_owner(&facts, &apply);
            }
        }
        let news = tokio::select! {
            news = applies.changed() => news,
            news = templates.changed() => news,
        };
        if news.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn wake_owner(facts: &Facts, key: &ObjectKey) {
    let Some(label) = facts.applies.peek(key).and_then(|apply| owner::recorded(&apply)) else {
        return;
    };
    let label = within(key.namespace(), &label);
    for (controller, owners) in [
        (
            CAPTCLUSTERS,
            facts.captclusters.peek_members(indexes::LABEL, &label),
        ),
        (
            CONTROLPLANES,
            facts.captcontrolplanes.peek_members(indexes::LABEL, &label),
        ),
    ] {
        for owner in owners {
            facts.wakes.wake(controller, &owner);
        }
    }
}
