//! How much memory processes hold.

/// The resident memory of processes in MiB, or nothing where the system does not say.
pub(super) fn resident(pids: &[u32]) -> Option<f64> {
    let kilobytes: Option<u64> = pids.iter().map(|pid| resident_kilobytes(*pid)).sum();
    Some(kilobytes? as f64 / 1024.0)
}

/// The most resident memory that a process ever held, in MiB.
pub(super) fn peak(pid: u32) -> Option<f64> {
    Some(kilobytes(pid, "VmHWM:")? as f64 / 1024.0)
}

/// The resident memory of a process that is its own, without pages of files such as the program, in MiB.
pub(super) fn own(pid: u32) -> Option<f64> {
    Some(kilobytes(pid, "RssAnon:")? as f64 / 1024.0)
}

fn resident_kilobytes(pid: u32) -> Option<u64> {
    kilobytes(pid, "VmRSS:")
}

fn kilobytes(pid: u32, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
