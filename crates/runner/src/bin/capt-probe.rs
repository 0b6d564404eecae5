//! What a hostile run tries that a shell cannot. For tests of this crate only.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [what, whom] => match attack(what, whom) {
            Ok(()) => {
                println!("TAKEN");
                ExitCode::SUCCESS
            }
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::FAILURE,
    }
}

#[cfg(target_os = "linux")]
fn attack(what: &str, whom: &str) -> std::io::Result<()> {
    use std::{
        io,
        os::{
            linux::net::SocketAddrExt as _,
            unix::net::{SocketAddr, UnixListener, UnixStream},
        },
    };

    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

    let pid = || {
        whom.parse()
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidInput)
    };
    match what {
        // It needs the same right as to read the memory of the process.
        "ptrace" => {
            let process = pidfd_open(pid()?, PidfdFlags::empty())?;
            pidfd_getfd(process, 2, PidfdGetfdFlags::empty())?;
        }
        "abstract" => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(whom)?)?;
        }
        // As a provider is spoken to.
        "listen" => {
            let _listener = UnixListener::bind(whom)?;
            UnixStream::connect(whom)?;
        }
        "socket" => {
            UnixStream::connect(whom)?;
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn attack(_what: &str, _whom: &str) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
