//! One module per subcommand.

pub(crate) mod manifests;
pub(crate) mod up;

use std::io::{self, Write};

/// Writes to stdout. A reader that has seen enough (`capt … | head`) is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
