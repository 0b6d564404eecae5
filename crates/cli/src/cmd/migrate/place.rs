//! The namespace that is looked at. In one that does not exist there is nothing, which says nothing about what was meant.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use crate::{
    look::Scope,
    objects::{CallError, call_opt},
};

/// Why nothing can be looked at.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    /// There is no such namespace.
    #[error("there is no namespace {0}; see which ones there are: kubectl get namespaces")]
    Missing(String),
    /// The API did not answer as it should.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Where to look: in the namespace that was named, or in all of them.
pub(super) async fn scope(client: &Client, named: Option<&str>) -> Result<Scope, PlaceError> {
    let Some(name) = named else {
        return Ok(Scope::All);
    };
    let api: Api<Namespace> = Api::all(client.clone());
    match call_opt(api.get_metadata(name)).await {
        Ok(None) => Err(PlaceError::Missing(name.to_owned())),
        // Who may not look at namespaces may still look into one.
        Ok(Some(_)) | Err(CallError::Forbidden(_)) => Ok(Scope::Namespace(name.to_owned())),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_namespace_that_does_not_exist_is_named() {
        let team = Scope::Namespace("team".to_owned());
        for (code, expected) in [
            (200, Ok(team.clone())),
            (403, Ok(team)),
            (404, Err("there is no namespace team;")),
            (500, Err("the API refused: no")),
        ] {
            let answer = match code {
                200 => json!({
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "team"},
                }),
                code => json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "no", "reason": "Whatever", "code": code,
                }),
            };
            let status = axum::http::StatusCode::from_u16(code).unwrap();
            let router = axum::Router::new().fallback(move || async move { (status, answer.to_string()) });
            let client = Client::new(router, "default");
            match (scope(&client, Some("team")).await, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{code}"),
                (Err(error), Err(words)) => assert!(error.to_string().starts_with(words), "{code}: {error}"),
                (found, _) => panic!("{code}: {found:?}"),
            }
            assert_eq!(scope(&client, None).await.unwrap(), Scope::All);
        }
    }
}
