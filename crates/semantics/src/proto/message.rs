//! One message's bytes to its JSON form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value};

use super::ProtoError;
use super::table::{Field, Kind, Place, Shape, Table};
use super::wire::{Reader, Wire};

/// Messages within messages. Go has no limit, but our stack has one; no real document comes near.
const MAX_DEPTH: u32 = 100;

/// The JSON form of a message of the type at `index`.
pub(super) fn decode(table: &Table, index: usize, bytes: &[u8]) -> Result<Value, ProtoError> {
    Decoder { table, depth: 0 }.message(index, bytes)
}

#[derive(Debug, Clone, Copy)]
struct Decoder<'t> {
    table: &'t Table,
    depth: u32,
}

impl Decoder<'_> {
    fn message(self, index: usize, bytes: &[u8]) -> Result<Value, ProtoError> {
        if self.depth == MAX_DEPTH {
            return Err(malformed("messages are nested too deeply"));
        }
        let deeper = Self {
            depth: self.depth + 1,
            ..self
        };
        let message = self.table.message(index);
        let mut output = Output::for_fields(&message.fields);
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            let Some(field) = message.fields.iter().find(|field| field.number == number) else {
                continue;
            };
            let read = match field.shape {
                Shape::Single => deeper
                    .value(field.kind, wire)
                    .map(|value| output.put(field, value)),
                Shape::List => deeper.items(field.kind, wire, output.list(field.place)),
                Shape::Map => deeper.entry(field.kind, wire, output.map(field.place)),
            };
            // A message names its own fields; naming the way down to it as well would only be noise.
            if let (Err(ProtoError::Malformed(text)), false) = (&read, matches!(field.kind, Kind::Message(_)))
            {
                return Err(ProtoError::Malformed(format!(
                    "field {number} of {}: {text}",
                    message.name
                )));
            }
            read?;
        }
        Ok(output.finish())
    }

    fn items(self, kind: Kind, wire: Wire<'_>, list: &mut Vec<Value>) -> Result<(), ProtoError> {
        match (kind, wire) {
            // Numbers may come packed into one record, whatever the schema says.
            (Kind::Int | Kind::Bool, Wire::Bytes(bytes)) => {
                let mut reader = Reader::new(bytes);
                while let Some(number) = reader.packed()? {
                    list.push(self.value(kind, Wire::Varint(number))?);
                }
            }
            _ => list.push(self.value(kind, wire)?),
        }
        Ok(())
    }

    fn entry(self, kind: Kind, wire: Wire<'_>, map: &mut Map<String, Value>) -> Result<(), ProtoError> {
        let Wire::Bytes(bytes) = wire else {
            return Err(malformed("a map's entry is no message"));
        };
        let mut key = String::new();
        let mut value = None;
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match (number, wire) {
                (1, Wire::Bytes(bytes)) => key = text(bytes)?,
                (2, wire) => value = Some(wire),
                _ => {}
            }
        }
        let absent = match kind {
            Kind::Int | Kind::Bool => Wire::Varint(0),
            _ => Wire::Bytes(&[]),
        };
        map.insert(key, self.value(kind, value.unwrap_or(absent))?);
        Ok(())
    }

    fn value(self, kind: Kind, wire: Wire<'_>) -> Result<Value, ProtoError> {
        Ok(match (kind, wire) {
            (Kind::Text, Wire::Bytes(bytes)) => text(bytes)?.into(),
            (Kind::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
            (Kind::Json, Wire::Bytes([])) => Value::Null,
            (Kind::Json, Wire::Bytes(bytes)) => serde_json::from_slice(bytes)
                .map_err(|error| malformed(&format!("bad JSON in it: {error}")))?,
            (Kind::Int, Wire::Varint(number)) => signed(number).into(),
            (Kind::Bool, Wire::Varint(number)) => (number != 0).into(),
            (Kind::Double, Wire::Fixed64(bits)) => double(f64::from_bits(bits)),
            (Kind::Time | Kind::MicroTime, Wire::Bytes([])) => Value::Null,
            (Kind::Time, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
            (Kind::MicroTime, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S.%6fZ")?,
            (Kind::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
            (Kind::Message(index), Wire::Bytes(bytes)) => self.message(index, bytes)?,
            _ => return Err(malformed("the encoding does not fit the type")),
        })
    }
}

/// A message's JSON form in the making.
#[derive(Debug)]
struct Output {
    object: Map<String, Value>,
    /// The value itself, for messages that stand for one.
    whole: Option<Value>,
}

impl Output {
    fn for_fields(fields: &[Field]) -> Self {
        let whole = fields
            .first()
            .filter(|field| field.place == Place::Whole)
            .map(|field| match field.shape {
                Shape::List => Value::Array(Vec::new()),
                _ => Value::Null,
            });
        Self {
            object: Map::new(),
            whole,
        }
    }

    fn put(&mut self, field: &Field, value: Value) {
        // Go writes an unset time or raw value as null, which says nothing more than its absence.
        if value.is_null() || (field.omits_zero && is_zero(&value)) {
            return;
        }
        match (field.place, value) {
            (Place::Inline, Value::Object(fields)) => self.object.extend(fields),
            (place, value) => *self.slot(place) = value,
        }
    }

    fn list(&mut self, place: Place) -> &mut Vec<Value> {
        let slot = self.slot(place);
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        match slot {
            Value::Array(items) => items,
            _ => unreachable!("made a list above"),
        }
    }

    fn map(&mut self, place: Place) -> &mut Map<String, Value> {
        let slot = self.slot(place);
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        match slot {
            Value::Object(entries) => entries,
            _ => unreachable!("made a map above"),
        }
    }

    fn slot(&mut self, place: Place) -> &mut Value {
        match place {
            Place::Named(name) => self.object.entry(name).or_insert(Value::Null),
            Place::Inline | Place::Whole => self.whole.get_or_insert(Value::Null),
        }
    }

    fn finish(self) -> Value {
        self.whole.unwrap_or(Value::Object(self.object))
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn text(bytes: &[u8]) -> Result<String, ProtoError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| malformed("a text is not UTF-8"))
}

/// Protobuf's plain integers carry negative numbers in two's complement.
fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}

/// Go writes whole numbers without a fraction.
fn double(number: f64) -> Value {
    let text = number.to_string();
    match text.parse::<i64>() {
        Ok(whole) => whole.into(),
        Err(_) => Number::from_f64(number).map_or(Value::Null, Value::Number),
    }
}

fn time(bytes: &[u8], format: &str) -> Result<Value, ProtoError> {
    let (mut seconds, mut nanoseconds) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Varint(value)) => seconds = signed(value),
            (2, Wire::Varint(value)) => nanoseconds = signed(value),
            _ => {}
        }
    }
    let instant = i32::try_from(nanoseconds)
        .ok()
        .and_then(|nanoseconds| Timestamp::new(seconds, nanoseconds).ok());
    let instant = instant.ok_or_else(|| malformed("a time is out of range"))?;
    Ok(instant.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtoError> {
    let (mut is_text, mut number, mut words) = (false, 0, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((field, wire)) = reader.field()? {
        match (field, wire) {
            (1, Wire::Varint(value)) => is_text = value == 1,
            (2, Wire::Varint(value)) => number = signed(value),
            (3, Wire::Bytes(value)) => words = text(value)?,
            _ => {}
        }
    }
    Ok(if is_text { words.into() } else { number.into() })
}

fn malformed(text: &str) -> ProtoError {
    ProtoError::Malformed(text.to_owned())
}
