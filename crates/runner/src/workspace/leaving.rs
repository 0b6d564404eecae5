//! What was made and the state does not have, when its Workspace goes.

use super::pass::Looking;
use crate::{events::News, report::missing_words};

impl Looking<'_> {
    /// Tells what is left of a Workspace whose infrastructure is gone.
    pub(super) async fn say_left(&self, is_destroyed: bool) {
        let report = &self.record.report;
        if is_destroyed && !report.missing.is_empty() {
            let words = missing_words(report, &self.view);
            self.ctx.herald.tell(&self.view, News::Left, &words).await;
        }
    }
}
