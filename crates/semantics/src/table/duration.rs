//! How long ago, for people: two or three significant figures.

use jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration as `kubectl` shows it: `42s`, `3m5s`, `5h`, `2d3h`, `400d`.
#[must_use]
pub fn human_duration(seconds: i64) -> String {
    // Clocks differ a little; what is further in the future than that is a mistake.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 => two(seconds, MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds, YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A large unit and, unless there are none, the small ones that remain.
fn two(seconds: i64, large: i64, large_sign: &str, small: i64, small_sign: &str) -> String {
    match seconds % large / small {
        0 => format!("{}{large_sign}", seconds / large),
        rest => format!("{}{large_sign}{rest}{small_sign}", seconds / large),
    }
}

/// How long before `now_seconds` a timestamp is; `<unknown>` for none, `<invalid>` for what is no time.
#[must_use]
pub fn human_age(timestamp: &Value, now_seconds: i64) -> String {
    let text = timestamp.as_str().unwrap_or_default();
    if matches!(text, "" | "null" | "0001-01-01T00:00:00Z") {
        return "<unknown>".to_owned();
    }
    seconds_of(text).map_or_else(
        || "<invalid>".to_owned(),
        |then| human_duration(now_seconds.saturating_sub(then)),
    )
}

/// Unix time of an RFC 3339 timestamp.
pub(super) fn seconds_of(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}
