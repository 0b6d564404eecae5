//! A JSON reader that notices duplicate keys, which `serde_json` would swallow.
//!
//! It also refuses documents nested deeper than [`MAX_DEPTH`], so that everything behind it may recurse.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// How deep lists and objects may nest. `serde_json` itself stops at 128, on the client's side too, and an object
/// travels inside lists, tables and watch events: what is accepted here must still be readable there.
pub const MAX_DEPTH: usize = 120;

/// Parses JSON (the last of duplicate keys wins) and returns the paths of duplicate keys (`spec.a`, `spec.l[0].b`).
pub fn parse(body: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let place = Place {
        parent: None,
        step: Step::Root,
        depth: 0,
    };
    let value = Reader {
        place: &place,
        duplicates: &mut duplicates,
    }
    .deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, duplicates))
}

/// Where the reader is: a chain over the call stack, rendered only when there is something to report.
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
    depth: usize,
}

enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl Place<'_> {
    fn render(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.render(out);
        }
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Index(index) => {
                out.push('[');
                out.push_str(&index.to_string());
                out.push(']');
            }
        }
    }
}

struct Reader<'a> {
    place: &'a Place<'a>,
    duplicates: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// The depth of what this list or object contains.
    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.place.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(self.place.depth + 1)
    }

    fn report(&mut self, step: Step<'_>) {
        let mut path = String::new();
        Place {
            parent: Some(self.place),
            step,
            depth: 0,
        }
        .render(&mut path);
        if !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut items = Vec::new();
        loop {
            let place = Place {
                parent: Some(self.place),
                step: Step::Index(items.len()),
                depth,
            };
            match access.next_element_seed(Reader {
                place: &place,
                duplicates: &mut *self.duplicates,
            })? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let place = Place {
                parent: Some(self.place),
                step: Step::Key(&key),
                depth,
            };
            let value = access.next_value_seed(Reader {
                place: &place,
                duplicates: &mut *self.duplicates,
            })?;
            if members.contains_key(&key) {
                self.report(Step::Key(&key));
            }
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicates_are_found_where_they_are() {
        let cases: [(&str, Value, &[&str]); 6] = [
            (
                r#"{"a":1,"b":[1,2.5,-3,null,true,"x"]}"#,
                json!({"a":1,"b":[1,2.5,-3,null,true,"x"]}),
                &[],
            ),
            (r#"{"a":1,"a":2}"#, json!({"a":2}), &["a"]),
            (r#"{"a":1,"a":2,"a":3}"#, json!({"a":3}), &["a"]),
            (
                r#"{"spec":{"l":[{"b":1},{"b":1,"b":2}]}}"#,
                json!({"spec":{"l":[{"b":1},{"b":2}]}}),
                &["spec.l[1].b"],
            ),
            (
                r#"{"a":{"x":1,"x":1},"b":{"y":1,"y":1}}"#,
                json!({"a":{"x":1},"b":{"y":1}}),
                &["a.x", "b.y"],
            ),
            (r#"[[{"\u0061":0,"a":1}]]"#, json!([[{"a":1}]]), &["[0][0].a"]),
        ];
        for (text, value, duplicates) in cases {
            let (parsed, found) = parse(text.as_bytes()).unwrap();
            assert_eq!(parsed, value, "{text}");
            assert_eq!(found, duplicates, "{text}");
        }
    }

    #[test]
    fn numbers_stay_what_they_are() {
        let (value, _) = parse(b"[18446744073709551615,-9223372036854775808,1.0,1e3]").unwrap();
        assert!(value[0].is_u64() && value[1].is_i64() && value[2].is_f64() && value[3].is_f64());
    }

    #[test]
    fn bad_documents_are_refused() {
        for text in ["", "{", "{} x", "[1,]", "{\"a\":}", "nul", "\u{0}"] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn depth_is_limited() {
        let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        assert!(parse(nested("[", "]", MAX_DEPTH).as_bytes()).is_ok());
        for depth in [MAX_DEPTH + 1, 1_000_000] {
            assert!(parse(nested("[", "]", depth).as_bytes()).is_err());
            assert!(parse(nested("{\"a\":", "}", depth).as_bytes()).is_err());
        }
    }
}
