//! The connection secret: the outputs of a Workspace for whoever uses what it made.
//!
//! It is written exactly as Crossplane writes it, because others read it.

use std::collections::BTreeMap;

use capt_terraform::state::Output;
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    api::{CallError, call},
    view::{ConnectionSecretRef, WorkspaceView},
    workspace::was_made,
};

/// The type of connection secrets.
pub const SECRET_TYPE: &str = "connection.crossplane.io/v1alpha1";
/// Tries against others who write at the same time.
const TRIES: usize = 5;

/// What became of the connection secret, and the version in which it is as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// What became of it.
    pub published: Published,
    /// Its resource version.
    pub version: Option<String>,
}

/// What became of the connection secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// The Workspace asks for none.
    NotAsked,
    /// It is as it should be already.
    Unchanged,
    /// It was written.
    Written,
}

/// Why the connection secret was not written.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// It belongs to something else.
    #[error(
        "Secret {namespace}/{name} belongs to {owner}, so that the outputs were not written to it: name another one in spec.writeConnectionSecretToRef, or in spec.connectionSecretName of the CAPTCluster or CAPTControlPlane that it belongs to"
    )]
    Controlled {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// What it belongs to.
        owner: String,
    },
    /// It is of another type.
    #[error(
        "Secret {namespace}/{name} is there already and is of type {kind}, so that the outputs were not written to it: name another one in spec.writeConnectionSecretToRef, or in spec.connectionSecretName of the CAPTCluster or CAPTControlPlane that it belongs to"
    )]
    OtherType {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its type.
        kind: String,
    },
    /// It is in another namespace than the Workspace.
    #[error(
        "Secret {namespace}/{name} is in another namespace than the Workspace, which writes its own namespace only: change spec.writeConnectionSecretToRef"
    )]
    ForeignNamespace {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The API did not do it.
    #[error("the connection secret {namespace}/{name} could not be written")]
    Call {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        source: CallError,
    },
}

/// Writes the outputs to the Secret that the Workspace names, if anything in it differs.
///
/// # Errors
/// If the Secret is somebody else's, or the API fails.
pub async fn publish(
    client: &Client,
    view: &WorkspaceView,
    outputs: &BTreeMap<String, Output>,
) -> Result<Handed, ConnectionError> {
    let Some(reference) = &view.connection_secret_ref else {
        return Ok(Handed {
            published: Published::NotAsked,
            version: None,
        });
    };
    check_namespace(view, reference)?;
    let (namespace, name) = (reference.namespace.as_str(), reference.name.as_str());
    let failed = |source| ConnectionError::Call {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        source,
    };
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let wanted = details(outputs);
    let mut tries = 0;
    loop {
        tries += 1;
        // Where nothing was made before there is no Secret either, unless its creation fails for just that.
        let present = match tries == 1 && !was_made(view) {
            true => None,
            false => call(api.get_opt(name)).await.map_err(failed)?,
        };
        let written = match present {
            None => call(api.create(&PostParams::default(), &created(view, name, wanted.clone()))).await,
            Some(present) => {
                let Some(patch) = change(view, namespace, &present, &wanted)? else {
                    return Ok(Handed {
                        published: Published::Unchanged,
                        version: present.metadata.resource_version,
                    });
                };
                call(api.patch(name, &PatchParams::default(), &Patch::Merge(patch))).await
            }
        };
        match written {
            Ok(written) => {
                return Ok(Handed {
                    published: Published::Written,
                    version: written.metadata.resource_version,
                });
            }
            Err(error) if tries < TRIES && (error.is_conflict() || error.is_already_there()) => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Why the Secret that the Workspace names is not for its outputs, if it is somebody else's.
///
/// # Errors
/// If the API fails.
pub async fn refusal(client: &Client, view: &WorkspaceView) -> Result<Option<ConnectionError>, CallError> {
    let Some(reference) = &view.connection_secret_ref else {
        return Ok(None);
    };
    if let Err(error) = check_namespace(view, reference) {
        return Ok(Some(error));
    }
    let api: Api<Secret> = Api::namespaced(client.clone(), &reference.namespace);
    let present = call(api.get_opt(&reference.name)).await?;
    Ok(present.and_then(|present| holder(view, &reference.namespace, &present).err()))
}

/// A tenant's outputs are written to its own namespace only.
fn check_namespace(view: &WorkspaceView, reference: &ConnectionSecretRef) -> Result<(), ConnectionError> {
    match view.confined_to().filter(|own| *own != reference.namespace) {
        None => Ok(()),
        Some(_) => Err(ConnectionError::ForeignNamespace {
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        }),
    }
}

/// The outputs as they stand in the Secret: text as it is, everything else as JSON.
#[must_use]
pub fn details(outputs: &BTreeMap<String, Output>) -> BTreeMap<String, ByteString> {
    let detail = |output: &Output| match &output.value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    };
    outputs
        .iter()
        .map(|(name, output)| (name.clone(), ByteString(detail(output))))
        .collect()
}

fn created(view: &WorkspaceView, name: &str, data: BTreeMap<String, ByteString>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(vec![view.owner_reference(true)]),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.to_owned()),
        data: Some(data),
        ..Secret::default()
    }
}

/// Whether a Secret is the Workspace's already, or else free for it.
fn holder(view: &WorkspaceView, namespace: &str, present: &Secret) -> Result<bool, ConnectionError> {
    let name = || present.metadata.name.clone().unwrap_or_default();
    let owners = present.metadata.owner_references.as_deref().unwrap_or_default();
    match owners.iter().find(|owner| owner.controller == Some(true)) {
        Some(owner) if owner.uid != view.uid => Err(ConnectionError::Controlled {
            namespace: namespace.to_owned(),
            name: name(),
            owner: format!("{} {}", owner.kind, owner.name),
        }),
        None if present.type_.as_deref() != Some(SECRET_TYPE) => Err(ConnectionError::OtherType {
            namespace: namespace.to_owned(),
            name: name(),
            kind: present.type_.clone().unwrap_or_else(|| "Opaque".to_owned()),
        }),
        controller => Ok(controller.is_some()),
    }
}

/// What has to change, if anything. Outputs that went stay: whoever reads them may still need them.
fn change(
    view: &WorkspaceView,
    namespace: &str,
    present: &Secret,
    wanted: &BTreeMap<String, ByteString>,
) -> Result<Option<Value>, ConnectionError> {
    let is_ours = holder(view, namespace, present)?;
    let data = present.data.clone().unwrap_or_default();
    let differs = wanted.iter().any(|(key, value)| data.get(key) != Some(value));
    if is_ours && !differs {
        return Ok(None);
    }
    let mut owners = present.metadata.owner_references.clone().unwrap_or_default();
    if !is_ours {
        owners.retain(|owner| owner.uid != view.uid);
        owners.push(view.owner_reference(true));
    }
    Ok(Some(json!({
        "metadata": {
            "resourceVersion": present.metadata.resource_version,
            "ownerReferences": owners,
        },
        "data": wanted,
    })))
}

#[cfg(test)]
mod tests;
