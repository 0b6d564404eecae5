//! A secret of the runner's own, so that names of inputs can be written down although inputs are secret.

use std::time::Duration;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use uuid::Uuid;

use crate::{
    api::{call, patiently, words},
    report::FIELD_MANAGER,
};

/// The Secret that it is kept in, in the runner's own namespace.
pub const SALT_SECRET: &str = "capt-runner";
const KEY: &str = "salt";
/// How long an API that does not answer is waited for. Without the salt everything would be planned again.
const PATIENCE: Duration = Duration::from_secs(600);

/// The salt of earlier runners, or a new one. One that cannot be kept costs a plan of everything at the next start.
pub(crate) async fn load(client: &Client, namespace: &str) -> String {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    // Two that start at once both try to make it; the second look finds what the other made.
    for _ in 0..2 {
        match patiently(PATIENCE, || api.get_opt(SALT_SECRET)).await {
            Ok(Some(secret)) => {
                if let Some(salt) = salt(&secret) {
                    return salt;
                }
                // An installation without the right to create Secrets brings an empty one.
                let new = fresh();
                match call(api.replace(SALT_SECRET, &params, &with_salt(secret, &new))).await {
                    Ok(_) => return new,
                    Err(error) if error.is_conflict() => continue,
                    Err(error) => {
                        tracing::warn!(error = words(&error), "the runner's own secret cannot be filled");
                        break;
                    }
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = words(&error), "the runner's own secret cannot be read");
                break;
            }
        }
        let new = fresh();
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(SALT_SECRET.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some([(KEY.to_owned(), ByteString(new.clone().into_bytes()))].into()),
            ..Secret::default()
        };
        match call(api.create(&params, &secret)).await {
            Ok(_) => return new,
            Err(error) if error.is_already_there() => {}
            Err(error) => {
                tracing::warn!(error = words(&error), "the runner's own secret cannot be kept");
                break;
            }
        }
    }
    fresh()
}

fn salt(secret: &Secret) -> Option<String> {
    let salt = secret.data.as_ref()?.get(KEY)?.0.clone();
    String::from_utf8(salt).ok().filter(|salt| salt.len() >= 32)
}

fn with_salt(mut secret: Secret, salt: &str) -> Secret {
    let data = secret.data.get_or_insert_default();
    data.insert(KEY.to_owned(), ByteString(salt.into()));
    secret
}

fn fresh() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
