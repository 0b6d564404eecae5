//! Which namespaces a process works in.

use capt_core::tenancy::NamespaceSet;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use crate::{args, objects::call_opt};

/// Which namespaces a process works in.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NamespaceArgs {
    /// Work in this namespace only; repeat it for several [default: all namespaces]
    #[arg(short = 'n', long = "namespace", value_name = "NAMESPACE", value_parser = args::namespace)]
    namespaces: Vec<String>,
}

impl NamespaceArgs {
    /// The namespaces that were named.
    pub(crate) fn names(&self) -> &[String] {
        &self.namespaces
    }

    /// The namespaces that were named, or all.
    pub(crate) fn set(&self) -> NamespaceSet {
        match self.namespaces.as_slice() {
            [] => NamespaceSet::All,
            names => NamespaceSet::only(names),
        }
    }

    /// Warns in the log of namespaces that do not exist. They may be created later.
    pub(crate) fn warn_of_absent(&self, client: &Client) {
        for name in self.namespaces.clone() {
            let api: Api<Namespace> = Api::all(client.clone());
            tokio::spawn(async move {
                if let Ok(None) = call_opt(api.get_metadata(&name)).await {
                    tracing::warn!(
                        namespace = name,
                        "the namespace of --namespace does not exist. Create it: kubectl create namespace {name}"
                    );
                }
            });
        }
    }
}
