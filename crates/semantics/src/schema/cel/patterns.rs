//! `matches`, with patterns that are compiled once and not at each evaluation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube_cel::cel::ExecutionError;
use regex::{Regex, RegexBuilder};

/// How many patterns make a generation, two of which are kept. Those of rules are few, but a rule may also take a pattern
/// out of a document.
const GENERATION: usize = 128;
/// What is longer than this, or larger when it is compiled, is not kept: nobody can fill the memory with it.
const MAX_LENGTH: usize = 512;
const MAX_COMPILED: usize = 128 * 1024;
/// How much of what it learns from texts each user of a pattern that is kept may keep. One that learns more forgets, or learns
/// nothing and takes longer.
const MAX_LEARNED: usize = 128 * 1024;

static PATTERNS: Mutex<Option<Patterns>> = Mutex::new(None);

/// Whether a part of a text matches a pattern.
pub(super) fn matches(text: &str, pattern: &Arc<String>) -> Result<bool, ExecutionError> {
    match kept(pattern) {
        Some(regex) => Ok(regex.is_match(text)),
        None => match compile(Regex::new, pattern) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(error) => Err(ExecutionError::function_error(
                "matches",
                format!("'{pattern}' not a valid regex:\n{error}"),
            )),
        },
    }
}

/// A pattern that is kept, or is from here on.
fn kept(pattern: &Arc<String>) -> Option<Arc<Regex>> {
    if pattern.len() > MAX_LENGTH {
        return None;
    }
    let known = with(|patterns| patterns.get(pattern));
    known.or_else(|| {
        let small = |pattern: &str| {
            RegexBuilder::new(pattern)
                .size_limit(MAX_COMPILED)
                .dfa_size_limit(MAX_LEARNED)
                .build()
        };
        let regex = Arc::new(compile(small, pattern).ok()?);
        with(|patterns| patterns.put(pattern.clone(), regex.clone()));
        Some(regex)
    })
}

fn with<T>(run: impl FnOnce(&mut Patterns) -> T) -> T {
    let mut patterns = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    run(patterns.get_or_insert_default())
}

fn compile(
    with: impl FnOnce(&str) -> Result<Regex, regex::Error>,
    pattern: &str,
) -> Result<Regex, regex::Error> {
    #[cfg(test)]
    tests::COMPILED.with(|count| count.set(count.get() + 1));
    with(pattern)
}

/// Patterns that were used lately. What was not used while a whole generation of others was is forgotten. They are shared,
/// because a copy of one has to learn again what it looks for.
#[derive(Default)]
struct Patterns {
    recent: HashMap<Arc<String>, Arc<Regex>>,
    older: HashMap<Arc<String>, Arc<Regex>>,
}

impl Patterns {
    fn get(&mut self, pattern: &Arc<String>) -> Option<Arc<Regex>> {
        if let Some(regex) = self.recent.get(pattern) {
            return Some(regex.clone());
        }
        let regex = self.older.remove(pattern)?;
        self.put(pattern.clone(), regex.clone());
        Some(regex)
    }

    fn put(&mut self, pattern: Arc<String>, regex: Arc<Regex>) {
        if self.recent.len() >= GENERATION {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(pattern, regex);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kube_cel::cel::parser::Parser;
    use kube_cel::cel::{Context, Value};

    use super::*;
    use crate::schema::cel::functions;

    thread_local! {
        pub(super) static COMPILED: Cell<usize> = const { Cell::new(0) };
    }

    fn evaluate(source: &str, context: &Context<'_>) -> Result<Value, ExecutionError> {
        Value::resolve(&Parser::default().parse(source).unwrap(), context)
    }

    #[test]
    fn a_pattern_is_compiled_once() {
        let context = functions::context();
        let before = COMPILED.get();
        for (text, expected) in [("once-1", true), ("twice-1", false), ("once-22", true)] {
            let found = evaluate(&format!("'{text}'.matches('^once-[0-9]+$')"), &context);
            assert_eq!(found, Ok(Value::Bool(expected)), "{text}");
        }
        assert_eq!(COMPILED.get() - before, 1);
    }

    #[test]
    fn all_else_is_as_the_language_has_it() {
        let (theirs, ours) = (Context::default(), functions::context());
        let long = format!("'a'.matches('^(a|{})$')", "b".repeat(MAX_LENGTH));
        for source in [
            "'abc'.matches('b')",
            "'abc'.matches('^b')",
            "matches('abc', 'c$')",
            "'é1'.matches(r'^\\w\\d$')",
            "'a'.matches('(')",
            "'a'.matches('a(?=b)')",
            "'a'.matches(1)",
            "1.matches('a')",
            "'a'.matches()",
            // Larger than what is kept, and larger than what is compiled at all.
            "'aa'.matches(r'^\\w{100}$')",
            "'aa'.matches(r'^(\\w{100}){100}$')",
            &long,
        ] {
            assert_eq!(evaluate(source, &ours), evaluate(source, &theirs), "{source}");
        }
    }

    #[test]
    fn what_is_used_stays_and_what_is_not_goes_after_a_while() {
        let pattern = |number: usize| Arc::new(format!("^{number}$"));
        let mut patterns = Patterns::default();
        let any = Arc::new(Regex::new("x").unwrap());
        patterns.put(pattern(0), any.clone());
        for number in 1..10 * GENERATION {
            patterns.put(pattern(number), any.clone());
            let used = patterns.get(&pattern(0));
            assert!(
                used.is_some_and(|used| Arc::ptr_eq(&used, &any)),
                "after {number}"
            );
        }
        assert!(patterns.get(&pattern(1)).is_none());
        assert!(patterns.recent.len() + patterns.older.len() <= 2 * GENERATION);
    }
}
