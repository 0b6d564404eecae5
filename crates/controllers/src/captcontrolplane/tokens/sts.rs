//! Questions to AWS's service for credentials that are valid for a while.

use std::time::Duration;

use http::{Request, Response, header};
use http_body_util::Full;
use hyper::body::Bytes;
use k8s_openapi::jiff::Timestamp;

use super::{
    chain::Around,
    credentials::Credentials,
    signing::{ALGORITHM, Asked, Scope, query, signature},
};
use crate::captcontrolplane::exchange::{ExchangeError, Place, Trust};
use capt_core::{aws::sts_host, controlplane::snapshot::Hidden};

const DEADLINE: Duration = Duration::from_secs(10);
const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
const VERSION: &str = "2011-06-15";

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum StsError {
    /// AWS does not answer.
    #[error("{host} does not answer")]
    Exchange {
        /// Who was asked.
        host: String,
        /// Why.
        source: ExchangeError,
    },
    /// AWS refuses.
    #[error("AWS answered {status}{}", code.as_ref().map(|code| format!(" {code}")).unwrap_or_default())]
    Refused {
        /// HTTP status.
        status: u16,
        /// AWS's word for it.
        code: Option<String>,
    },
    /// The answer has no credentials in it.
    #[error("AWS's answer has no credentials in it")]
    Answer,
    /// What is asked cannot be written.
    #[error("a name has characters that cannot be sent")]
    Request(#[source] http::Error),
}

/// A role, and how to take it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) arn: String,
    pub(super) session: String,
    pub(super) external_id: Option<String>,
}

/// The credentials of a role that other credentials may take on.
pub(super) async fn assume_role(
    around: &dyn Around,
    credentials: &Credentials,
    region: &str,
    role: &Role,
    now: Timestamp,
) -> Result<Credentials, StsError> {
    let mut pairs = vec![
        ("Action", "AssumeRole"),
        ("Version", VERSION),
        ("RoleArn", &role.arn),
        ("RoleSessionName", &role.session),
    ];
    if let Some(id) = &role.external_id {
        pairs.push(("ExternalId", id));
    }
    let body = query(&pairs);
    let host = sts_host(region);
    let scope = Scope {
        at: now,
        region,
        service: "sts",
    };
    let time = scope.time();
    let mut headers = vec![
        ("content-type", FORM),
        ("host", host.as_str()),
        ("x-amz-date", time.as_str()),
    ];
    if let Some(session) = &credentials.session_token {
        headers.push(("x-amz-security-token", session.reveal()));
    }
    let asked = Asked {
        method: "POST",
        path: "/",
        query: "",
        headers: &headers,
        body: body.as_bytes(),
    };
    let authorization = format!(
        "{ALGORITHM} Credential={}/{}, SignedHeaders={}, Signature={}",
        credentials.key_id,
        scope.text(),
        asked.signed_headers(),
        signature(credentials, scope, &asked)
    );
    let mut request = Request::post("/").header(header::AUTHORIZATION, authorization);
    for (name, value) in &headers {
        request = request.header(*name, *value);
    }
    ask(around, &host, request.body(Full::from(body))).await
}

/// The credentials of a role that somebody may take on who has a token of an identity provider.
pub(super) async fn assume_role_with_web_identity(
    around: &dyn Around,
    region: &str,
    role: &Role,
    identity: &str,
) -> Result<Credentials, StsError> {
    let body = query(&[
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", &role.arn),
        ("RoleSessionName", &role.session),
        ("WebIdentityToken", identity),
    ]);
    let host = sts_host(region);
    let request = Request::post("/")
        .header(header::CONTENT_TYPE, FORM)
        .body(Full::from(body));
    ask(around, &host, request).await
}

async fn ask(
    around: &dyn Around,
    host: &str,
    request: http::Result<Request<Full<Bytes>>>,
) -> Result<Credentials, StsError> {
    let place = Place {
        host,
        port: 443,
        trust: Trust::System,
    };
    let request = request.map_err(StsError::Request)?;
    let answer = around.ask(place, request, DEADLINE).await;
    let answer = answer.map_err(|source| StsError::Exchange {
        host: host.to_owned(),
        source,
    })?;
    read(&answer)
}

fn read(answer: &Response<Bytes>) -> Result<Credentials, StsError> {
    let text = String::from_utf8_lossy(answer.body());
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once(&format!("</{name}>"))?;
        Some(value.trim().to_owned())
    };
    if !answer.status().is_success() {
        return Err(StsError::Refused {
            status: answer.status().as_u16(),
            code: element("Code").filter(|code| code.len() < 64),
        });
    }
    let found = || {
        Some(Credentials {
            key_id: element("AccessKeyId")?,
            secret_key: Hidden::new(element("SecretAccessKey")?),
            session_token: Some(Hidden::new(element("SessionToken")?)),
            expires_at: Some(element("Expiration")?.parse().ok()?),
        })
    };
    found().ok_or(StsError::Answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &'static str) -> Response<Bytes> {
        Response::builder()
            .status(status)
            .body(Bytes::from(body))
            .unwrap()
    }

    #[test]
    fn credentials_are_read_from_an_answer_and_a_refusal_keeps_its_word() {
        let good = answer(
            200,
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>\
             <SecretAccessKey>s</SecretAccessKey><SessionToken>t==</SessionToken>\
             <Expiration>2030-01-01T01:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>",
        );
        let credentials = read(&good).unwrap();
        assert_eq!(credentials.key_id, "ASIA1");
        assert_eq!(credentials.session_token.unwrap().reveal(), "t==");
        assert_eq!(
            credentials.expires_at,
            Some("2030-01-01T01:00:00Z".parse().unwrap())
        );
        let refused = answer(
            403,
            "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User arn:x is not \
             authorized</Message></Error></ErrorResponse>",
        );
        assert_eq!(
            read(&refused).unwrap_err().to_string(),
            "AWS answered 403 AccessDenied"
        );
        assert_eq!(
            read(&answer(500, "oops")).unwrap_err().to_string(),
            "AWS answered 500"
        );
        assert!(matches!(read(&answer(200, "<html>")), Err(StsError::Answer)));
    }
}
