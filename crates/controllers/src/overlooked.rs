//! Objects that nobody works on because only their Cluster has the label for it.
//!
//! As with every provider of Cluster API, `--watch-filter` counts for each object by its own label. Who labels only the Cluster
//! waits for ever, and nothing would say why.

use capt_api::foreign::marks::WATCH_FILTER;
use capt_core::decision::{Event, EventKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    Hands,
    engine::{execute::Subject, key::ObjectKey, wakes::Reader},
    facts::indexes::within,
};

impl Hands {
    /// Tells people that an object has no label by which anybody works on it, if a Cluster refers to it by this index that has
    /// the label for us.
    pub(crate) async fn tell_if_overlooked(
        &self,
        reader: &Reader,
        index: &'static str,
        key: &ObjectKey,
        metadata: &ObjectMeta,
        subject: &Subject,
    ) {
        let labels = metadata.labels.as_ref();
        let is_labelled = labels.is_some_and(|labels| labels.contains_key(WATCH_FILTER));
        let Some(filter) = self.options.watch_filter.as_ref().filter(|_| !is_labelled) else {
            return;
        };
        let clusters = &self.facts.clusters;
        let members = clusters.members(reader, index, &within(key.namespace(), key.name()));
        let is_ours = |place: &&ObjectKey| {
            let cluster = clusters.get(reader, place);
            cluster.is_some_and(|cluster| self.options.are_for(&cluster.metadata))
        };
        let Some(cluster) = members.iter().find(is_ours) else {
            return;
        };
        let message = format!(
            "Nothing is done, because the Cluster {} has the label {WATCH_FILTER}={filter}, and this object has not. Put it on \
             this object too",
            cluster.name()
        );
        // It is found at every look, and the event says it once.
        tracing::debug!(object = %key, kind = subject.target.kind, "{message}");
        let event = Event {
            kind: EventKind::Warning,
            reason: "NotWatched".to_owned(),
            message,
        };
        let now = (self.options.clock)();
        self.executor.teller().remind(subject, &event, now);
    }
}
