//! What is around the process: its environment, its files, and whoever answers on the network.

use std::{io, time::Duration};

use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::captcontrolplane::exchange::{self, ExchangeError, Place};

/// What is around the process.
pub(in super::super) trait Around: Send + Sync {
    /// A variable of the environment that is not empty.
    fn variable(&self, name: &str) -> Option<String>;
    /// The text of a file.
    fn file(&self, path: &str) -> io::Result<String>;
    /// An answer from the network.
    fn ask<'a>(
        &'a self,
        place: Place<'a>,
        request: Request<Full<Bytes>>,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, ExchangeError>>;
}

/// This machine.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Machine;

impl Around for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn file(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn ask<'a>(
        &'a self,
        place: Place<'a>,
        request: Request<Full<Bytes>>,
        deadline: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, ExchangeError>> {
        Box::pin(exchange::ask(place, request, deadline))
    }
}
