//! The table of messages, read from the crate's `data/protobuf.txt` on first use.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static TEXT: &str = include_str!("../../data/protobuf.txt");

/// All messages.
#[derive(Debug, Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    by_name: BTreeMap<&'static str, usize>,
}

/// One message type.
#[derive(Debug)]
pub(super) struct Message {
    /// Its OpenAPI name.
    pub(super) name: &'static str,
    /// Its fields.
    pub(super) fields: Vec<Field>,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) place: Place,
    pub(super) shape: Shape,
    pub(super) kind: Kind,
    /// A zero value is not written.
    pub(super) omits_zero: bool,
}

/// Where a field stands in its message's JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Under this name.
    Named(&'static str),
    /// Its own fields are its parent's.
    Inline,
    /// It is the whole value.
    Whole,
}

/// One value or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    List,
    Map,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    /// Bytes that hold a JSON text.
    Json,
    Int,
    Bool,
    Double,
    Time,
    MicroTime,
    IntOrString,
    Message(usize),
}

impl Table {
    /// The table.
    pub(super) fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| Self::parse(TEXT).unwrap_or_default())
    }

    /// The index of the message with this OpenAPI name.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Adds the JSON names of a message's fields that are left out when they are zero.
    pub(super) fn omitted_fields(&self, index: usize, found: &mut Vec<&'static str>) {
        for field in &self.message(index).fields {
            match (field.place, field.kind) {
                (Place::Named(name), _) if field.omits_zero => found.push(name),
                (Place::Inline, Kind::Message(inner)) => self.omitted_fields(inner, found),
                _ => {}
            }
        }
    }

    pub(super) fn message(&self, index: usize) -> &Message {
        &self.messages[index]
    }

    /// `None` if the text is not such a table, which a test rules out for the one that is embedded.
    pub(super) fn parse(text: &'static str) -> Option<Self> {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let by_name: BTreeMap<_, _> = lines()
            .filter(|line| !line.starts_with(' '))
            .enumerate()
            .map(|(i, name)| (name, i))
            .collect();
        let mut messages: Vec<Message> = Vec::with_capacity(by_name.len());
        for line in lines() {
            match line.strip_prefix(' ') {
                None => messages.push(Message {
                    name: line,
                    fields: Vec::new(),
                }),
                Some(field) => messages.last_mut()?.fields.push(parse_field(field, &by_name)?),
            }
        }
        Some(Self { messages, by_name })
    }
}

fn parse_field(line: &'static str, by_name: &BTreeMap<&str, usize>) -> Option<Field> {
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok()?;
    let place = match words.next()? {
        "-" => Place::Inline,
        "." => Place::Whole,
        name => Place::Named(name),
    };
    let full_type = words.next()?;
    let (shape, rest) = if let Some(item) = full_type.strip_prefix("[]") {
        (Shape::List, item)
    } else if let Some(value) = full_type.strip_prefix("{}") {
        (Shape::Map, value)
    } else {
        (Shape::Single, full_type)
    };
    let (name, omits_zero) = match rest.strip_suffix('?') {
        Some(name) => (name, true),
        None => (rest, false),
    };
    let kind = match name {
        "string" => Kind::Text,
        "bytes" => Kind::Bytes,
        "json" => Kind::Json,
        "int" => Kind::Int,
        "bool" => Kind::Bool,
        "double" => Kind::Double,
        "time" => Kind::Time,
        "microtime" => Kind::MicroTime,
        "intorstring" => Kind::IntOrString,
        message => Kind::Message(*by_name.get(message)?),
    };
    Some(Field {
        number,
        place,
        shape,
        kind,
        omits_zero,
    })
}
