//! The supervisor alone. The `capt` binary has it as a hidden command; this one is for tests of this crate, which have
//! no such binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    capt_runner::process::supervise::main(std::env::args_os().skip(1))
}
