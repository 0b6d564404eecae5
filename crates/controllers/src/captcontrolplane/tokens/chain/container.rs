//! Credentials that a container is handed: by ECS, or by EKS Pod Identity.

use std::{net::IpAddr, time::Duration};

use capt_core::controlplane::snapshot::Hidden;
use http::{Request, Uri, header};
use http_body_util::Full;
use serde::Deserialize;

use super::{super::credentials::Credentials, Around, ChainError};
use crate::captcontrolplane::exchange::{Place, Trust};

const WHO: &str = "the container's agent";
const DEADLINE: Duration = Duration::from_secs(5);
const ECS: &str = "169.254.170.2";
/// EKS Pod Identity.
const EKS: [&str; 2] = ["169.254.170.23", "fd00:ec2::23"];

/// What agents of containers and of instances answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Answer {
    access_key_id: String,
    secret_access_key: String,
    token: Option<String>,
    expiration: Option<String>,
}

impl Answer {
    pub(super) fn read(bytes: &[u8], who: &'static str) -> Result<Credentials, ChainError> {
        let answer: Self = serde_json::from_slice(bytes).map_err(|_| ChainError::Answer(who))?;
        Ok(Credentials {
            key_id: answer.access_key_id,
            secret_key: Hidden::new(answer.secret_access_key),
            session_token: answer.token.map(Hidden::new),
            expires_at: answer.expiration.and_then(|text| text.parse().ok()),
        })
    }
}

pub(super) async fn find(around: &dyn Around) -> Result<Option<Credentials>, ChainError> {
    let relative = around.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let full = around.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    let Some(address) = relative.map(|path| format!("http://{ECS}{path}")).or(full) else {
        return Ok(None);
    };
    let unusable = || ChainError::Address("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    let address: Uri = address.parse().map_err(|_| unusable())?;
    let host = address.host().ok_or_else(unusable)?.trim_matches(['[', ']']);
    let is_plain = address.scheme_str() == Some("http");
    if is_plain && !is_near(host) {
        return Err(unusable());
    }
    let place = Place {
        host,
        port: address.port_u16().unwrap_or(if is_plain { 80 } else { 443 }),
        trust: if is_plain { Trust::Plain } else { Trust::System },
    };
    let path = address.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::get(path);
    if let Some(authorization) = authorization(around)? {
        request = request.header(header::AUTHORIZATION, authorization.trim());
    }
    let request = request.body(Full::default()).map_err(|_| unusable())?;
    let answer = around
        .ask(place, request, DEADLINE)
        .await
        .map_err(|source| ChainError::Silent { who: WHO, source })?;
    if !answer.status().is_success() {
        return Err(ChainError::Refused {
            who: WHO,
            status: answer.status().as_u16(),
        });
    }
    Answer::read(answer.body(), WHO).map(Some)
}

fn authorization(around: &dyn Around) -> Result<Option<String>, ChainError> {
    match around.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(path) => around.file(&path).map(Some).map_err(|source| ChainError::File {
            what: "the file with the container's token",
            source,
        }),
        None => Ok(around.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")),
    }
}

/// Whether what is sent there stays on the machine.
fn is_near(host: &str) -> bool {
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host == "localhost" || host == ECS || EKS.contains(&host)
}
