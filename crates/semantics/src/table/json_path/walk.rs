//! Following a path through a document, depth first and without collecting anything.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::Value;

use super::{End, Filter, Operand, Operator, Slice, Step, Test};

/// How many values a path may look at. Several `..` in one path multiply; whoever writes such a path shall not be able
/// to keep the server busy.
const BUDGET: u32 = 1_000_000;

/// Whether to go on looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

/// The path does not suit the document.
#[derive(Debug)]
pub(super) struct Unsuited;

type Outcome = Result<Go, Unsuited>;
type Visit<'v, 'a> = &'v mut dyn FnMut(&'a Value) -> Outcome;

/// Calls `visit` with every value that the steps lead to.
pub(super) fn walk<'a>(steps: &[Step], document: &'a Value, visit: Visit<'_, 'a>) -> Outcome {
    Walk {
        budget: Cell::new(BUDGET),
    }
    .follow(steps, document, visit)
}

struct Walk {
    budget: Cell<u32>,
}

impl Walk {
    fn follow<'a>(&self, steps: &[Step], value: &'a Value, visit: Visit<'_, 'a>) -> Outcome {
        self.budget.set(self.budget.get().checked_sub(1).ok_or(Unsuited)?);
        let Some((step, rest)) = steps.split_first() else {
            return visit(value);
        };
        match step {
            Step::Field(name) => match value.get(name.as_str()) {
                Some(member) => self.follow(rest, member, visit),
                None => Ok(Go::On),
            },
            Step::Wildcard => self.each(children(value), rest, visit),
            Step::Recursive => self.descend(rest, value, visit),
            Step::Slice(slice) => match value {
                Value::Null => Ok(Go::On),
                Value::Array(items) => self.each(slice.of(items)?, rest, visit),
                _ => Err(Unsuited),
            },
            Step::Union(alternatives) => {
                for alternative in alternatives {
                    let go = self.follow(alternative, value, &mut |found| {
                        self.follow(rest, found, &mut *visit)
                    })?;
                    if go == Go::Stop {
                        return Ok(Go::Stop);
                    }
                }
                Ok(Go::On)
            }
            Step::Filter(filter) => {
                for item in value.as_array().ok_or(Unsuited)? {
                    if self.passes(filter, item)? && self.follow(rest, item, &mut *visit)? == Go::Stop {
                        return Ok(Go::Stop);
                    }
                }
                Ok(Go::On)
            }
        }
    }

    fn each<'a>(
        &self,
        values: impl Iterator<Item = &'a Value>,
        rest: &[Step],
        visit: Visit<'_, 'a>,
    ) -> Outcome {
        for value in values {
            if self.follow(rest, value, &mut *visit)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        Ok(Go::On)
    }

    /// The rest of the path from here and from everything below that can contain something.
    fn descend<'a>(&self, rest: &[Step], value: &'a Value, visit: Visit<'_, 'a>) -> Outcome {
        if children(value).next().is_none() {
            return Ok(Go::On);
        }
        if self.follow(rest, value, &mut *visit)? == Go::Stop {
            return Ok(Go::Stop);
        }
        for child in children(value) {
            if self.descend(rest, child, &mut *visit)? == Go::Stop {
                return Ok(Go::Stop);
            }
        }
        Ok(Go::On)
    }

    fn passes(&self, filter: &Filter, item: &Value) -> Result<bool, Unsuited> {
        let (operator, right) = match &filter.test {
            Test::Exists => {
                // Here a path that does not suit the item is merely absent.
                return Ok(matches!(
                    self.only(&filter.left, item, Several::Allowed),
                    Ok(Some(_))
                ));
            }
            Test::Compare(operator, right) => (*operator, right),
        };
        let left = self.only(&filter.left, item, Several::Refused)?;
        let Some(left) = left else { return Ok(false) };
        let Some(right) = self.only(right, item, Several::Refused)? else {
            return Ok(false);
        };
        compare(operator, left, right)
    }

    /// The value of an operand.
    fn only<'a>(
        &self,
        operand: &'a Operand,
        item: &'a Value,
        several: Several,
    ) -> Result<Option<&'a Value>, Unsuited> {
        let steps = match operand {
            Operand::Literal(literal) => return Ok(Some(literal)),
            Operand::Path(steps) => steps,
        };
        let mut found = None;
        self.follow(steps, item, &mut |value| {
            if found.is_some() && several == Several::Refused {
                return Err(Unsuited);
            }
            found = Some(value);
            Ok(if several == Several::Allowed {
                Go::Stop
            } else {
                Go::On
            })
        })?;
        Ok(found)
    }
}

/// Whether an operand may lead to several values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Several {
    Allowed,
    Refused,
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let (items, members) = match value {
        Value::Array(items) => (Some(items), None),
        Value::Object(members) => (None, Some(members)),
        _ => (None, None),
    };
    items
        .into_iter()
        .flatten()
        .chain(members.into_iter().flat_map(|members| members.values()))
}

impl Slice {
    fn of(self, items: &[Value]) -> Result<impl Iterator<Item = &Value>, Unsuited> {
        let length = i64::try_from(items.len()).map_err(|_| Unsuited)?;
        let from_end = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        let start = from_end(self.start);
        let end = match self.end {
            End::Next => start.saturating_add(1),
            End::Last => length,
            End::At(end) => from_end(end),
        };
        let step = usize::try_from(self.step).ok().filter(|step| *step > 0);
        let slice = if start == end {
            &[]
        } else {
            let start = usize::try_from(start).map_err(|_| Unsuited)?;
            let end = usize::try_from(end).map_err(|_| Unsuited)?;
            if start >= items.len() {
                return Err(Unsuited);
            }
            items.get(start..end).ok_or(Unsuited)?
        };
        Ok(slice.iter().step_by(step.ok_or(Unsuited)?))
    }
}

/// Only values of one basic type can be compared.
fn compare(operator: Operator, left: &Value, right: &Value) -> Result<bool, Unsuited> {
    let ordering = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => match operator {
            Operator::Equal | Operator::NotEqual => left.cmp(right),
            _ => return Err(Unsuited),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => left.partial_cmp(&right).ok_or(Unsuited)?,
                _ => return Err(Unsuited),
            },
        },
        _ => return Err(Unsuited),
    };
    Ok(match operator {
        Operator::Equal => ordering == Ordering::Equal,
        Operator::NotEqual => ordering != Ordering::Equal,
        Operator::Less => ordering == Ordering::Less,
        Operator::LessOrEqual => ordering != Ordering::Greater,
        Operator::Greater => ordering == Ordering::Greater,
        Operator::GreaterOrEqual => ordering != Ordering::Less,
    })
}
