//! Writes of objects that must exist.

use capt_api::lean::Document;
use capt_core::{
    decision::{Desired, Guard, Strip, Target},
    wta::kept,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use super::{Executor, FIELD_MANAGER, Failure, ownership};
use crate::engine::call::{CallError, within_deadline};

/// A version that no object has, because the first write to a server is its own. Applying with it makes what is not
/// there, and is refused where anything is.
const NO_VERSION: &str = "1";
/// How often it is tried to claim an object that others write to.
const CLAIMS: usize = 5;

impl Executor {
    /// Makes or changes an object, if its guard holds.
    pub(super) async fn write_child(&self, desired: &Desired) -> Result<Answer, Failure> {
        let answer = match &desired.guard {
            Guard::Absent => self.create(desired).await?,
            Guard::Uid(uid) => self.change(desired, uid).await?,
        };
        self.strip(&desired.target, answer, &desired.strip).await
    }

    /// Makes an object by one request. Applying alone would also write over what is there, hence the version.
    async fn create(&self, desired: &Desired) -> Result<Answer, Failure> {
        let mut document = document(desired, None);
        document["metadata"]["resourceVersion"] = json!(NO_VERSION);
        match self.put(desired, document).await {
            // That something is there is better told by a request that can only create.
            Err(error) if error.is_about_the_way() => self.create_plainly(desired).await.map(Answer::from),
            made => made.map_err(|source| Failure::of("make", &desired.target, source)),
        }
    }

    /// Makes an object on a server that does not make what has a version, or says why nobody can.
    async fn create_plainly(&self, desired: &Desired) -> Result<Document, Failure> {
        let target = &desired.target;
        let failed = |source| Failure::of("make", target, source);
        let object: DynamicObject = serde_json::from_value(document(desired, None))
            .map_err(|error| failed(CallError::from(error)))?;
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let api = self.api_of::<DynamicObject>(target);
        let made = within_deadline(api.create(&parameters, &object))
            .await
            .map_err(failed)?;
        let made = Document::from(made.metadata);
        self.claim(desired, made).await
    }

    async fn change(&self, desired: &Desired, uid: &str) -> Result<Answer, Failure> {
        let changed = self.apply(desired, uid).await?;
        if !ownership::is_claimed(&changed.object) {
            // A creation was cut short before its fields were claimed, so that nothing we leave out has gone.
            self.claim(desired, changed.object.clone()).await?;
            return match self.apply(desired, uid).await {
                // It may be gone because of what was just written, which then is done.
                Err(Failure::Moved { .. }) => Ok(changed),
                applied => applied,
            };
        }
        Ok(changed)
    }

    async fn apply(&self, desired: &Desired, uid: &str) -> Result<Answer, Failure> {
        let document = document(desired, Some(uid));
        let put = self.put(desired, document).await;
        put.map_err(|source| Failure::of("change", &desired.target, source))
    }

    /// Applies a document.
    async fn put(&self, desired: &Desired, document: Value) -> Result<Answer, CallError> {
        let target = &desired.target;
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let document = Patch::Apply(document);
        if !is_read_again(desired) {
            let api = self.api(target);
            let applying = within_deadline(api.patch(&target.name, &parameters, &document));
            return applying.await.map(Answer::from);
        }
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = within_deadline(api.patch(&target.name, &parameters, &document)).await?;
        let object = Document::from(secret.metadata.clone());
        Ok(Answer {
            object,
            secret: Some(secret),
        })
    }

    /// Makes what was created ours in the way that applying does, so that what we leave out later goes.
    async fn claim(&self, desired: &Desired, mut object: Document) -> Result<Document, Failure> {
        let target = &desired.target;
        let failed = |source| Failure::of("claim", target, source);
        for _ in 0..CLAIMS {
            let Some(patch) = ownership::claim(&object) else {
                break;
            };
            let patch = serde_json::from_value(patch).map_err(|error| failed(CallError::from(error)))?;
            match self.patch(target, FIELD_MANAGER, Patch::Json(patch)).await {
                Ok(claimed) => return Ok(claimed),
                Err(error) if error.is_not_found() => break,
                // Whoever runs it writes to it as soon as it is there.
                Err(error) if error.is_conflict() => {
                    let api = self.api(target);
                    let now = within_deadline(api.get_opt(&target.name)).await.map_err(failed)?;
                    match now {
                        Some(now) if now.metadata.uid == object.metadata.uid => object = now,
                        _ => break,
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        // The next change makes up for it.
        Ok(object)
    }

    /// Removes marks, whoever wrote them.
    async fn strip(&self, target: &Target, answer: Answer, strip: &Strip) -> Result<Answer, Failure> {
        let Some(metadata) = stripped(&answer.object, strip) else {
            return Ok(answer);
        };
        self.patch(target, FIELD_MANAGER, Patch::Merge(json!({"metadata": metadata})))
            .await
            .map(Answer::from)
            .map_err(|source| Failure::of("strip", target, source))
    }
}

/// What the API made of a write.
pub(super) struct Answer {
    /// The object.
    pub(super) object: Document,
    /// All of it, if it is a Secret that decisions are made from.
    pub(super) secret: Option<Secret>,
}

impl From<Document> for Answer {
    fn from(object: Document) -> Self {
        Self { object, secret: None }
    }
}

/// Whether it is a Secret of which we write what is in it, and read that by its name. Renderings are watched.
fn is_read_again(desired: &Desired) -> bool {
    let Target {
        api_version, kind, ..
    } = &desired.target;
    let fields = &desired.fields;
    let is_secret = kind == "Secret" && api_version == "v1";
    is_secret && fields["data"].is_object() && fields["type"] != kept::SECRET_TYPE
}

/// The fields of an object together with what says which object it is.
fn document(desired: &Desired, uid: Option<&str>) -> Value {
    let target = &desired.target;
    let mut document = desired.fields.clone();
    document["apiVersion"] = json!(target.api_version);
    document["kind"] = json!(target.kind);
    document["metadata"]["name"] = json!(target.name);
    if let Some(namespace) = &target.namespace {
        document["metadata"]["namespace"] = json!(namespace);
    }
    if let Some(uid) = uid {
        document["metadata"]["uid"] = json!(uid);
    }
    document
}

/// The metadata that takes marks away from an object as it is now, if it has any of them.
fn stripped(object: &Document, strip: &Strip) -> Option<Value> {
    let metadata = &object.metadata;
    let mut patch = json!({"uid": metadata.uid, "resourceVersion": metadata.resource_version});
    let mut is_needed = false;
    for (field, present, marks) in [
        ("labels", &metadata.labels, &strip.labels),
        ("annotations", &metadata.annotations, &strip.annotations),
    ] {
        for mark in marks {
            if present.as_ref().is_some_and(|present| present.contains_key(mark)) {
                patch[field][mark] = Value::Null;
                is_needed = true;
            }
        }
    }
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let rest: Vec<&String> = finalizers
        .iter()
        .filter(|finalizer| !strip.finalizers.contains(finalizer))
        .collect();
    if rest.len() < finalizers.len() {
        patch["finalizers"] = json!(rest);
        is_needed = true;
    }
    is_needed.then_some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_that_are_there_are_stripped_and_other_finalizers_stay() {
        let object: Document = serde_json::from_value(json!({
            "metadata": {"name": "x", "uid": "u", "resourceVersion": "7", "labels": {"a": "1", "b": "2"},
                         "finalizers": ["mine", "other"]},
        }))
        .unwrap();
        let none = Strip {
            labels: vec!["c".to_owned()],
            annotations: vec!["a".to_owned()],
            finalizers: vec!["third".to_owned()],
        };
        assert_eq!(stripped(&object, &none), None);
        let some = Strip {
            labels: vec!["a".to_owned(), "c".to_owned()],
            annotations: Vec::new(),
            finalizers: vec!["mine".to_owned()],
        };
        assert_eq!(
            stripped(&object, &some),
            Some(json!({"uid": "u", "resourceVersion": "7", "labels": {"a": null}, "finalizers": ["other"]}))
        );
    }
}
