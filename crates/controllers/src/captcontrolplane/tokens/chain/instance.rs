//! Credentials of the instance that we run on.

use std::time::Duration;

use http::Request;
use http_body_util::Full;

use super::{super::credentials::Credentials, Around, ChainError, container::Answer};
use crate::captcontrolplane::exchange::{Place, Trust};

const WHO: &str = "the instance's metadata";
/// Outside of AWS nobody is there, and that must be known soon.
const DEADLINE: Duration = Duration::from_secs(1);
const PLACE: Place<'static> = Place {
    host: "169.254.169.254",
    port: 80,
    trust: Trust::Plain,
};
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
const TOKEN: &str = "x-aws-ec2-metadata-token";

pub(super) async fn find(around: &dyn Around) -> Result<Option<Credentials>, ChainError> {
    let is_off = around.variable("AWS_EC2_METADATA_DISABLED");
    if is_off.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let asked = Request::put("/latest/api/token").header("x-aws-ec2-metadata-token-ttl-seconds", "300");
    let Ok(asked) = asked.body(Full::default()) else {
        return Ok(None);
    };
    // Nobody there: we run on no instance.
    let Ok(answer) = around.ask(PLACE, asked, DEADLINE).await else {
        return Ok(None);
    };
    if !answer.status().is_success() {
        return Ok(None);
    }
    let token = String::from_utf8_lossy(answer.body()).trim().to_owned();
    let Some(roles) = get(around, ROLES, &token).await? else {
        return Ok(None);
    };
    let roles = String::from_utf8_lossy(&roles).trim().to_owned();
    let Some(role) = roles.lines().next().filter(|role| !role.is_empty()) else {
        return Ok(None);
    };
    match get(around, &format!("{ROLES}{}", role.trim()), &token).await? {
        Some(answer) => Answer::read(&answer, WHO).map(Some),
        None => Ok(None),
    }
}

async fn get(around: &dyn Around, path: &str, token: &str) -> Result<Option<Vec<u8>>, ChainError> {
    let request = Request::get(path)
        .header(TOKEN, token)
        .body(Full::default())
        .map_err(|_| ChainError::Answer(WHO))?;
    let answer = around
        .ask(PLACE, request, DEADLINE)
        .await
        .map_err(|source| ChainError::Silent { who: WHO, source })?;
    match answer.status().as_u16() {
        200 => Ok(Some(answer.body().to_vec())),
        // An instance without a role.
        404 => Ok(None),
        status => Err(ChainError::Refused { who: WHO, status }),
    }
}
