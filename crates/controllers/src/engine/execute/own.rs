//! Changes of the object itself: its metadata first, then its status.

use capt_api::lean::Document;
use capt_core::decision::OwnChange;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::{Executor, FIELD_MANAGER, Failure, OWN_FIELD_MANAGER, Subject};
use crate::engine::call::within_deadline;

/// What became of marks on the object itself.
pub(super) enum Marked {
    /// There was nothing to mark.
    Unchanged,
    /// It is not there any more.
    Gone,
    /// It is this now.
    Changed(Box<Document>),
}

impl Marked {
    /// The version that the object has by now, if it is there.
    pub(super) fn version<'a>(&'a self, subject: &'a Subject) -> Option<&'a str> {
        match self {
            Self::Gone => None,
            Self::Unchanged => Some(&subject.resource_version),
            Self::Changed(object) => {
                let version = object.metadata.resource_version.as_ref();
                Some(version.unwrap_or(&subject.resource_version))
            }
        }
    }
}

impl Executor {
    /// Changes the object itself, apart from its status, if it still is what it was decided about.
    pub(super) async fn mark_own<S>(
        &self,
        subject: &Subject,
        change: &OwnChange<S>,
    ) -> Result<Marked, Failure> {
        let target = &subject.target;
        let Some(patch) = metadata(subject, change) else {
            return Ok(Marked::Unchanged);
        };
        match self.patch(target, OWN_FIELD_MANAGER, Patch::Merge(patch)).await {
            Ok(object) => {
                (self.witness)(target, &object);
                Ok(Marked::Changed(Box::new(object)))
            }
            Err(error) if error.is_not_found() => Ok(Marked::Gone),
            Err(error) => Err(Failure::of("mark", target, error)),
        }
    }

