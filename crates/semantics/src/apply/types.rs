//! How server-side apply sees a schema.
//!
//! Every place in a document has a type that says in which forms a value may come (object, list, scalar), whether an
//! object or list is one piece or many, and what its children are. Where the schema is silent, objects are taken field
//! by field and lists as one piece.

use serde_json::Value;

use super::object_meta;
use crate::schema::{Additional, Cursor, JsonType, ListType, MapType, Schema};

/// The type of a place in a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'a> {
    /// A place the schema describes.
    Known {
        /// The description.
        at: Cursor<'a>,
        /// Whether this or something above preserves unknown fields.
        preserve: bool,
        /// Whether this is a whole resource, which has `apiVersion`, `kind` and `metadata`.
        resource: bool,
    },
    /// Anything; objects field by field, lists as one piece.
    Deduced,
    /// Anything, as one piece.
    Untyped,
    /// A string of a resource's own (`apiVersion`, `kind`).
    Text,
    /// A field that the schema does not have. Refused in configurations, else taken as [`Type::Deduced`].
    Undeclared,
}

/// A field of an object type.
pub(super) struct Field<'a> {
    /// Its type.
    pub(super) ty: Type<'a>,
    /// Whether the schema names it, as opposed to letting it be a key of a map.
    pub(super) named: bool,
}

/// How a value is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As an object.
    Map,
    /// As a scalar.
    Scalar,
    /// As a list.
    List,
}

/// Which forms a type allows, or which remain once a value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forms(u8);

impl Forms {
    const MAP: Self = Self(1);
    const SCALAR: Self = Self(2);
    const LIST: Self = Self(4);
    const ALL: Self = Self(7);

    fn allows(self, form: Self) -> bool {
        self.0 & form.0 != 0
    }

    /// The one to treat a value by: objects come first, then scalars.
    pub(super) fn pick(self) -> Form {
        if self.allows(Self::MAP) {
            Form::Map
        } else if self.allows(Self::SCALAR) {
            Form::Scalar
        } else {
            Form::List
        }
    }
}

static ATOMIC_LIST: ListType = ListType::Atomic;

impl<'a> Type<'a> {
    /// The type of whole documents of `schema`.
    pub(super) fn document(schema: &'a Schema) -> Self {
        Self::known(schema.cursor(), false, true)
    }

    fn known(at: Cursor<'a>, preserve: bool, resource: bool) -> Self {
        let node = at.node();
        Self::Known {
            at,
            preserve: preserve || node.preserve_unknown,
            resource: resource || node.embedded_resource,
        }
    }

    /// The forms that the type allows.
    fn forms(self) -> Forms {
        match self {
            Self::Known { at, .. } => match at.node().json_type {
                None => Forms::ALL,
                Some(JsonType::Object) => Forms::MAP,
                Some(JsonType::Array) => Forms::LIST,
                Some(_) => Forms::SCALAR,
            },
            Self::Deduced | Self::Untyped | Self::Undeclared => Forms::ALL,
            Self::Text => Forms::SCALAR,
        }
    }

    /// The forms left for `value`: its own if the type allows it, else all that the type allows.
    pub(super) fn forms_of(self, value: Option<&Value>) -> Forms {
        let allowed = self.forms();
        let own = match value {
            None | Some(Value::Null) => return allowed,
            Some(Value::Object(_)) => Forms::MAP,
            Some(Value::Array(_)) => Forms::LIST,
            Some(_) => Forms::SCALAR,
        };
        if allowed.allows(own) { own } else { allowed }
    }

    /// How `value` is treated.
    pub(super) fn form_of(self, value: &Value) -> Form {
        self.forms_of(Some(value)).pick()
    }

    /// How a value would be treated of which nothing is known.
    pub(super) fn default_form(self) -> Form {
        self.forms().pick()
    }

    /// Whether objects here are one piece.
    pub(super) fn map_is_atomic(self) -> bool {
        match self {
            Self::Known { at, .. } => at.node().map_type == MapType::Atomic,
            Self::Untyped => true,
            Self::Deduced | Self::Text | Self::Undeclared => false,
        }
    }

    /// Whether this is an object of which the schema says nothing at all.
    pub(super) fn is_free_form_map(self) -> bool {
        let Self::Known {
            at,
            preserve,
            resource,
        } = self
        else {
            return true;
        };
        let node = at.node();
        !resource
            && node.properties.is_empty()
            && match node.additional {
                Additional::Node(id) => at.at(id).node().json_type.is_none(),
                Additional::Any => true,
                Additional::Unsaid => preserve || node.properties.is_empty(),
            }
    }

    /// The field `name` of an object.
    pub(super) fn field(self, name: &str) -> Field<'a> {
        let Self::Known {
            at,
            preserve,
            resource,
        } = self
        else {
            let ty = match self {
                Self::Untyped => Self::Untyped,
                _ => Self::Deduced,
            };
            return Field { ty, named: false };
        };
        if resource {
            match name {
                "apiVersion" | "kind" => {
                    return Field {
                        ty: Self::Text,
                        named: true,
                    };
                }
                "metadata" => {
                    return Field {
                        ty: Self::known(object_meta::schema().cursor(), false, false),
                        named: true,
                    };
                }
                _ => {}
            }
        }
        let node = at.node();
        if let Some(&id) = node.properties.get(name) {
            return Field {
                ty: Self::known(at.at(id), preserve, false),
                named: true,
            };
        }
        let ty = match node.additional {
            Additional::Node(id) => Self::known(at.at(id), preserve, false),
            Additional::Any => Self::Deduced,
            Additional::Unsaid if preserve || node.properties.is_empty() => Self::Deduced,
            Additional::Unsaid => Self::Undeclared,
        };
        Field { ty, named: false }
    }

    /// How lists here are merged.
    pub(super) fn list_type(self) -> &'a ListType {
        match self {
            Self::Known { at, .. } => &at.node().list_type,
            _ => &ATOMIC_LIST,
        }
    }

    /// The type of a list's items.
    pub(super) fn items(self) -> Self {
        match self {
            Self::Known { at, preserve, .. } => match at.items() {
                Some(items) => Self::known(items, preserve, false),
                None => Self::Untyped,
            },
            _ => Self::Untyped,
        }
    }

    /// The default of the named field `name`.
    pub(super) fn field_default(self, name: &str) -> Option<&'a Value> {
        match self {
            Self::Known { at, .. } => {
                let &id = at.node().properties.get(name)?;
                at.at(id).node().default.as_ref()
            }
            _ => None,
        }
    }

    /// Whether documents are of a built-in kind.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::Known { at, .. } if at.is_typed())
    }

    /// Whether `null` here means nothing at all.
    pub(super) fn drops_null(self) -> bool {
        match self {
            Self::Known { at, .. } => !at.node().nullable && at.node().default.is_none(),
            Self::Text => true,
            Self::Deduced | Self::Untyped | Self::Undeclared => false,
        }
    }

    /// The scalar type, `None` for any.
    pub(super) fn scalar(self) -> Option<JsonType> {
        match self {
            Self::Known { at, .. } if !at.node().int_or_string => at.node().json_type,
            Self::Text => Some(JsonType::String),
            _ => None,
        }
    }
}
