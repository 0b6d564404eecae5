//! The tower layer between a client and an API: it records every call and lets faults happen to it.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header, request::Parts};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use kube::core::Status;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::call::{Call, Verb};
use crate::fault::{Fault, Faults};
use crate::process::CrashToken;
use crate::recorder::{Open, Recorder};
use crate::watch;

/// The body of an answer.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Result<Response<AnswerBody>, BoxError>;

/// Puts recording and faults between one caller and the API.
#[derive(Debug, Clone)]
pub struct FaultLayer {
    caller: String,
    faults: Faults,
    recorder: Recorder,
    token: CrashToken,
}

impl FaultLayer {
    /// A layer for the calls of one process of `caller`, which lives until `token` says otherwise.
    #[must_use]
    pub fn new(caller: &str, faults: &Faults, recorder: &Recorder, token: &CrashToken) -> Self {
        Self {
            caller: caller.to_owned(),
            faults: faults.clone(),
            recorder: recorder.clone(),
            token: token.clone(),
        }
    }
}

impl<S> Layer<S> for FaultLayer {
    type Service = FaultService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultService {
            inner,
            layer: self.clone(),
        }
    }
}

/// What [`FaultLayer`] makes of a service.
#[derive(Debug, Clone)]
pub struct FaultService<S> {
    inner: S,
    layer: FaultLayer,
}

impl<S, B> Service<Request<Body>> for FaultService<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The inner service is asked when the call is made: a hung call must not keep others from being made.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { inner, layer } = self.clone();
        let token = layer.token.clone();
        let send = async move |request| {
            let response = inner.oneshot(request).await.map_err(Into::into)?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        };
        let carried = async move { layer.carry(request, |request| send(request).boxed()).await };
        // Nothing happens any more in a process that is dead, whatever still polls.
        async move {
            tokio::select! {
                biased;
                () = token.crashed() => pending().await,
                answer = carried => answer,
            }
        }
        .boxed()
    }
}

impl FaultLayer {
    async fn carry(
        self,
        request: Request<Body>,
        send: impl FnOnce(Request<Body>) -> BoxFuture<'static, Answer>,
    ) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let call = Call::new(&self.caller, &parts, body.clone());
        let mut open = self.recorder.open(&call);
        let fault = self.faults.for_call(&call);
        let parts = match &fault {
            None
            | Some(Fault::DelayAnswer(_) | Fault::DropAnswer | Fault::CrashAfter | Fault::Afterwards(_)) => {
                parts
            }
            Some(Fault::AsOf(revision)) => as_of(parts, *revision)?,
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(*time).await;
                parts
            }
            Some(Fault::Meanwhile(meanwhile)) => {
                meanwhile.act().await;
                parts
            }
            Some(Fault::Fail(status)) => return failure(&open, status),
            Some(Fault::Refuse) => return Err(broken(io::ErrorKind::ConnectionRefused)),
            Some(Fault::Hang) => {
                open.given_up();
                return pending().await;
            }
            Some(Fault::CrashBefore) => {
                open.given_up();
                self.token.crash();
                return pending().await;
            }
        };
        let answer = self
            .execute(&call, &open, send(Request::from_parts(parts, Body::from(body))))
            .await?;
        match &fault {
            Some(Fault::DropAnswer) => return Err(broken(io::ErrorKind::ConnectionReset)),
            Some(Fault::CrashAfter) => {
                open.given_up();
                self.token.crash();
                return pending().await;
            }
            Some(Fault::DelayAnswer(time)) => tokio::time::sleep(*time).await,
            Some(Fault::Afterwards(afterwards)) => afterwards.act().await,
            _ => {}
        }
        open.told(answer.status().as_u16());
        Ok(answer)
    }

    async fn execute(&self, call: &Call, open: &Open, sent: BoxFuture<'static, Answer>) -> Answer {
        let answer = sent.await?;
        open.executed(answer.status().as_u16());
        if call.verb == Verb::Watch && answer.status().is_success() {
            let (faults, token) = (self.faults.clone(), self.token.clone());
            return Ok(answer.map(|body| watch::disturbed(body, call.clone(), faults, token)));
        }
        if !call.verb.is_write() {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        open.answered_with(&serde_json::from_slice(&body).unwrap_or_default());
        Ok(Response::from_parts(parts, whole(body)))
    }
}

/// A connection error.
fn broken(kind: io::ErrorKind) -> BoxError {
    io::Error::new(kind, "injected: the connection broke").into()
}

fn failure(open: &Open, status: &Status) -> Answer {
    open.told(status.code);
    let body = serde_json::to_vec(status)?;
    let mut response = Response::new(whole(body.into()));
    *response.status_mut() = StatusCode::from_u16(status.code)?;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status.code == 429 {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    Ok(response)
}

fn whole(body: Bytes) -> AnswerBody {
    Full::new(body)
        .map_err(|never: Infallible| match never {})
        .boxed_unsync()
}

/// Turns a list into one of the state at `revision`.
fn as_of(mut parts: Parts, revision: u64) -> Result<Parts, BoxError> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let asked = parts.uri.query().unwrap_or_default().to_owned();
    for (key, value) in form_urlencoded::parse(asked.as_bytes()) {
        if !key.starts_with("resourceVersion") {
            query.append_pair(&key, &value);
        }
    }
    query.append_pair("resourceVersion", &revision.to_string());
    query.append_pair("resourceVersionMatch", "Exact");
    let path = format!("{}?{}", parts.uri.path(), query.finish());
    let mut uri = parts.uri.into_parts();
    uri.path_and_query = Some(path.parse()?);
    parts.uri = Uri::from_parts(uri)?;
    Ok(parts)
}
