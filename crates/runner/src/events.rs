//! What people hear about a Workspace, under the reasons that provider-terraform uses, and each thing once.

use std::{collections::HashMap, time::Duration};

use capt_core::{
    decision::{Event, EventKind},
    telling::{Reporter, counted, told},
};
use capt_terraform::diagnostics::bounded;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Told},
    jiff::SignedDuration,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    Clock,
    api::{CallError, call, words},
    report::FIELD_MANAGER,
    view::{KIND, VERSION, WorkspaceView},
};

/// Bytes of an event's text.
const MAX_NOTE: usize = 1000;
/// The same is not said again for so long.
const REPEAT: Duration = Duration::from_secs(3600);
/// What comes again within this time was told by a runner that ended before it remembered so.
const SAME_NEWS: SignedDuration = SignedDuration::from_secs(1);
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
    /// A Workspace goes, and what its state does not have may be left.
    Left,
    /// A state that was gone was written again.
    StateRestored,
    /// A connection Secret that somebody had changed or removed was written again.
    ConnectionRestored,
    /// A status that somebody else had written was written again.
    StatusRestored,
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
            Self::StatusRestored => "StatusRestored",
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
    client: Client,
    instance: String,
    clock: Clock,
    said: Mutex<HashMap<(String, News), (String, Instant)>>,
}

impl Herald {
    /// In the name of this runner.
    pub(crate) fn new(client: Client, identity: &str, clock: Clock) -> Self {
        Self {
            client,
            instance: bounded(identity, 128),
            clock,
            said: Mutex::default(),
        }
    }

    /// Tells something, unless just that was the last thing told under this reason. Whether it arrives is of no
    /// importance.
    pub(crate) async fn tell(&self, view: &WorkspaceView, news: News, note: &str) {
        if !self.is_new(&view.uid, news, note) {
            return;
        }
        if let Err(error) = self.try_tell(view, news, note).await {
            tracing::debug!(
                workspace = view.name,
                error = words(&error),
                "an event was not written"
            );
        }
    }

    async fn try_tell(&self, view: &WorkspaceView, news: News, note: &str) -> Result<(), CallError> {
        let event = Event {
            kind: match news.is_good() {
                true => EventKind::Normal,
                false => EventKind::Warning,
            },
            reason: news.reason().to_owned(),
            message: bounded(note, MAX_NOTE),
        };
        let about = ObjectReference {
            api_version: Some(format!("{}/{VERSION}", view.group.name())),
            kind: Some(KIND.to_owned()),
            namespace: view.namespace.clone(),
            name: Some(view.name.clone()),
            uid: Some(view.uid.clone()),
            ..ObjectReference::default()
        };
        let by = Reporter {
            controller: "capt-runner",
            instance: &self.instance,
        };
        let now = (self.clock)();
        let told = told(&event, about, by, now);
        let name = told.metadata.name.clone().unwrap_or_default();
        let namespace = told.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<Told> = Api::namespaced(self.client.clone(), namespace);
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match call(api.create(&params, &told)).await {
            Err(error) if error.is_already_there() => {}
            answer => return answer.map(drop),
        }
        let present = call(api.get(&name)).await?;
        let Some(series) = counted(&present, SAME_NEWS, now) else {
            return Ok(());
        };
        let patch = Patch::Merge(json!({"series": series}));
        call(api.patch(&name, &PatchParams::default(), &patch))
            .await
            .map(drop)
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
