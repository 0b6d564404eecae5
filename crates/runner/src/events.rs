//! What people hear about a Workspace, under the reasons that provider-terraform uses, and each thing once.

use std::{collections::HashMap, time::Duration};

use capt_terraform::diagnostics::bounded;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    api::{call, words},
    view::{KIND, VERSION, WorkspaceView},
};

/// Bytes of an event's text.
const MAX_NOTE: usize = 1000;
/// The same is not said again for so long.
const REPEAT: Duration = Duration::from_secs(3600);
/// Things that are remembered as said.
const MAX_SAID: usize = 4096;

/// Why people hear something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum News {
    /// Everything was made.
    Created,
    /// Everything was changed.
    Updated,
    /// Everything was destroyed.
    Deleted,
    /// Nothing is done any more.
    Paused,
    /// What exists could not be looked at.
    CannotObserve,
    /// It could not be made.
    CannotCreate,
    /// It could not be changed.
    CannotUpdate,
    /// It could not be destroyed.
    CannotDelete,
    /// It could not be made ready for a run.
    CannotConnect,
    /// The outputs could not be published.
    CannotPublish,
    /// Somebody else changed something.
    Drift,
    /// A plan waits for an approval.
    ApprovalNeeded,
    /// The state does not have what was made.
    StateIncomplete,
    /// A Workspace goes, and what its state does not have may be left. Events of one reason are counted and not told one by
    /// one, so that this has another than what was told before.
    Left,
    /// A state that was gone was written again.
    StateRestored,
    /// A connection Secret that somebody had changed or removed was written again.
    ConnectionRestored,
    /// A lock that its holder left behind was taken.
    LockTaken,
    /// Terraform warned of something.
    Warned,
    /// Somebody else runs it.
    UsedByOthers,
    /// A plan was made for a person.
    Planned,
    /// It was looked at because somebody asked for that in Crossplane's way.
    Looked,
}

impl News {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Created => "CreatedExternalResource",
            Self::Updated => "UpdatedExternalResource",
            Self::Deleted => "DeletedExternalResource",
            Self::Paused => "ReconciliationPaused",
            Self::CannotObserve => "CannotObserveExternalResource",
            Self::CannotCreate => "CannotCreateExternalResource",
            Self::CannotUpdate => "CannotUpdateExternalResource",
            Self::CannotDelete => "CannotDeleteExternalResource",
            Self::CannotConnect => "CannotConnectToProvider",
            Self::CannotPublish => "CannotPublishConnectionDetails",
            Self::Drift => "DriftFound",
            Self::ApprovalNeeded => "ApprovalNeeded",
            Self::StateIncomplete => "StateIncomplete",
            Self::Left => "ResourcesLeft",
            Self::StateRestored => "StateRestored",
            Self::ConnectionRestored => "ConnectionSecretRestored",
            Self::LockTaken => "StateLockTaken",
            Self::Warned => "TerraformWarned",
            Self::UsedByOthers => "UsedByProviderTerraform",
            Self::Planned => "Planned",
            Self::Looked => "ReconcileRequestHandled",
        }
    }

    fn is_good(self) -> bool {
        matches!(
            self,
            Self::Created | Self::Updated | Self::Deleted | Self::Paused | Self::Planned | Self::Looked
        )
    }
}

/// Tells people.
pub(crate) struct Herald {
    recorder: Recorder,
    said: Mutex<HashMap<(String, News), (String, Instant)>>,
}

impl Herald {
    /// In the name of this runner.
    pub(crate) fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter {
            controller: "capt-runner".to_owned(),
            instance: Some(bounded(identity, 128)),
        };
        Self {
            recorder: Recorder::new(client, reporter),
            said: Mutex::default(),
        }
    }

    /// Tells something, unless just that was the last thing told under this reason. Whether it arrives is of no
    /// importance.
    pub(crate) async fn tell(&self, view: &WorkspaceView, news: News, note: &str) {
        if !self.is_new(&view.uid, news, note) {
            return;
        }
        let event = Event {
            type_: match news.is_good() {
                true => EventType::Normal,
                false => EventType::Warning,
            },
            reason: news.reason().to_owned(),
            note: Some(bounded(note, MAX_NOTE)),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        let about = ObjectReference {
            api_version: Some(format!("{}/{VERSION}", view.group.name())),
            kind: Some(KIND.to_owned()),
            namespace: view.namespace.clone(),
            name: Some(view.name.clone()),
            uid: Some(view.uid.clone()),
            ..ObjectReference::default()
        };
        if let Err(error) = call(self.recorder.publish(&event, &about)).await {
            tracing::debug!(
                workspace = view.name,
                error = words(&error),
                "an event was not written"
            );
        }
    }

    fn is_new(&self, uid: &str, news: News, note: &str) -> bool {
        let mut said = self.said.lock();
        if said.len() >= MAX_SAID {
            said.retain(|_, (_, at)| at.elapsed() < REPEAT);
            if said.len() >= MAX_SAID {
                said.clear();
            }
        }
        let key = (uid.to_owned(), news);
        let is_old = said
            .get(&key)
            .is_some_and(|(last, at)| last == note && at.elapsed() < REPEAT);
        if !is_old {
            said.insert(key, (note.to_owned(), Instant::now()));
        }
        !is_old
    }
}
