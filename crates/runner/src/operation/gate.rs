//! The one redactor of an operation, which learns secrets as they come up.

use std::sync::Arc;

use capt_terraform::redact::{Redactor, Secrets, sensitive_in_state};
use parking_lot::Mutex;
use serde_json::Value;

/// Everything that leaves an operation passes this. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Gate {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    secrets: Secrets,
    /// Made when it is needed: an operation learns more often than it says something.
    redactor: Option<Arc<Redactor>>,
}

impl Gate {
    /// One that knows the secrets among the inputs.
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                secrets,
                redactor: None,
            })),
        }
    }

    /// Takes note of what a state says is secret, and what is public by it.
    pub(crate) fn learn(&self, state: &[u8]) {
        let Ok(state) = serde_json::from_slice::<Value>(state) else {
            return;
        };
        self.change(|secrets| sensitive_in_state(&state, secrets));
    }

    /// Takes note of more that is secret.
    pub(crate) fn add(&self, more: &Secrets) {
        self.change(|secrets| secrets.extend(more));
    }

    fn change(&self, change: impl FnOnce(&mut Secrets)) {
        let mut inner = self.inner.lock();
        let known = inner.secrets.revision();
        change(&mut inner.secrets);
        if inner.secrets.revision() != known {
            inner.redactor = None;
        }
    }

    /// The redactor as it is now.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        let Inner { secrets, redactor } = &mut *self.inner.lock();
        redactor
            .get_or_insert_with(|| Arc::new(Redactor::new(secrets)))
            .clone()
    }

    /// Text that may leave.
    pub(crate) fn text(&self, text: &str) -> String {
        self.redactor().text(text)
    }

    /// A value that may leave.
    pub(crate) fn value(&self, value: &Value) -> Value {
        redacted(&self.redactor(), value)
    }
}

fn redacted(redactor: &Redactor, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.text(text)),
        Value::Array(items) => items.iter().map(|item| redacted(redactor, item)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (redactor.text(name), redacted(redactor, field)))
            .collect(),
        Value::Number(number) => {
            let (text, clean) = (number.to_string(), redactor.text(&number.to_string()));
            match text == clean {
                true => value.clone(),
                false => Value::String(clean),
            }
        }
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_redacted_in_all_its_parts() {
        let mut secrets = Secrets::default();
        secrets.json(&json!([471108, "hunter22", 10.5]));
        let gate = Gate::new(secrets);
        let value =
            json!({"a": [471108, 1471108, {"hunter22": "x-hunter22"}], "b": 10.50, "c": [true, null, 10]});
        let clean = json!({"a": ["(redacted)", 1471108, {"(redacted)": "x-(redacted)"}], "b": "(redacted)", "c": [true, null, 10]});
        assert_eq!(gate.value(&value), clean);
    }

    #[test]
    fn a_state_teaches_what_is_secret_and_what_is_public() {
        let mut secrets = Secrets::default();
        secrets.value("vpc-0123456789abcdef0");
        let gate = Gate::new(secrets);
        assert_eq!(gate.text("vpc-0123456789abcdef0 hunter22"), "(redacted) hunter22");
        let outputs = json!({"outputs": {
            "vpc_id": {"value": "vpc-0123456789abcdef0", "type": "string"},
            "pass": {"value": "hunter22", "type": "string", "sensitive": true},
        }});
        gate.learn(outputs.to_string().as_bytes());
        assert_eq!(
            gate.text("vpc-0123456789abcdef0 hunter22"),
            "vpc-0123456789abcdef0 (redacted)"
        );
    }
}
