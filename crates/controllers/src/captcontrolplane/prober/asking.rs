//! How an API server is asked whether it answers.

use std::{error::Error, time::Duration};

use capt_api::endpoint::ApiEndpoint;
use capt_core::controlplane::snapshot::Silence;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::Full;
use rustls::CertificateError as Problem;

use crate::captcontrolplane::exchange::{self, ExchangeError, Place, Trust};

/// How long an answer may take. Cluster API's own probe waits as long.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// Asks API servers whether they answer.
pub trait Endpoints: Send + Sync {
    /// Asks once. Any answer will do, also a refusal; without one, says why in words that stay the same for the same
    /// cause. `ca` is the certificate authority that vouches for the API server, as PEM.
    fn ask<'a>(
        &'a self,
        endpoint: &'a ApiEndpoint,
        ca: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), Silence>>;
}

/// Asks over the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkEndpoints;

impl Endpoints for NetworkEndpoints {
    fn ask<'a>(
        &'a self,
        endpoint: &'a ApiEndpoint,
        ca: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), Silence>> {
        Box::pin(async move {
            let port =
                u16::try_from(endpoint.port).map_err(|_| Silence::Nobody("its port is none".to_owned()))?;
            let place = Place {
                host: &endpoint.host,
                port,
                trust: ca.map_or(Trust::Anybody, Trust::Authority),
            };
            let request = Request::get("/healthz")
                .body(Full::default())
                .map_err(|error| Silence::Nobody(error.to_string()))?;
            match exchange::ask(place, request, DEADLINE).await {
                // Whoever has told a status has answered, however the rest of it ends.
                Ok(_) | Err(ExchangeError::Answer) => Ok(()),
                Err(error) => Err(silence(&error)),
            }
        })
    }
}

/// Why there is no answer, by who has to mend that.
fn silence(error: &ExchangeError) -> Silence {
    if matches!(error, ExchangeError::Authority) {
        return Silence::NoAuthority;
    }
    let Some(problem) = error.distrust() else {
        return Silence::Nobody(told(error));
    };
    match problem {
        Problem::Expired | Problem::ExpiredContext { .. } => {
            Silence::Untimely("its certificate has expired".to_owned())
        }
        Problem::NotValidYet | Problem::NotValidYetContext { .. } => {
            Silence::Untimely("its certificate is not valid yet".to_owned())
        }
        Problem::NotValidForName | Problem::NotValidForNameContext { .. } => {
            Silence::Stranger("its certificate is for another name".to_owned())
        }
        Problem::UnknownIssuer | Problem::BadSignature => {
            Silence::Stranger("this certificate authority did not sign its certificate".to_owned())
        }
        other => Silence::Stranger(format!("its certificate cannot be used ({other})")),
    }
}

/// An error with its causes.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
