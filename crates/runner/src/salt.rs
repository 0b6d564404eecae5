//! A secret of the runner's own, so that names of inputs can be written down although inputs are secret.

use std::time::Duration;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use uuid::Uuid;

use crate::{
    api::{call, patiently, words},
    report::FIELD_MANAGER,
};

const NAME: &str = "capt-runner";
const KEY: &str = "salt";
/// How long an API that does not answer is waited for. Without the salt everything would be planned again.
const PATIENCE: Duration = Duration::from_secs(600);

/// The salt of earlier runners, or a new one. One that cannot be kept costs a plan of everything at the next start.
pub(crate) async fn load(client: &Client, namespace: &str) -> String {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    // Two that start at once both try to make it; the second look finds what the other made.
    for _ in 0..2 {
        match patiently(PATIENCE, || api.get_opt(NAME)).await {
            Ok(Some(secret)) => match salt(secret) {
                Some(salt) => return salt,
                None => break,
            },
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = words(&error), "the runner's own secret cannot be read");
                break;
            }
        }
        let new = fresh();
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some([(KEY.to_owned(), ByteString(new.clone().into_bytes()))].into()),
            ..Secret::default()
        };
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
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

fn salt(secret: Secret) -> Option<String> {
    let salt = secret.data?.remove(KEY)?.0;
    String::from_utf8(salt).ok().filter(|salt| salt.len() >= 32)
}

fn fresh() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}
