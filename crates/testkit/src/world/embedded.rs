//! The API in this process.

use std::sync::Arc;

use apiary::clock::{RuntimeClock, SharedClock};
use apiary::store::Retention;
use apiary::{ApiServer, Image, OpenError, Options, Storage};
use axum::body::Body;
use http::Request;
use jiff::Timestamp;
use kube::Client;
use tower::ServiceExt;

/// The namespace of tests. It is not `default`, so that a test which says `default` fails here too.
pub(super) const NAMESPACE: &str = "test";
/// When every embedded world begins: 2030-01-01T00:00:00Z.
const BEGINNING: i64 = 1_893_456_000;

pub(super) struct Embedded {
    server: ApiServer,
}

impl Embedded {
    /// An API that starts from `image`, or empty.
    pub(super) async fn start(image: Option<Image>) -> Result<(Self, Client, SharedClock), OpenError> {
        let beginning = Timestamp::from_second(BEGINNING).unwrap_or_default();
        let clock: SharedClock = Arc::new(RuntimeClock::starting_at(beginning));
        let options = Options {
            storage: Storage::Memory,
            clock: clock.clone(),
            retention: Retention::default(),
            image,
        };
        let server = ApiServer::open(options).await?;
        let service = server
            .router()
            .map_request(|request: Request<kube::client::Body>| request.map(Body::new));
        let client = Client::new(service, NAMESPACE);
        Ok((Self { server }, client, clock))
    }

    pub(super) fn image(&self) -> Image {
        self.server.image()
    }

    pub(super) fn revision(&self) -> u64 {
        self.server.revision()
    }

    pub(super) async fn shutdown(&self) {
        self.server.shutdown().await;
    }
}
