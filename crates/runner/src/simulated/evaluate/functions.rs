//! The functions of Terraform that a simulation knows.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hcl::{
    Map, Number, Value,
    eval::{FuncArgs, FuncDef, ParamType},
};
use sha2::{Digest as _, Sha256};

use super::{
    super::configuration::Type,
    format::{format, plain},
    network, yaml,
};

type Answer = Result<Value, String>;
type Named = (&'static str, fn(FuncArgs) -> Answer);

/// Every function by name.
pub(super) fn all() -> &'static [(&'static str, FuncDef)] {
    &ALL
}

/// Each takes what it is given and complains itself, in words that say what is wrong.
static ALL: LazyLock<Vec<(&'static str, FuncDef)>> = LazyLock::new(|| {
    let functions: [Named; 52] = [
        ("abs", |args| Ok(float(number(&args, 0)?.abs()))),
        ("alltrue", |args| {
            Ok(Value::Bool(list(&args, 0)?.iter().all(is_true)))
        }),
        ("anytrue", |args| {
            Ok(Value::Bool(list(&args, 0)?.iter().any(is_true)))
        }),
        ("base64decode", |args| {
            let bytes = STANDARD
                .decode(text(&args, 0)?)
                .map_err(|error| error.to_string())?;
            String::from_utf8(bytes)
                .map(Value::from)
                .map_err(|error| error.to_string())
        }),
        ("base64encode", |args| {
            Ok(Value::from(STANDARD.encode(text(&args, 0)?)))
        }),
        ("ceil", |args| Ok(float(number(&args, 0)?.ceil()))),
        ("cidrhost", |args| {
            network::host(text(&args, 0)?, whole(&args, 1)?).map(Value::from)
        }),
        ("cidrsubnet", |args| {
            network::subnet(text(&args, 0)?, whole(&args, 1)?, whole(&args, 2)?).map(Value::from)
        }),
        ("coalesce", |args| {
            let mut given = args
                .iter()
                .filter(|value| !value.is_null() && value.as_str() != Some(""));
            given
                .next()
                .cloned()
                .ok_or_else(|| "no argument has a value".to_owned())
        }),
        ("compact", |args| {
            let items = list(&args, 0)?.iter();
            let given = items.filter(|value| !value.is_null() && value.as_str() != Some(""));
            Ok(given.cloned().collect())
        }),
        ("concat", |args| {
            let lists: Vec<&Vec<Value>> = (0..args.len())
                .map(|at| list(&args, at))
                .collect::<Result<_, _>>()?;
            Ok(lists.into_iter().flatten().cloned().collect())
        }),
        ("contains", |args| {
            Ok(Value::Bool(list(&args, 0)?.contains(argument(&args, 1)?)))
        }),
        ("distinct", |args| Ok(Value::Array(distinct(list(&args, 0)?)))),
        ("element", |args| {
            let items = list(&args, 0)?;
            let at = usize::try_from(whole(&args, 1)?).map_err(|error| error.to_string())?;
            at.checked_rem(items.len())
                .map(|at| items[at].clone())
                .ok_or_else(|| "the list is empty".to_owned())
        }),
        ("endswith", |args| {
            Ok(Value::Bool(text(&args, 0)?.ends_with(text(&args, 1)?)))
        }),
        // A simulation must not depend on what lies on the machine that it happens to run on.
        ("file", |args| {
            Err(format!(
                "a simulation reads no files, and so not {}",
                text(&args, 0)?
            ))
        }),
        ("flatten", |args| Ok(Value::Array(flat(list(&args, 0)?)))),
        ("floor", |args| Ok(float(number(&args, 0)?.floor()))),
        ("format", |args| {
            format(text(&args, 0)?, args.get(1..).unwrap_or_default()).map(Value::from)
        }),
        ("join", |args| {
            let items: Vec<String> = list(&args, 1)?.iter().map(plain).collect::<Result<_, _>>()?;
            Ok(Value::from(items.join(text(&args, 0)?)))
        }),
        ("jsondecode", |args| {
            serde_json::from_str(text(&args, 0)?).map_err(|error| error.to_string())
        }),
        ("jsonencode", |args| {
            json(argument(&args, 0)?).map(|json| Value::from(json.to_string()))
        }),
        ("keys", |args| {
            Ok(sorted(object(&args, 0)?)
                .into_iter()
                .map(|(key, _)| Value::from(key))
                .collect())
        }),
        ("length", |args| match argument(&args, 0)? {
            Value::String(text) => Ok(Value::from(text.chars().count())),
            Value::Array(items) => Ok(Value::from(items.len())),
            Value::Object(fields) => Ok(Value::from(fields.len())),
            _ => Err("a list, a map or a string is required".to_owned()),
        }),
        ("lookup", |args| {
            let found = object(&args, 0)?.get(text(&args, 1)?).or(args.get(2));
            found.cloned().ok_or_else(|| "the map has no such key".to_owned())
        }),
        ("lower", |args| Ok(Value::from(text(&args, 0)?.to_lowercase()))),
        ("max", |args| extreme(&args, f64::max)),
        ("merge", |args| {
            let mut merged = Map::new();
            for at in 0..args.len() {
                merged.extend(object(&args, at)?.clone());
            }
            Ok(Value::Object(merged))
        }),
        ("min", |args| extreme(&args, f64::min)),
        ("nonsensitive", |args| argument(&args, 0).cloned()),
        ("one", |args| match &list(&args, 0)?[..] {
            [] => Ok(Value::Null),
            [only] => Ok(only.clone()),
            _ => Err("the list has several items".to_owned()),
        }),
        ("range", |args| {
            let (from, to) = if args.len() > 1 {
                (whole(&args, 0)?, whole(&args, 1)?)
            } else {
                (0, whole(&args, 0)?)
            };
            Ok((from..to.min(from.saturating_add(1024)))
                .map(Value::from)
                .collect())
        }),
        ("regex", |args| found(text(&args, 0)?, text(&args, 1)?)),
        ("replace", |args| {
            Ok(Value::from(
                text(&args, 0)?.replace(text(&args, 1)?, text(&args, 2)?),
            ))
        }),
        ("reverse", |args| {
            Ok(list(&args, 0)?.iter().rev().cloned().collect())
        }),
        ("sensitive", |args| argument(&args, 0).cloned()),
        ("sha256", |args| {
            let digest = Sha256::digest(text(&args, 0)?);
            Ok(Value::from(
                digest
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>(),
            ))
        }),
        ("sort", |args| {
            let mut items: Vec<String> = list(&args, 0)?.iter().map(plain).collect::<Result<_, _>>()?;
            items.sort();
            Ok(items.into_iter().map(Value::from).collect())
        }),
        ("split", |args| {
            Ok(text(&args, 1)?.split(text(&args, 0)?).map(Value::from).collect())
        }),
        ("startswith", |args| {
            Ok(Value::Bool(text(&args, 0)?.starts_with(text(&args, 1)?)))
        }),
        ("substr", |args| {
            let (skip, take) = (number(&args, 1)?, number(&args, 2)?);
            let take = if take < 0.0 { usize::MAX } else { take as usize };
            Ok(Value::from(
                text(&args, 0)?
                    .chars()
                    .skip(skip.max(0.0) as usize)
                    .take(take)
                    .collect::<String>(),
            ))
        }),
        ("tobool", |args| Type::Bool.convert(argument(&args, 0)?.clone())),
        ("tolist", |args| list(&args, 0).cloned().map(Value::Array)),
        ("tomap", |args| object(&args, 0).cloned().map(Value::Object)),
        ("tonumber", |args| {
            Type::Number.convert(argument(&args, 0)?.clone())
        }),
        ("toset", |args| Ok(Value::Array(set(list(&args, 0)?)))),
        ("tostring", |args| {
            Type::String.convert(argument(&args, 0)?.clone())
        }),
        ("trimspace", |args| Ok(Value::from(text(&args, 0)?.trim()))),
        ("upper", |args| Ok(Value::from(text(&args, 0)?.to_uppercase()))),
        ("values", |args| {
            Ok(sorted(object(&args, 0)?)
                .into_iter()
                .map(|(_, value)| value)
                .collect())
        }),
        ("yamlencode", |args| {
            json(argument(&args, 0)?).map(|json| Value::from(yaml::encode(&json)))
        }),
        ("zipmap", |args| {
            let keys: Vec<String> = list(&args, 0)?.iter().map(plain).collect::<Result<_, _>>()?;
            Ok(Value::Object(
                keys.into_iter().zip(list(&args, 1)?.iter().cloned()).collect(),
            ))
        }),
    ];
    functions
        .into_iter()
        .map(|(name, function)| {
            (
                name,
                FuncDef::builder().variadic_param(ParamType::Any).build(function),
            )
        })
        .collect()
});

