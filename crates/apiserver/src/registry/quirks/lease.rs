//! Leases: counts that make sense, and strategies that exist.

use apiary_semantics::{FieldError, FieldErrorKind, naming};
use serde_json::Value;

const KNOWN_STRATEGY: &str = "OldestEmulationVersion";

pub(super) fn check(lease: &Value) -> Vec<FieldError> {
    let spec = &lease["spec"];
    let mut errors = Vec::new();
    if spec["leaseDurationSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds <= 0)
    {
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            spec["leaseDurationSeconds"].clone(),
            "must be greater than 0",
        ));
    }
    if spec["leaseTransitions"].as_i64().is_some_and(|count| count < 0) {
        errors.push(FieldError::invalid(
            "spec.leaseTransitions",
            spec["leaseTransitions"].clone(),
            "must be greater than or equal to 0",
        ));
    }
    let strategy = spec["strategy"].as_str();
    if let Some(strategy) = strategy {
        errors.extend(check_strategy(strategy));
    }
    let prefers = spec["preferredHolder"]
        .as_str()
        .is_some_and(|holder| !holder.is_empty());
    if prefers && strategy.unwrap_or_default().is_empty() {
        let why = "may only be specified if `strategy` is defined";
        errors.push(FieldError::forbidden("spec.preferredHolder", why));
    }
    errors
}

/// A strategy is one of ours, or a qualified name that somebody else understands.
fn check_strategy(strategy: &str) -> Vec<FieldError> {
    // Upstream names the field twice.
    const FIELD: &str = "spec.strategy.strategy";
    if !strategy.contains('/') {
        if strategy == KNOWN_STRATEGY {
            return Vec::new();
        }
        let why = format!("supported values: \"{KNOWN_STRATEGY}\"");
        let value = Some(Value::from(strategy));
        return vec![FieldError::new(FieldErrorKind::NotSupported, FIELD, value, why)];
    }
    naming::label_key_errors(strategy)
        .into_iter()
        .map(|why| FieldError::invalid(FIELD, Value::from(strategy), why))
        .collect()
}
