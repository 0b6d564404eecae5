//! Credentials in the files that AWS's own programs share.

use k8s_openapi::jiff::Timestamp;

use super::{
    super::{
        credentials::{Credentials, Profiles},
        sts::{self, Role},
    },
    Around, ChainError, region, web_identity,
};

/// More profiles than anybody chains.
const MANY: usize = 8;

/// The credentials of the profile that is asked for, or of the one that is used if none is.
pub(super) async fn find(around: &dyn Around, now: Timestamp) -> Result<Option<Credentials>, ChainError> {
    let home = around.variable("HOME").unwrap_or_default();
    let read = |variable, name| {
        let path = around
            .variable(variable)
            .unwrap_or_else(|| format!("{home}/.aws/{name}"));
        around
            .file(&path)
            .map(|text| Profiles::read(&text))
            .unwrap_or_default()
    };
    let profiles = read("AWS_SHARED_CREDENTIALS_FILE", "credentials").or(read("AWS_CONFIG_FILE", "config"));
    let asked = around.variable("AWS_PROFILE");
    let profile = asked.clone().unwrap_or_else(|| "default".to_owned());
    match of(around, &profiles, &profile, now).await {
        // Nobody asked for a profile, and there is none.
        Err(ChainError::Profile(_)) if asked.is_none() => Ok(None),
        found => found.map(Some),
    }
}

async fn of(
    around: &dyn Around,
    profiles: &Profiles,
    profile: &str,
    now: Timestamp,
) -> Result<Credentials, ChainError> {
    // Roles that have to be taken on, the last first.
    let mut roles: Vec<(Role, String)> = Vec::new();
    let mut profile = profile.to_owned();
    let mut credentials = loop {
        let get = |name: &str| profiles.get(&profile, name).map(str::to_owned);
        let role = get("role_arn").map(|arn| Role {
            arn,
            session: get("role_session_name").unwrap_or_else(|| "capt".to_owned()),
            external_id: get("external_id"),
        });
        let Some(role) = role else {
            break profiles
                .credentials(&profile)
                .ok_or_else(|| ChainError::Profile(profile.clone()))?;
        };
        let region = get("region").unwrap_or_else(|| region(around));
        if let Some(file) = get("web_identity_token_file") {
            break web_identity::assume(around, &region, &role, &file).await?;
        }
        if roles.len() >= MANY {
            return Err(ChainError::Profiles(profile));
        }
        let source = get("source_profile").ok_or_else(|| ChainError::Profile(profile.clone()))?;
        roles.push((role, region));
        if source == profile {
            // A profile may be its own source, of which its keys are meant.
            break profiles
                .credentials(&profile)
                .ok_or_else(|| ChainError::Profile(profile.clone()))?;
        }
        profile = source;
    };
    for (role, region) in roles.iter().rev() {
        credentials = sts::assume_role(around, &credentials, region, role, now)
            .await
            .map_err(|source| ChainError::Role {
                role: role.arn.clone(),
                source,
            })?;
    }
    Ok(credentials)
}
