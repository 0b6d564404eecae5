//! Being asked to stop.

use std::process::ExitCode;

use anyhow::Context;
use tokio::signal::unix::{self, SignalKind};

/// The signals that ask us to stop.
pub(crate) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

/// One request to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopSignal(SignalKind);

impl Signals {
    /// From here on these signals no longer end the process by themselves.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let install = |kind| unix::signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: install(SignalKind::interrupt())?,
            terminate: install(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal(SignalKind::interrupt()),
            _ = self.terminate.recv() => StopSignal(SignalKind::terminate()),
        }
    }
}

impl StopSignal {
    /// What shells report for a process that this signal has ended.
    pub(crate) fn exit_code(self) -> ExitCode {
        u8::try_from(128 + self.0.as_raw_value()).map_or(ExitCode::FAILURE, ExitCode::from)
    }
}
