//! Reading a path.

use serde_json::Value;

use super::{End, Filter, Operand, Operator, Slice, Step, Test};

/// Reads a whole path. A name at its start needs no dot.
pub(super) fn path(text: &str) -> Result<Vec<Step>, String> {
    let bare = text
        .trim_start()
        .starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut parser = Parser {
        rest: text.trim_start(),
        steps: Vec::new(),
    };
    if bare {
        parser.field();
    }
    parser.steps()?;
    Ok(parser.steps)
}

struct Parser<'a> {
    rest: &'a str,
    steps: Vec<Step>,
}

impl<'a> Parser<'a> {
    fn steps(&mut self) -> Result<(), String> {
        while let Some(next) = self.rest.chars().next() {
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
            } else if let Some(rest) = self.rest.strip_prefix("..") {
                if self.steps.last() == Some(&Step::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.rest = rest;
                self.steps.push(Step::Recursive);
                if self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    self.field();
                }
            } else {
                match next {
                    // The current object and the root: where the path starts anyway.
                    ' ' | '@' | '$' => self.rest = &self.rest[1..],
                    '.' => {
                        self.rest = &self.rest[1..];
                        self.field();
                    }
                    '[' => {
                        self.rest = &self.rest[1..];
                        self.brackets()?;
                    }
                    '\r' | '\n' => return Err("unclosed action".to_owned()),
                    other => {
                        let code = u32::from(other);
                        return Err(format!(
                            "unrecognized character in action: U+{code:04X} '{other}'"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// A field's name, up to a sign that is not escaped.
    fn field(&mut self) {
        let mut escaped = false;
        let ends = |c: char| {
            let ends = !escaped
                && matches!(
                    c,
                    ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
                );
            escaped = c == '\\' && !escaped;
            ends
        };
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.steps.push(if name == "*" {
            Step::Wildcard
        } else {
            Step::Field(name.replace('\\', ""))
        });
    }

    fn brackets(&mut self) -> Result<(), String> {
        let (inside, rest) = self.rest.split_once(']').ok_or("unterminated array")?;
        self.rest = rest;
        let alternatives: Vec<&str> = inside.split(',').collect();
        if alternatives.len() == 1 {
            self.steps.extend(subscript(inside)?);
        } else {
            let alternatives: Result<_, String> = alternatives
                .into_iter()
                .map(|alternative| subscript(alternative.trim_matches(' ')))
                .collect();
            self.steps.push(Step::Union(alternatives?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        let end = filter_end(self.rest).ok_or("unterminated filter")?;
        let (inside, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest.strip_prefix(']').ok_or("unclosed array expect ]")?;
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let comparison = inside.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = inside.split_at(at);
            let length = rest.find(|c| !is_operator(c))?;
            let (operator, right) = rest.split_at(length);
            Some((left, operator, right))
        });
        let filter = match comparison {
            None => Filter {
                left: operand(inside)?,
                test: Test::Exists,
            },
            Some((left, operator, right)) => Filter {
                left: operand(left)?,
                test: Test::Compare(self::operator(operator)?, operand(right)?),
            },
        };
        self.steps.push(Step::Filter(filter));
        Ok(())
    }
}

/// Where the filter's closing parenthesis stands: the first that is not inside the quotes, of which there is one pair.
fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut closed = false;
    let mut before = '\0';
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '"' | '\'' if Some(c) == quote && before != '\\' => closed = true,
            ')' if quote.is_some() == closed => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

fn operator(text: &str) -> Result<Operator, String> {
    match text {
        "==" => Ok(Operator::Equal),
        "!=" => Ok(Operator::NotEqual),
        "<" => Ok(Operator::Less),
        "<=" => Ok(Operator::LessOrEqual),
        ">" => Ok(Operator::Greater),
        ">=" => Ok(Operator::GreaterOrEqual),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

fn operand(text: &str) -> Result<Operand, String> {
    let text = text.trim_matches(' ');
    let literal = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inside = text[1..]
                .strip_suffix(quote)
                .ok_or("unterminated quoted string")?;
            Value::String(unquoted(inside)?)
        }
        Some('+' | '-' | '0'..='9') => number(text)?,
        _ if text == "true" => true.into(),
        _ if text == "false" => false.into(),
        _ => {
            let mut parser = Parser {
                rest: text,
                steps: Vec::new(),
            };
            parser.steps()?;
            return Ok(Operand::Path(parser.steps));
        }
    };
    Ok(Operand::Literal(literal))
}

fn number(text: &str) -> Result<Value, String> {
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(integer.into());
    }
    match text.parse::<f64>() {
        Ok(float)
            if text
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-')) =>
        {
            Ok(float.into())
        }
        _ => Err(format!("cannot parse number {text}")),
    }
}

fn unquoted(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => plain.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(escaped @ ('\\' | '"' | '\'')) => escaped,
                _ => return Err(format!("unquote string {text} error invalid syntax")),
            }),
            other => plain.push(other),
        }
    }
    Ok(plain)
}

/// What one subscript means: a quoted key (which is a path), an index or a slice.
fn subscript(text: &str) -> Result<Vec<Step>, String> {
    if text == "*" {
        return Ok(vec![Step::Slice(Slice {
            start: 0,
            end: End::Last,
            step: 1,
        })]);
    }
    if let Some(key) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        let mut parser = Parser {
            rest: key,
            steps: Vec::new(),
        };
        parser.field();
        parser.steps()?;
        return Ok(parser.steps);
    }
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':')) {
        return Err(format!("invalid array index {text}"));
    }
    let mut parts = text.split(':').map(|part| match part {
        "" => Ok(None),
        number => number
            .parse::<i64>()
            .map(Some)
            .map_err(|_| format!("array index {number} is not a number")),
    });
    let mut next = || parts.next().transpose();
    let (start, end, step) = (next()?, next()?, next()?);
    if next()?.is_some() {
        return Err(format!("invalid array index {text}"));
    }
    Ok(vec![Step::Slice(Slice {
        start: start.flatten().unwrap_or(0),
        end: match end {
            None => End::Next,
            Some(None) => End::Last,
            Some(Some(end)) => End::At(end),
        },
        step: step.flatten().unwrap_or(1),
    })])
}