/// JSON as Terraform writes it: keys in order.
pub(in crate::simulated) fn json(value: &Value) -> Result<serde_json::Value, String> {
    let mut json = serde_json::to_value(value).map_err(|error| error.to_string())?;
    json.sort_all_objects();
    Ok(json)
}

fn argument(args: &FuncArgs, at: usize) -> Result<&Value, String> {
    args.get(at)
        .ok_or_else(|| format!("argument {} is missing", at + 1))
}

fn text(args: &FuncArgs, at: usize) -> Result<&str, String> {
    argument(args, at)?
        .as_str()
        .ok_or_else(|| format!("argument {} must be a string", at + 1))
}

fn number(args: &FuncArgs, at: usize) -> Result<f64, String> {
    argument(args, at)?
        .as_f64()
        .ok_or_else(|| format!("argument {} must be a number", at + 1))
}

fn whole(args: &FuncArgs, at: usize) -> Result<u64, String> {
    let number = number(args, at)?;
    let is_whole = number >= 0.0 && number.fract() == 0.0 && number < 9e15;
    is_whole
        .then_some(number as u64)
        .ok_or_else(|| format!("argument {} must be a whole number", at + 1))
}

fn list(args: &FuncArgs, at: usize) -> Result<&Vec<Value>, String> {
    argument(args, at)?
        .as_array()
        .ok_or_else(|| format!("argument {} must be a list", at + 1))
}

