//! What can happen to a call or to a watch event.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::StatusCode;
use kube::core::Status;

/// What happens to a call.
#[derive(Clone)]
#[non_exhaustive]
pub enum Fault {
    /// It is answered with this failure and not executed.
    Fail(Box<Status>),
    /// It is not executed: there is no connection.
    Refuse,
    /// It is executed only after this time.
    Delay(Duration),
    /// It is executed at once, and answered after this time.
    DelayAnswer(Duration),
    /// It is neither executed nor answered, ever.
    Hang,
    /// It is executed, and the connection breaks before the answer.
    DropAnswer,
    /// The caller's process dies before the call leaves it.
    CrashBefore,
    /// The caller's process dies when the call is executed and the answer not yet there.
    CrashAfter,
    /// Somebody else does something first, for instance to the very object that is about to be written.
    Meanwhile(Meanwhile),
    /// Somebody else does something when the call is executed, before the caller has the answer.
    Afterwards(Meanwhile),
    /// A list is answered as it was at this revision: what a restart against a lagging server sees.
    AsOf(u64),
}

impl Fault {
    /// A failure with this code, and the reason and message that go with it.
    ///
    /// ```
    /// use capt_testkit::Fault;
    ///
    /// let conflict = Fault::fail(409);
    /// assert_eq!(format!("{conflict:?}"), "fail-409");
    /// ```
    #[must_use]
    pub fn fail(code: u16) -> Self {
        let reason = match code {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            422 => "Invalid",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        let canonical = StatusCode::from_u16(code)
            .ok()
            .and_then(|code| code.canonical_reason());
        let message = format!("injected: {}", canonical.unwrap_or("failure"));
        Self::Fail(Status::failure(&message, reason).with_code(code).boxed())
    }

    /// Lets `act` run before the call is executed.
    #[must_use]
    pub fn meanwhile<F, A>(act: A) -> Self
    where
        A: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Self::Meanwhile(Meanwhile(Arc::new(move || act().boxed())))
    }

    /// Lets `act` run after the call is executed and before it is answered.
    #[must_use]
    pub fn afterwards<F, A>(act: A) -> Self
    where
        A: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Self::Afterwards(Meanwhile(Arc::new(move || act().boxed())))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(status) => write!(f, "fail-{}", status.code),
            Self::Refuse => f.write_str("refuse"),
            Self::Delay(time) => write!(f, "delay-{time:?}"),
            Self::DelayAnswer(time) => write!(f, "delay-answer-{time:?}"),
            Self::Hang => f.write_str("hang"),
            Self::DropAnswer => f.write_str("drop-answer"),
            Self::CrashBefore => f.write_str("crash-before"),
            Self::CrashAfter => f.write_str("crash-after"),
            Self::Meanwhile(_) => f.write_str("meanwhile"),
            Self::Afterwards(_) => f.write_str("afterwards"),
            Self::AsOf(revision) => write!(f, "as-of-{revision}"),
        }
    }
}

/// Something that somebody else does.
#[derive(Clone)]
pub struct Meanwhile(Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>);

impl Meanwhile {
    pub(crate) async fn act(&self) {
        (self.0)().await;
    }
}

/// What happens to a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// It and all after it wait until the rule is released: the watcher's view grows stale.
    Hold,
    /// It never arrives, as if it had been folded into a later one.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// The connection ends in the middle of its line.
    Cut,
    /// The connection breaks before it.
    Reset,
    /// The server says that the watch is too far behind, and ends it.
    Expire,
}
