//! Leases: counts that make sense. Coordinated leader election is off, as it is upstream unless asked for.

use apiary_semantics::FieldError;
use serde_json::Value;

/// Drops the fields of coordinated leader election.
pub(super) fn settle(lease: &mut Value) {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

pub(super) fn check(lease: &Value) -> Vec<FieldError> {
    let spec = &lease["spec"];
    let mut errors = Vec::new();
    for (field, least, why) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if spec[field].as_i64().is_some_and(|count| count < least) {
            errors.push(FieldError::invalid(
                format!("spec.{field}"),
                spec[field].clone(),
                why,
            ));
        }
    }
    errors
}