fn object(args: &FuncArgs, at: usize) -> Result<&Map<String, Value>, String> {
    argument(args, at)?
        .as_object()
        .ok_or_else(|| format!("argument {} must be a map", at + 1))
}

fn float(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// What a pattern matches: all of it, or what its groups match, by name if they have names.
fn found(pattern: &str, text: &str) -> Answer {
    let pattern = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
    let captures = pattern.captures(text).ok_or("the pattern does not match")?;
    let group = |at: usize| {
        captures
            .get(at)
            .map_or(Value::Null, |group| Value::from(group.as_str()))
    };
    let names: Vec<&str> = pattern.capture_names().flatten().collect();
    if !names.is_empty() {
        let named = names.into_iter().map(|name| {
            let group = captures
                .name(name)
                .map_or(Value::Null, |group| Value::from(group.as_str()));
            (name.to_owned(), group)
        });
        return Ok(Value::Object(named.collect()));
    }
    Ok(match captures.len() {
        1 => group(0),
        groups => (1..groups).map(group).collect(),
    })
}

fn is_true(value: &Value) -> bool {
    value.as_bool() == Some(true) || value.as_str() == Some("true")
}

fn extreme(args: &FuncArgs, choose: fn(f64, f64) -> f64) -> Answer {
    let numbers: Vec<f64> = (0..args.len())
        .map(|at| number(args, at))
        .collect::<Result<_, _>>()?;
    numbers
        .into_iter()
        .reduce(choose)
        .map(float)
        .ok_or_else(|| "a number is required".to_owned())
}

fn distinct(items: &[Value]) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::with_capacity(items.len());
    for item in items {
        if !seen.contains(item) {
            seen.push(item.clone());
        }
    }
    seen
}

fn set(items: &[Value]) -> Vec<Value> {
    let mut items = distinct(items);
    items.sort_by_cached_key(|item| plain(item).unwrap_or_default());
    items
}

fn flat(items: &[Value]) -> Vec<Value> {
    let each = items.iter().map(|item| match item {
        Value::Array(inner) => flat(inner),
        other => vec![other.clone()],
    });
    each.flatten().collect()
}

fn sorted(fields: &Map<String, Value>) -> Vec<(String, Value)> {
    let mut fields: Vec<_> = fields
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields
}