    /// Writes the status of an object, if it has this version.
    pub(super) async fn tell_status(
        &self,
        subject: &Subject,
        status: &Value,
        version: &str,
    ) -> Result<Option<Document>, Failure> {
        let target = &subject.target;
        let failed = |source| Failure::of("report on", target, source);
        let document = json!({
            "apiVersion": target.api_version,
            "kind": target.kind,
            "metadata": {"name": target.name, "uid": subject.uid, "resourceVersion": version},
            "status": status,
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let api = self.api(target);
        let document = Patch::Apply(document);
        let written = match within_deadline(api.patch_status(&target.name, &parameters, &document)).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if subject.shares_status {
            return Ok(Some(written));
        }
        let now: Option<Value> = written.status.read();
        match now.and_then(|now| surplus(&now, status)) {
            None => Ok(Some(written)),
            Some(surplus) => self.unsay(subject, written, &surplus).await,
        }
    }

    /// Takes away what somebody else wrote into the status. Applying leaves it there, and it would be seen as a difference
    /// again and again.
    async fn unsay(
        &self,
        subject: &Subject,
        written: Document,
        surplus: &Value,
    ) -> Result<Option<Document>, Failure> {
        let target = &subject.target;
        let parameters = PatchParams {
            field_manager: Some(OWN_FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let metadata = json!({"uid": subject.uid, "resourceVersion": written.metadata.resource_version});
        let patch = Patch::Merge(json!({"metadata": metadata, "status": surplus}));
        let api = self.api(target);
        match within_deadline(api.patch_status(&target.name, &parameters, &patch)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(Some(written)),
            Err(error) => Err(Failure::of("report on", target, error)),
        }
    }
}

/// What was decided about an object holds for it also after the fields of ours that the same decision wrote into its spec.
/// Nobody else's change is between the two generations: the write was guarded.
pub(super) fn observe(status: &mut Value, before: i64, now: Option<i64>) {
    let raise = |observed: Option<&mut Value>| {
        if let Some(observed) = observed.filter(|observed| observed.as_i64() == Some(before)) {
            *observed = json!(now);
        }
    };
    raise(status.get_mut("observedGeneration"));
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        raise(condition.get_mut("observedGeneration"));
    }
}

/// The merge patch that takes away what is there and was not said, if anything is. Others may have conditions of their own
/// beside ours, and no other entries of lists.
fn surplus(actual: &Value, said: &Value) -> Option<Value> {
    let (Value::Object(actual), Value::Object(said)) = (actual, said) else {
        return None;
    };
    let patch: Map<String, Value> = actual
        .iter()
        .filter_map(|(name, actual)| {
            let patch = match said.get(name) {
                // A null that was said, such as in an output, is no more than that.
                Some(Value::Null) if actual.is_null() => return None,
                None | Some(Value::Null) => Value::Null,
                Some(Value::Array(said)) if name != "conditions" => {
                    let has_more = actual.as_array().is_some_and(|actual| actual.len() > said.len());
                    has_more.then(|| json!(said))?
                }
                Some(said) => surplus(actual, said)?,
            };
            Some((name.clone(), patch))
        })
        .collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// What changes besides the status. One request, guarded by version even where a decision does not ask for that, because
/// finalizers can be written only as a whole.
fn metadata<S>(subject: &Subject, change: &OwnChange<S>) -> Option<Value> {
    let mut metadata = json!({"uid": subject.uid, "resourceVersion": subject.resource_version});
    let mut finalizers: Vec<&String> = subject
        .finalizers
        .iter()
        .filter(|finalizer| !change.remove_finalizers.contains(finalizer))
        .collect();
    for finalizer in &change.add_finalizers {
        if !finalizers.contains(&finalizer) {
            finalizers.push(finalizer);
        }
    }
    let has_news = !change.add_finalizers.is_empty() || !change.remove_finalizers.is_empty();
    if has_news {
        metadata["finalizers"] = json!(finalizers);
    }
    for (field, marks) in [("annotations", &change.annotations), ("labels", &change.labels)] {
        if !marks.is_empty() {
            metadata[field] = json!(marks);
        }
    }
    let mut patch = json!({});
    if !change.spec.is_empty() {
        patch["spec"] = json!(change.spec);
    }
    let is_needed =
        has_news || !change.annotations.is_empty() || !change.labels.is_empty() || !change.spec.is_empty();
    patch["metadata"] = metadata;
    is_needed.then_some(patch)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{
        super::{Patience, testing::target},
        *,
    };

    fn subject() -> Subject {
        Subject {
            target: target("Thing"),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
            generation: None,
            finalizers: vec!["a".to_owned(), "b".to_owned()],
            shares_status: false,
            is_told: true,
            patience: Patience::None,
            is_new: false,
        }
    }

    #[test]
    fn a_null_that_was_said_stays() {
        let said = json!({"outputs": {"all": {"a": null, "b": 1}, "none": null}});
        assert_eq!(surplus(&said, &said), None);
        let more = json!({"outputs": {"all": {"a": null, "b": 1, "c": null}, "none": 2}});
        let expected = json!({"outputs": {"all": {"c": null}, "none": null}});
        assert_eq!(surplus(&more, &said), Some(expected));
    }

    #[test]
    fn what_was_not_said_is_taken_away_and_conditions_of_others_are_left_alone() {
        let said = json!({
            "ready": true, "told": {"a": 1}, "conditions": [{"type": "A"}], "rows": [{"name": "a"}],
        });
        for (actual, expected) in [
            (said.clone(), None),
            (json!({"ready": true}), None),
            (
                json!({"ready": true, "reason": "x", "told": {"a": 1, "b": {"c": 2}},
                       "conditions": [{"type": "A"}, {"type": "B"}]}),
                Some(json!({"reason": null, "told": {"b": null}})),
            ),
            (
                json!({"ready": true, "rows": [{"name": "ghost"}, {"name": "a"}]}),
                Some(json!({"rows": [{"name": "a"}]})),
            ),
        ] {
            assert_eq!(surplus(&actual, &said), expected, "{actual}");
        }
    }

    #[test]
    fn a_status_speaks_of_the_generation_that_its_own_decision_made() {
        let mut status = json!({
            "observedGeneration": 3,
            "conditions": [{"type": "A", "observedGeneration": 3}, {"type": "B", "observedGeneration": 2}],
        });
        observe(&mut status, 3, Some(4));
        let expected = json!({
            "observedGeneration": 4,
            "conditions": [{"type": "A", "observedGeneration": 4}, {"type": "B", "observedGeneration": 2}],
        });
        assert_eq!(status, expected);
    }

    #[test]
    fn own_metadata_is_one_guarded_patch_and_nothing_if_nothing_changes() {
        let nothing = OwnChange::<()>::default();
        assert_eq!(metadata(&subject(), &nothing), None);
        let all = OwnChange::<()> {
            add_finalizers: vec!["c".to_owned(), "b".to_owned()],
            remove_finalizers: vec!["a".to_owned()],
            annotations: BTreeMap::from([
                ("gone".to_owned(), None),
                ("set".to_owned(), Some("1".to_owned())),
            ]),
            labels: BTreeMap::from([("l".to_owned(), Some("2".to_owned()))]),
            spec: BTreeMap::from([("f".to_owned(), json!(3))]),
            ..OwnChange::default()
        };
        let expected = json!({
            "metadata": {
                "uid": "u", "resourceVersion": "7", "finalizers": ["b", "c"],
                "annotations": {"gone": null, "set": "1"}, "labels": {"l": "2"},
            },
            "spec": {"f": 3},
        });
        assert_eq!(metadata(&subject(), &all), Some(expected));
    }
}
