//! Label selectors: `a=b,c in (d,e),!f`.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::FieldError;
use crate::naming::{label_key_errors, label_value_errors};

/// A parsed label selector (`a=b,c in (d,e),!f`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Sorted by key, so that equal selectors compare equal however they were written.
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    /// `=`, `==` and `in`.
    In(Vec<String>),
    /// `!=` and `notin`; a missing label passes.
    NotIn(Vec<String>),
    Exists,
    Missing,
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads the query parameter; the error is the text Kubernetes answers with.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = Parser {
            tokens: scan(text),
            position: 0,
        }
        .selector()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements })
    }

    /// Whether it selects everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels, given as a look-up, match.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.test.passes(label(&requirement.key)))
    }
}

impl Test {
    fn passes(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(parse_integer);
        match self {
            Self::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::Above(limit) => number().is_some_and(|number| number > *limit),
            Self::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, test }) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match test {
                Test::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
                Test::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
                Test::In(values) => write!(f, "{key} in ({})", values.join(",")),
                Test::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
                Test::Exists => f.write_str(key),
                Test::Missing => write!(f, "!{key}"),
                Test::Above(limit) => write!(f, "{key}>{limit}"),
                Test::Below(limit) => write!(f, "{key}<{limit}"),
            }?;
        }
        Ok(())
    }
}

fn parse_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    /// A key or a value.
    Word,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// The signs, longest first.
const SIGNS: [(&str, Token); 9] = [
    ("==", Token::DoubleEquals),
    ("!=", Token::NotEquals),
    ("=", Token::Equals),
    ("!", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
    (",", Token::Comma),
    (">", Token::Greater),
    ("<", Token::Less),
];

fn scan(mut text: &str) -> Vec<(Token, &str)> {
    // A zero byte ends the text, as it does upstream.
    if let Some(end) = text.find('\0') {
        text = &text[..end];
    }
    let mut tokens = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n']);
        if text.is_empty() {
            tokens.push((Token::End, ""));
            return tokens;
        }
        let (token, length) = match SIGNS.iter().find(|(sign, _)| text.starts_with(sign)) {
            Some((sign, token)) => (*token, sign.len()),
            None => {
                let stops = |c: char| {
                    matches!(
                        c,
                        '=' | '!' | '(' | ')' | ',' | '>' | '<' | ' ' | '\t' | '\r' | '\n'
                    )
                };
                let length = text.find(stops).unwrap_or(text.len());
                let token = match &text[..length] {
                    "in" => Token::In,
                    "notin" => Token::NotIn,
                    _ => Token::Word,
                };
                (token, length)
            }
        };
        let (literal, rest) = text.split_at(length);
        tokens.push((token, literal));
        text = rest;
    }
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    position: usize,
}

impl<'a> Parser<'a> {
    /// The next token. Past the end there are only ends.
    fn peek_operator(&self) -> (Token, &'a str) {
        self.tokens
            .get(self.position)
            .copied()
            .unwrap_or((Token::End, ""))
    }

    /// The next token where `in` and `notin` are words like others.
    fn peek(&self) -> (Token, &'a str) {
        match self.peek_operator() {
            (Token::In | Token::NotIn, literal) => (Token::Word, literal),
            other => other,
        }
    }

    fn next(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Word | Token::Not, _) => {
                    let requirement = self
                        .requirement()
                        .map_err(|fault| format!("unable to parse requirement: {fault}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        (Token::End, _) => return Ok(requirements),
                        (Token::Comma, _) => {
                            let (token, literal) = self.peek();
                            if !matches!(token, Token::Word | Token::Not) {
                                return Err(format!("found '{literal}', expected: identifier after ','"));
                            }
                        }
                        (_, literal) => {
                            return Err(format!("found '{literal}', expected: ',' or 'end of string'"));
                        }
                    }
                }
                (Token::End, _) => return Ok(requirements),
                (_, literal) => {
                    return Err(format!(
                        "found '{literal}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Word {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let faults = label_key_errors(key);
        if !faults.is_empty() {
            return Err(FieldError::invalid("", key.into(), faults.join("; ")).to_string());
        }
        let key_only = matches!(self.peek().0, Token::End | Token::Comma);
        let test = match (negated, key_only) {
            (true, _) => Test::Missing,
            (false, true) => Test::Exists,
            (false, false) => self.comparison(key)?,
        };
        Ok(Requirement {
            key: key.to_owned(),
            test,
        })
    }

    fn comparison(&mut self, key: &str) -> Result<Test, String> {
        let (operator, literal) = self.peek_operator();
        self.position += 1;
        match operator {
            Token::In => Ok(Test::In(checked(key, self.set()?)?)),
            Token::NotIn => Ok(Test::NotIn(checked(key, self.set()?)?)),
            Token::Equals | Token::DoubleEquals => Ok(Test::In(checked(key, vec![self.value()?])?)),
            Token::NotEquals => Ok(Test::NotIn(checked(key, vec![self.value()?])?)),
            Token::Greater => Ok(Test::Above(integer(key, self.value()?)?)),
            Token::Less => Ok(Test::Below(integer(key, self.value()?)?)),
            _ => Err(format!(
                "found '{literal}', expected: in, notin, =, ==, !=, gt, lt"
            )),
        }
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Word, literal) => Ok(literal.to_owned()),
            (_, literal) => Err(format!("found '{literal}', expected: identifier")),
        }
    }

    /// `(a,b)`; a place without a value (`(,a)`, `()`) is the empty value.
    fn set(&mut self) -> Result<Vec<String>, String> {
        let (token, literal) = self.next();
        if token != Token::Open {
            return Err(format!("found '{literal}' expected: '('"));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            (Token::Close, _) => {
                self.position += 1;
                return Ok(vec![String::new()]);
            }
            (Token::Word | Token::Comma, _) => {}
            (_, literal) => return Err(format!("found '{literal}', expected: ',', ')' or identifier")),
        }
        loop {
            match self.next() {
                (Token::Word, literal) => {
                    values.insert(literal.to_owned());
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => break,
                        (_, literal) => return Err(format!("found '{literal}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    let after = self.peek().0;
                    if values.is_empty() || matches!(after, Token::Close | Token::Comma) {
                        values.insert(String::new());
                    }
                    if after == Token::Close {
                        break;
                    }
                }
                (_, literal) => return Err(format!("found '{literal}', expected: ',', or identifier")),
            }
        }
        self.position += 1;
        Ok(values.into_iter().collect())
    }
}

fn integer(key: &str, text: String) -> Result<i64, String> {
    let Some(number) = parse_integer(&text) else {
        let fault = "for 'Gt', 'Lt' operators, the value must be an integer";
        let mut errors = vec![FieldError::invalid(
            "values[0]",
            Value::String(text.clone()),
            fault,
        )];
        errors.extend(value_errors(key, &[text]));
        return Err(aggregate(&errors));
    };
    checked(key, vec![text])?;
    Ok(number)
}

fn checked(key: &str, values: Vec<String>) -> Result<Vec<String>, String> {
    let errors = value_errors(key, &values);
    if errors.is_empty() {
        Ok(values)
    } else {
        Err(aggregate(&errors))
    }
}

fn value_errors(key: &str, values: &[String]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let faults = label_value_errors(value);
        if !faults.is_empty() {
            let field = format!("values[{index}][{key}]");
            errors.push(FieldError::invalid(
                field,
                value.as_str().into(),
                faults.join("; "),
            ));
        }
    }
    errors
}

/// Several errors in one sentence, as upstream joins them.
fn aggregate(errors: &[FieldError]) -> String {
    match errors {
        [only] => only.to_string(),
        _ => {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}
