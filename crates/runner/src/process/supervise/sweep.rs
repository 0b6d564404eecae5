//! Leaving nothing behind.

use std::{fs, io, thread, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, getpid, kill_process, wait},
};

/// Makes this process the parent of everything below it whose own parent ends, even in other groups and sessions.
pub(super) fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    Ok(())
}

/// Ends and reaps every process below this one.
pub(super) fn everything() {
    loop {
        match wait(WaitOptions::NOHANG) {
            // Whoever ended may have left children of its own to us.
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                for child in children() {
                    let _ = kill_process(child, Signal::KILL);
                }
                thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return,
        }
    }
}

fn children() -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let us = getpid().as_raw_nonzero().get();
    processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|process| parent(*process) == Some(us))
        .filter_map(Pid::from_raw)
        .collect()
}

fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may contain anything, spaces and parentheses too.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}
