//! RFC 3339 times, as Go parses and prints them.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";
/// What stands where up to the seconds: Go's name of the element and its width.
const ELEMENTS: [&str; 11] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"];
const FRACTION: &str = ".000000";
const ZONE: &str = "Z07:00";

/// The time in UTC, to the second or (`micro`) with six digits after it.
pub(super) fn canonical(text: &str, micro: bool) -> Result<String, String> {
    let layout = if micro { MICROSECONDS } else { SECONDS };
    check(text, micro).map_err(|problem| match problem {
        Problem::Element { rest, element } => {
            format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}")
        }
        Problem::Extra(rest) => format!("parsing time {text:?}: extra text: {rest:?}"),
    })?;
    let time: Timestamp = text
        .parse()
        .map_err(|_| format!("parsing time {text:?}: {} out of range", out_of_range(text)))?;
    let mut shown = String::new();
    let printer = DateTimePrinter::new().precision(Some(if micro { 6 } else { 0 }));
    // Printing into a String cannot fail.
    let _ = printer.print_timestamp(&time, &mut shown);
    Ok(shown)
}

enum Problem<'a> {
    Element { rest: &'a str, element: &'static str },
    Extra(&'a str),
}

fn check(text: &str, micro: bool) -> Result<(), Problem<'_>> {
    let mut rest = text;
    for element in ELEMENTS {
        let is_number = element.as_bytes()[0].is_ascii_digit();
        let good = rest.get(..element.len()).is_some_and(|head| {
            if is_number {
                head.bytes().all(|byte| byte.is_ascii_digit())
            } else {
                head == element
            }
        });
        if !good {
            return Err(Problem::Element { rest, element });
        }
        rest = &rest[element.len()..];
    }
    let digits = rest
        .strip_prefix('.')
        .map_or(0, |tail| tail.bytes().take_while(u8::is_ascii_digit).count());
    if micro {
        if digits < FRACTION.len() - 1 {
            return Err(Problem::Element {
                rest,
                element: FRACTION,
            });
        }
        rest = &rest[FRACTION.len()..];
    } else if digits > 0 {
        rest = &rest[digits + 1..];
    }
    let zone = if rest.starts_with('Z') { 1 } else { "+00:00".len() };
    let good = rest.get(..zone).is_some_and(|head| {
        zone == 1
            || head.bytes().enumerate().all(|(at, byte)| match at {
                0 => byte == b'+' || byte == b'-',
                3 => byte == b':',
                _ => byte.is_ascii_digit(),
            })
    });
    if !good {
        return Err(Problem::Element { rest, element: ZONE });
    }
    match &rest[zone..] {
        "" => Ok(()),
        extra => Err(Problem::Extra(extra)),
    }
}

/// Which element of a well-formed time has a value that it cannot have.
fn out_of_range(text: &str) -> &'static str {
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    if !number(5, 7).is_some_and(|month| (1..=12).contains(&month)) {
        "month"
    } else if number(11, 13).is_none_or(|hour| hour > 23) {
        "hour"
    } else if number(14, 16).is_none_or(|minute| minute > 59) {
        "minute"
    } else if number(17, 19).is_none_or(|second| second > 59) {
        "second"
    } else {
        "day"
    }
}
