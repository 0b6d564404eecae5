//! Bounds of numbers. Integers are compared as integers, and a bound that is none is itself reported.

use serde_json::{Number, Value, json};

use super::format::FormatKind;
use super::node::JsonType;
use super::rules::Rules;
use crate::error::go_float;

/// What is wrong with a number.
pub(super) enum Complaint {
    /// The value and the sentence about it, which follows `in body `.
    Field(Value, String),
    /// The sentence of an error that upstream ties to no field, without the path at its end.
    Unplaced(String),
    /// A `multipleOf` that an integer cannot be a multiple of.
    Factor(i64),
}

/// The largest integer that a JSON number is trusted to hold.
const MAX_JSON_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Writes floats that are whole as integers (`4.0` as `4`), as Go does when it writes them.
pub fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64()
                && float.trunc() == float
                && float.abs() <= MAX_JSON_INTEGER
            {
                #[allow(clippy::cast_possible_truncation)] // It is whole and within the bounds.
                let whole = float as i64;
                *value = Value::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a float counts as an integer.
pub(super) fn is_integer(float: f64) -> bool {
    let distance = (float - float.trunc()).abs();
    float.abs() <= MAX_JSON_INTEGER && (distance == 0.0 || distance / (2.0 * float.abs()) < 1e-9)
}

/// Whether a number can be held by the type and format that the schema gives it.
struct Range<'a> {
    json_type: Option<JsonType>,
    rules: Option<&'a Rules>,
}

impl Range<'_> {
    fn holds(&self, float: f64) -> bool {
        let kind = self
            .rules
            .and_then(|rules| rules.format.as_ref())
            .map(|format| format.kind);
        match (self.json_type, kind) {
            (Some(JsonType::Integer), Some(FormatKind::Int32)) => {
                float.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float)
            }
            (Some(JsonType::Integer), _) => {
                // The upper end is the first float that is no i64.
                float.fract() == 0.0
                    && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float)
            }
            (Some(JsonType::Number), Some(FormatKind::Float)) => float.abs() <= f64::from(f32::MAX),
            _ => true,
        }
    }

    fn complaint(&self, what: &str) -> Complaint {
        let type_name = if self.json_type == Some(JsonType::Integer) {
            "integer"
        } else {
            "number"
        };
        let format = match self.rules.and_then(|rules| rules.format.as_ref()) {
            Some(format) => format!("with format {}", format.name),
            None => "(default format)".to_owned(),
        };
        Complaint::Unplaced(format!("{what} value must be of type {type_name} {format}"))
    }
}

/// Checks a number; `report` is called for everything wrong.
pub(super) fn check(
    rules: Option<&Rules>,
    json_type: Option<JsonType>,
    number: &Number,
    mut report: impl FnMut(Complaint),
) {
    let float = number.as_f64().unwrap_or(f64::NAN);
    let int = number.as_i64();
    let range = Range { json_type, rules };
    let holds = match int {
        // Most numbers are small integers, and a large one must not be judged by its float.
        Some(int) => i32::try_from(int).is_ok() || range.holds(float) || is_wide(&range),
        None => range.holds(float),
    };
    if !holds {
        report(range.complaint("Checked"));
    }
    let Some(rules) = rules else { return };
    if let Some(factor) = rules.multiple_of {
        multiple(&range, factor, float, int, &mut report);
    }
    let shown = |int: Option<i64>| int.map_or_else(|| json!(float), |int| json!(int));
    if let Some(min) = rules.minimum {
        let int = bound(&range, "Minimum boundary", min, int, &mut report);
        let (below, equal, text) = match int {
            Some(int) => (int < min as i64, int == min as i64, (min as i64).to_string()),
            None => (float < min, float == min, go_float(min)),
        };
        if below || (equal && rules.exclusive_minimum) {
            let than = if rules.exclusive_minimum {
                "greater than"
            } else {
                "greater than or equal to"
            };
            report(Complaint::Field(shown(int), format!("should be {than} {text}")));
        }
    }
    if let Some(max) = rules.maximum {
        let int = bound(&range, "Maximum boundary", max, int, &mut report);
        let (above, equal, text) = match int {
            Some(int) => (int > max as i64, int == max as i64, (max as i64).to_string()),
            None => (float > max, float == max, go_float(max)),
        };
        if above || (equal && rules.exclusive_maximum) {
            let than = if rules.exclusive_maximum {
                "less than"
            } else {
                "less than or equal to"
            };
            report(Complaint::Field(shown(int), format!("should be {than} {text}")));
        }
    }
}

/// Whether any i64 fits.
fn is_wide(range: &Range<'_>) -> bool {
    !range
        .rules
        .and_then(|rules| rules.format.as_ref())
        .is_some_and(|format| format.kind == FormatKind::Int32)
}

/// Reports a bound that its own type cannot hold; the value is then compared as a float.
fn bound(
    range: &Range<'_>,
    what: &str,
    bound: f64,
    int: Option<i64>,
    report: &mut impl FnMut(Complaint),
) -> Option<i64> {
    if range.holds(bound) {
        return int;
    }
    report(range.complaint(what));
    None
}

fn multiple(
    range: &Range<'_>,
    factor: f64,
    float: f64,
    int: Option<i64>,
    report: &mut impl FnMut(Complaint),
) {
    match bound(range, "MultipleOf", factor, int, report) {
        Some(int) => {
            let factor = factor as i64;
            if factor <= 0 {
                report(Complaint::Factor(factor));
            } else if int % factor != 0 {
                report(Complaint::Field(
                    json!(int),
                    format!("should be a multiple of {factor}"),
                ));
            }
        }
        None => {
            let times = if factor < 1.0 {
                1.0 / factor * float
            } else {
                float / factor
            };
            if !is_integer(times) {
                report(Complaint::Field(
                    json!(float),
                    format!("should be a multiple of {}", go_float(factor)),
                ));
            }
        }
    }
}
