//! What our runner tells about a Workspace, in a ConfigMap beside it.

use capt_api::{
    marks,
    run::{LOG_KEY, PLAN_KEY, PLAN_LOG_KEY, PREVIOUS_LOG_KEY, REPORT_KEY, RunReport},
};
use capt_core::names;
use capt_runner::view::{Identity, WorkspaceView};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt as _, api::ListParams};

use super::{ObjectError, call, call_opt};
use crate::access::Cluster;

/// Where a runner puts the report of a cluster-scoped Workspace that belongs to nothing, unless it is told otherwise.
const RUNNERS_NAMESPACE: &str = "default";

/// Where a report is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportPlace {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The Workspace that it must be about.
    pub(crate) workspace: Identity,
}

/// A report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) report: RunReport,
    pub(crate) plan: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) previous_log: Option<String>,
    pub(crate) plan_log: Option<String>,
}

impl Cluster {
    /// Where the report about a Workspace is, or will be.
    pub(crate) async fn report_place(&self, workspace: &WorkspaceView) -> Result<ReportPlace, ObjectError> {
        let name = names::run_report(workspace.group.name(), &workspace.name);
        let mut namespace = workspace.home_namespace(RUNNERS_NAMESPACE).to_owned();
        let is_homeless = workspace.home_namespace("").is_empty();
        if is_homeless {
            // The runner's own namespace is its own business, but what it wrote carries a label.
            let api: Api<ConfigMap> = Api::all(self.client.clone());
            let of_it = ListParams::default().labels(&format!("{}={}", marks::RUN_OF, workspace.uid));
            let found = call(api.list_metadata(&of_it))
                .await
                .map(|found| found.items)
                .unwrap_or_default();
            namespace = found.first().and_then(|map| map.namespace()).unwrap_or(namespace);
        }
        Ok(ReportPlace {
            namespace,
            name,
            workspace: workspace.identity(),
        })
    }

    /// The report about a Workspace, if there is one.
    pub(crate) async fn report(&self, place: &ReportPlace) -> Result<Option<Page>, ObjectError> {
        let api = self.reports(place);
        let map = call_opt(api.get(&place.name)).await?;
        Ok(map.and_then(|map| place.read(&map)))
    }

    /// The ConfigMaps of the report's namespace.
    pub(crate) fn reports(&self, place: &ReportPlace) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &place.namespace)
    }
}

impl ReportPlace {
    /// What the ConfigMap says, if it is about this very Workspace and not about a namesake that is gone.
    pub(crate) fn read(&self, map: &ConfigMap) -> Option<Page> {
        if !self.workspace.is_told_by(&map.metadata) {
            return None;
        }
        let text = |key: &str| map.data.as_ref().and_then(|data| data.get(key)).cloned();
        let report = text(REPORT_KEY).and_then(|text| serde_json::from_str(&text).ok());
        Some(Page {
            report: report.unwrap_or_default(),
            plan: text(PLAN_KEY),
            log: text(LOG_KEY),
            previous_log: text(PREVIOUS_LOG_KEY),
            plan_log: text(PLAN_LOG_KEY),
        })
    }
}
