//! Secrets and ConfigMaps that a rendering refers to, and which of them are missing.
//!
//! That an object is there is known by a watch. Which keys it has is asked for once for each of its versions, and only
//! their names are remembered.

use std::collections::{BTreeSet, HashMap};

use capt_api::foreign::forprovider::{ForProvider, KeyReference};
use capt_core::{decision::Target, wta::Snapshot};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use parking_lot::Mutex;
use serde_json::Value;

use super::Applies;
use crate::engine::{
    call::{CallError, within_deadline},
    execute::Failure,
    key::ObjectKey,
    wakes::Reader,
};

/// More than anybody refers to; what is beyond is asked for again.
const MANY: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Secret,
    ConfigMap,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

impl Applies {
    /// What a rendering refers to and is not there, in words.
    pub(super) async fn missing_inputs(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        snapshot: &Snapshot,
    ) -> Result<Vec<String>, Failure> {
        let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
        let spec = match &snapshot.rendering {
            Ok(rendered) => Some(&rendered.spec),
            Err(_) => kept.map(|kept| &kept.rendering.spec),
        };
        let mut missing = Vec::new();
        for (kind, reference, field) in spec.map(references).unwrap_or_default() {
            let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
            let place = ObjectKey::within(namespace, &reference.name);
            let table = match kind {
                Kind::Secret => &self.facts.secrets,
                Kind::ConfigMap => &self.facts.config_maps,
            };
            let what = format!("{} {}", kind.name(), reference.name);
            let Some(held) = table.get(reader, &place) else {
                missing.push(format!("{what} ({field} reads it)"));
                continue;
            };
            let version = format!("{}@{}", held.uid, held.resource_version);
            let keys = self
                .keys
                .of(kind, &place, &version)
                .await
                .map_err(|source| Failure::Call {
                    action: "read the keys of",
                    target: Target {
                        api_version: "v1".to_owned(),
                        kind: kind.name().to_owned(),
                        namespace: place.own_namespace().map(str::to_owned),
                        name: place.name().to_owned(),
                    },
                    source,
                })?;
            if !keys.contains(&reference.key) {
                missing.push(format!("key {} of the {what} ({field} reads it)", reference.key));
            }
        }
        Ok(missing)
    }
}

/// The keys that a spec refers to, each once, and the first field that does.
fn references(spec: &Value) -> Vec<(Kind, KeyReference, String)> {
    let Some(Ok(for_provider)) = spec
        .get("forProvider")
        .map(|fields| serde_json::from_value::<ForProvider>(fields.clone()))
    else {
        return Vec::new();
    };
    let variables = for_provider.env.unwrap_or_default();
    let files = for_provider.var_files.unwrap_or_default();
    let of = |field: String, secret: Option<KeyReference>, config_map: Option<KeyReference>| {
        [(Kind::Secret, secret), (Kind::ConfigMap, config_map)]
            .into_iter()
            .filter_map(move |(kind, reference)| Some((kind, reference?, field.clone())))
    };
    let all = variables
        .into_iter()
        .enumerate()
        .flat_map(|(at, variable)| {
            let field = format!("spec.forProvider.env[{at}]");
            of(field, variable.secret_key_ref, variable.config_map_key_ref)
        })
        .chain(files.into_iter().enumerate().flat_map(|(at, file)| {
            let field = format!("spec.forProvider.varFiles[{at}]");
            of(field, file.secret_key_ref, file.config_map_key_ref)
        }));
    let mut found: Vec<(Kind, KeyReference, String)> = Vec::new();
    for (kind, reference, field) in all {
        let is_known =
            |(other, known, _): &(Kind, KeyReference, String)| *other == kind && *known == reference;
        if !found.iter().any(is_known) {
            found.push((kind, reference, field));
        }
    }
    found
}

/// The names of keys, by object and version.
pub(super) struct KnownKeys {
    client: Client,
    known: Mutex<HashMap<(Kind, ObjectKey), Keys>>,
}

/// The names of the keys of one object.
struct Keys {
    version: String,
    names: BTreeSet<String>,
}

impl KnownKeys {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
        }
    }

    async fn of(&self, kind: Kind, place: &ObjectKey, version: &str) -> Result<BTreeSet<String>, CallError> {
        if let Some(keys) = self.known.lock().get(&(kind, place.clone()))
            && keys.version == version
        {
            return Ok(keys.names.clone());
        }
        let names = self.ask(kind, place).await?;
        let mut known = self.known.lock();
        if known.len() >= MANY {
            known.clear();
        }
        let keys = Keys {
            version: version.to_owned(),
            names: names.clone(),
        };
        known.insert((kind, place.clone()), keys);
        Ok(names)
    }

    async fn ask(&self, kind: Kind, place: &ObjectKey) -> Result<BTreeSet<String>, CallError> {
        Ok(match kind {
            Kind::Secret => {
                let api: Api<Secret> = Api::namespaced(self.client.clone(), place.namespace());
                let secret = within_deadline(api.get_opt(place.name())).await?;
                let data = secret.and_then(|secret| secret.data).unwrap_or_default();
                data.into_keys().collect()
            }
            Kind::ConfigMap => {
                let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), place.namespace());
                let map = within_deadline(api.get_opt(place.name()))
                    .await?
                    .unwrap_or_default();
                let binary = map.binary_data.unwrap_or_default().into_keys();
                map.data.unwrap_or_default().into_keys().chain(binary).collect()
            }
        })
    }
}
