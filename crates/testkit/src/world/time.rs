//! Making sure that time is of the kind that a world needs.

use std::thread;
use std::time::Duration;

use tokio::time::{Instant, pause, resume};

/// From here on time passes only when everybody waits for it.
pub(super) fn make_virtual() {
    if !is_virtual() {
        pause();
    }
}

/// From here on time passes by itself.
pub(super) fn make_real() {
    if is_virtual() {
        resume();
    }
}

/// Tokio does not tell whether its clock is paused, and pausing or resuming twice panics.
fn is_virtual() -> bool {
    let before = Instant::now();
    thread::sleep(Duration::from_millis(1));
    before == Instant::now()
}
