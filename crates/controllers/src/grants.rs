//! What stands in the way of a grant to destroy, asked of the API itself: a deletion may be known sooner than its cause.

use capt_core::{
    crds::{CrdObstacle, GUARDED},
    decision::Target,
};
use futures::future::join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};

use crate::engine::{
    call::{CallError, within_deadline},
    execute::Failure,
};

/// The CustomResourceDefinition that is terminating or may not be read, if there is one. What does not answer now is asked
/// again by the next try.
pub(crate) async fn crd_obstacle(client: &Client) -> Result<Option<CrdObstacle>, Failure> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let answers = join_all(GUARDED.map(|name| within_deadline(crds.get_metadata_opt(name)))).await;
    let mut obstacle = None;
    for (name, answer) in GUARDED.into_iter().zip(answers) {
        match answer {
            // One that is not installed has no objects.
            Ok(None) => {}
            Ok(Some(crd)) if crd.metadata.deletion_timestamp.is_none() => {}
            Ok(Some(_)) => return Ok(Some(CrdObstacle::Terminating(name.to_owned()))),
            Err(CallError::Refused { code: 401 | 403, .. }) => {
                obstacle.get_or_insert_with(|| CrdObstacle::Unreadable(name.to_owned()));
            }
            Err(source) => {
                return Err(Failure::Call {
                    action: "look at",
                    target: Target {
                        api_version: "apiextensions.k8s.io/v1".to_owned(),
                        kind: "CustomResourceDefinition".to_owned(),
                        namespace: None,
                        name: name.to_owned(),
                    },
                    source,
                });
            }
        }
    }
    Ok(obstacle)
}
