//! How Terraform prints numbers.

/// Digits of a number that are worth looking for.
const MAX_DIGITS: usize = 512;

/// The number as Terraform prints it: decimal, without an exponent, no digit more than needed. `None` if the text is no
/// number.
pub(super) fn decimal(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !whole.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let limit = MAX_DIGITS as i64;
    if !is_number || digits.len() > MAX_DIGITS || point.abs() > limit {
        return None;
    }
    let before = usize::try_from(-point).unwrap_or(0);
    let digits = format!("{}{digits}", "0".repeat(before));
    let point = usize::try_from(point).unwrap_or(0);
    let after = point.saturating_sub(digits.len());
    let digits = format!("{digits}{}", "0".repeat(after));
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_as_terraform_prints_them() {
        let long = "9".repeat(MAX_DIGITS + 1);
        for (text, expected) in [
            ("5432", Some("5432")),
            ("1e3", Some("1000")),
            ("1E+2", Some("100")),
            ("1.50", Some("1.5")),
            ("-5.0", Some("-5")),
            ("0815", Some("815")),
            ("47.11e1", Some("471.1")),
            ("47.11e3", Some("47110")),
            ("1e-7", Some("0.0000001")),
            ("0.10", Some("0.1")),
            ("0", Some("0")),
            ("12345678901234567890123", Some("12345678901234567890123")),
            ("1e100000", None),
            ("1e99999999999", None),
            (long.as_str(), None),
            ("", None),
            ("-", None),
            (".5", None),
            ("1e", None),
            ("1x", None),
            ("1.2.3", None),
            ("١٢", None),
        ] {
            assert_eq!(decimal(text).as_deref(), expected, "{text}");
        }
    }
}
