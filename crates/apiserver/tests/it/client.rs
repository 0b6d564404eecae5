//! A bare client: what is sent and what comes back, nothing hidden.

use std::sync::Arc;
use std::time::Duration;

use apiary::clock::RuntimeClock;
use apiary::store::Retention;
use apiary::{ApiServer, Options, Storage};
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text);
        self.body
    }

    /// Checks a refusal's code and reason, and returns its message.
    #[track_caller]
    pub(crate) fn refused(self, code: u16, reason: &str) -> String {
        assert_eq!(
            (self.code, self.body["reason"].as_str().unwrap_or_default()),
            (code, reason),
            "{}",
            self.text
        );
        assert_eq!(self.body["kind"], "Status");
        assert_eq!(self.body["code"], code);
        self.body["message"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers
            .get_all("warning")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect()
    }
}

pub(crate) struct Client {
    pub(crate) server: ApiServer,
    router: Router,
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::with_retention(Retention::default()).await
    }

    pub(crate) async fn with_retention(retention: Retention) -> Self {
        let epoch = "2026-01-01T00:00:00Z".parse().unwrap();
        let options = Options {
            storage: Storage::Memory,
            clock: Arc::new(RuntimeClock::starting_at(epoch)),
            retention,
            image: None,
        };
        let server = ApiServer::open(options).await.unwrap();
        let router = server.router();
        Self { server, router }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            body,
            text,
        }
    }

    pub(crate) async fn request(&self, method: &str, path: &str, media_type: &str, body: &Value) -> Answer {
        let body = if body.is_null() {
            Body::empty()
        } else {
            Body::from(body.to_string())
        };
        self.raw(method, path, media_type, body).await
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("user-agent", "tester/1.0");
        if !media_type.is_empty() {
            request = request.header("content-type", media_type);
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "", &Value::Null).await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let request = Request::builder()
            .uri(path)
            .header("accept", accept)
            .body(Body::empty())
            .unwrap();
        self.send(request).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, "application/json", body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.request("PUT", path, "application/json", body).await
    }

    pub(crate) async fn patch(&self, path: &str, media_type: &str, body: &Value) -> Answer {
        self.request("PATCH", path, media_type, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, "", &Value::Null).await
    }

    /// Opens a watch; frames are read with [`Watch::next`].
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let request = Request::builder()
            .uri(path)
            .header("accept", accept)
            .body(Body::empty())
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Watch {
            body: response.into_body(),
            buffer: Vec::new(),
        }
    }

    /// Lets background work finish: it needs no time, only turns.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    pub(crate) async fn install_widgets(&self) {
        self.post(DEFINITIONS, &widget_definition()).await.expect(201);
    }
}

pub(crate) struct Watch {
    body: Body,
    buffer: Vec<u8>,
}

impl Watch {
    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.buffer.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// `TYPE name` of the next event.
    pub(crate) async fn next_short(&mut self) -> String {
        let event = self.next().await.unwrap();
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
        format!("{} {name}", event["type"].as_str().unwrap())
            .trim_end()
            .to_owned()
    }
}

pub(crate) fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

pub(crate) fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn widget_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "spec": {
                            "type": "object",
                            "properties": {
                                "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
                                "size": {"type": "integer", "minimum": 0, "maximum": 10},
                                "parts": {
                                    "type": "array",
                                    "x-kubernetes-list-type": "map",
                                    "x-kubernetes-list-map-keys": ["name"],
                                    "items": {
                                        "type": "object",
                                        "required": ["name"],
                                        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
                                    },
                                },
                                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                            },
                            "x-kubernetes-validations": [
                                {"rule": "!has(self.size) || self.size != 7", "message": "size must not be 7: write 6 or 8"},
                                {"rule": "!has(oldSelf.size) || has(self.size)", "message": "size may not be removed"},
                            ],
                        },
                        "status": {
                            "type": "object",
                            "properties": {"phase": {"type": "string"}, "seen": {"type": "integer"}},
                        },
                    },
                }},
            }],
        },
    })
}
