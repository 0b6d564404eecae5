//! Endpoints of Clusters. The Go implementation wrote `https://HOST` as the host of a control plane, and Cluster API copied
//! it to the Cluster, once and for ever.

use std::fmt::Write as _;

use anyhow::Context as _;
use capt_api::{CAPTControlPlane, endpoint::ApiEndpoint, foreign::Cluster};
use capt_core::controlplane::endpoint::{self, EndpointProblem};
use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::objects::call;

const FIELD_MANAGER: &str = "capt-cli";

/// A Cluster whose host is none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Misspelt {
    namespace: String,
    name: String,
    /// What it says.
    written: ApiEndpoint,
    /// What that means.
    meant: ApiEndpoint,
    /// What its control plane says.
    answers: Answers,
}

/// Where the API server of a Cluster answers, by what its control plane says.
#[derive(Clone, Debug, PartialEq)]
enum Answers {
    /// Where the Cluster means.
    There,
    /// Somewhere else.
    Elsewhere(ApiEndpoint),
    /// It does not say yet. The controllers write it down when the module's outputs are known.
    Unknown,
    /// It says something that cannot be read, and why not. What it answers to is then nobody's guess.
    Unreadable {
        control_plane: String,
        host: String,
        problem: EndpointProblem,
    },
}

impl Answers {
    /// What a control plane says, seen from what its Cluster means.
    fn of(control_plane: &CAPTControlPlane, meant: &ApiEndpoint) -> Self {
        let told = control_plane.spec.control_plane_endpoint.as_ref();
        let Some(told) = told.filter(|told| !told.host.trim().is_empty()) else {
            return Self::Unknown;
        };
        match (endpoint::stored(told), endpoint::parse(&told.host)) {
            (Some(answers), _) if endpoint::is_same(meant, &answers) => Self::There,
            (Some(answers), _) => Self::Elsewhere(answers),
            (None, Ok(_)) => Self::Unknown,
            (None, Err(problem)) => Self::Unreadable {
                control_plane: control_plane.name_any(),
                host: told.host.clone(),
                problem,
            },
        }
    }

    /// Whether the endpoint of the Cluster may be written as it is meant.
    fn is_no_obstacle(&self) -> bool {
        matches!(self, Self::There | Self::Unknown)
    }
}

impl Misspelt {
    /// What is wrong with a Cluster that has one of these control planes, if anything is.
    pub(super) fn of(cluster: &Cluster, control_planes: &[CAPTControlPlane]) -> Option<Self> {
        let reference = cluster.spec.control_plane_ref.as_ref()?;
        let control_plane = control_planes.iter().find(|one| {
            reference.kind == "CAPTControlPlane"
                && one.name_any() == reference.name
                && one.namespace() == cluster.namespace()
        })?;
        let told = cluster.spec.control_plane_endpoint.as_ref()?;
        let written = ApiEndpoint {
            host: told.host.clone()?,
            port: told.port?,
        };
        let meant = endpoint::stored(&written).filter(|meant| *meant != written)?;
        Some(Self {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
            answers: Answers::of(control_plane, &meant),
            written,
            meant,
        })
    }

    /// What becomes of it by this command, or else what a person has to do.
    pub(super) fn in_words(&self) -> Result<String, String> {
        let Self { namespace, name, .. } = self;
        let (is, meant) = (&self.written.host, endpoint::display(&self.meant));
        let written = format!(
            "The endpoint {is} of the Cluster {namespace}/{name} is written as host and port: {meant}"
        );
        match &self.answers {
            Answers::There => Ok(written),
            Answers::Unknown => Ok(format!(
                "{written}; its control plane has no endpoint, gets one from the outputs of its module, and says EndpointChanged \
                 if that is another"
            )),
            Answers::Elsewhere(other) => Err(format!(
                "Write the host {} and the port {} into spec.controlPlaneEndpoint of the Cluster {namespace}/{name}: it says {is}, \
                 and its control plane answers elsewhere",
                other.host, other.port
            )),
            Answers::Unreadable {
                control_plane,
                host,
                problem,
            } => Err(format!(
                "Mend spec.controlPlaneEndpoint of the CAPTControlPlane {namespace}/{control_plane}, whose host {host} cannot be \
                 read: {problem}. Until then the Cluster {namespace}/{name} keeps its endpoint {is}"
            )),
        }
    }
}

/// Writes the endpoints of Clusters as they are meant where nothing else is wrong with them, and says what was done.
pub(super) async fn put_right(client: &Client, all: &[Misspelt]) -> anyhow::Result<String> {
    let mut told = String::new();
    for one in all.iter().filter(|one| one.answers.is_no_obstacle()) {
        let Misspelt {
            namespace,
            name,
            written,
            meant,
            ..
        } = one;
        // Nobody else may have put it right meanwhile.
        let path = "/spec/controlPlaneEndpoint";
        let patch = json!([
            {"op": "test", "path": path, "value": written},
            {"op": "replace", "path": path, "value": meant},
        ]);
        let patch: Patch<()> = Patch::Json(serde_json::from_value(patch)?);
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let api: Api<Cluster> = Api::namespaced(client.clone(), namespace);
        call(api.patch(name, &parameters, &patch))
            .await
            .with_context(|| format!("cannot put right the endpoint of the Cluster {namespace}/{name}"))?;
        // Writing to a string cannot fail.
        let _ = writeln!(
            told,
            "The endpoint of the Cluster {namespace}/{name} is {} now.",
            endpoint::display(meant)
        );
    }
    Ok(told)
}
