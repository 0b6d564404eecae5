//! Credentials of a role that a service account of the cluster we run in may take on.

use super::{
    super::{
        credentials::Credentials,
        sts::{self, Role},
    },
    Around, ChainError, region,
};

pub(super) async fn find(around: &dyn Around) -> Result<Option<Credentials>, ChainError> {
    let (Some(file), Some(arn)) = (
        around.variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
        around.variable("AWS_ROLE_ARN"),
    ) else {
        return Ok(None);
    };
    let role = Role {
        arn,
        session: around
            .variable("AWS_ROLE_SESSION_NAME")
            .unwrap_or_else(|| "capt".to_owned()),
        external_id: None,
    };
    assume(around, &region(around), &role, &file).await.map(Some)
}

pub(super) async fn assume(
    around: &dyn Around,
    region: &str,
    role: &Role,
    file: &str,
) -> Result<Credentials, ChainError> {
    let identity = around.file(file).map_err(|source| ChainError::File {
        what: "the file with the web identity",
        source,
    })?;
    sts::assume_role_with_web_identity(around, region, role, identity.trim())
        .await
        .map_err(|source| ChainError::Role {
            role: role.arn.clone(),
            source,
        })
}
