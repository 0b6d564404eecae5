//! Plays a scenario against one server.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::head;
use crate::kubectl::{self, Kubectl};
use crate::mask::Mask;
use crate::pick;
use crate::scenario::{Scenario, Step, Until};
use crate::watch::Watch;

/// How often, and how many times, a step with `until` is repeated.
const RETRY: (Duration, usize) = (Duration::from_millis(100), 300);

/// How long an answer may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Plays scenarios against one server.
pub struct Player {
    client: kube::Client,
    kubectl: Option<Kubectl>,
}

/// The answer to one step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Recorded {
    /// The step's name; a step with `each` is recorded once for each value.
    pub step: String,
    /// What the server said, with everything masked that differs between two runs.
    pub answer: Value,
}

/// Why a scenario could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The step says nothing that can be done.
    #[error("step {step:?}: {problem}")]
    Step {
        /// The step's name.
        step: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The request is none.
    #[error("step {0:?} makes no valid request")]
    Request(String, #[source] http::Error),
    /// The server could not be reached or broke off.
    #[error("step {0:?} got no answer")]
    Send(String, #[source] Box<kube::Error>),
    /// kubectl could not be run.
    #[error("step {0:?} could not run kubectl")]
    Kubectl(String, #[source] std::io::Error),
}

/// What is known while a scenario is being played.
struct Play<'a> {
    player: &'a Player,
    variables: BTreeMap<String, String>,
    watches: HashMap<String, Watch>,
    mask: Mask,
}

impl Player {
    /// A player that sends its requests through this client, and runs kubectl only when there is one.
    pub fn new(client: kube::Client, kubectl: Option<Kubectl>) -> Self {
        Self { client, kubectl }
    }

    /// Plays a scenario and gives back the answers.
    pub async fn play(&self, scenario: &Scenario) -> Result<Vec<Recorded>, PlayError> {
        let mut play = Play {
            player: self,
            variables: BTreeMap::from([("ns".to_owned(), scenario.name.clone())]),
            watches: HashMap::new(),
            mask: Mask::default(),
        };
        if scenario.namespace {
            play.make_namespace(&scenario.name).await?;
        }
        let mut answers = Vec::new();
        for step in &scenario.steps {
            if step.each.is_empty() {
                answers.extend(play.step(step, step.name.clone()).await?);
                continue;
            }
            for value in &step.each {
                play.variables.insert("each".to_owned(), value.clone());
                answers.extend(play.step(step, format!("{} {value}", step.name)).await?);
            }
        }
        Ok(answers)
    }
}

impl Play<'_> {
    async fn make_namespace(&mut self, name: &str) -> Result<(), PlayError> {
        let step = Step {
            name: "namespace".into(),
            request: Some("POST /api/v1/namespaces".into()),
            body: Some(json!({"metadata": {"name": name}})),
            quiet: true,
            ..Step::default()
        };
        self.step(&step, step.name.clone()).await.map(drop)
    }

    async fn step(&mut self, step: &Step, name: String) -> Result<Option<Recorded>, PlayError> {
        self.mask.enter(&name);
        let answer = if let Some(line) = &step.kubectl {
            self.run_kubectl(step, line).await?
        } else if let Some(watch) = &step.reads {
            self.read_watch(step, watch).await?
        } else {
            match self.request(step).await {
                // A server that breaks off shows in the comparison, and the later steps still count.
                Err(PlayError::Send(..)) => json!({"status": "the server broke off"}),
                other => other?,
            }
        };
        let failed = answer["status"].as_u64().is_none_or(|status| status >= 400);
        Ok((failed || !step.quiet).then_some(Recorded { step: name, answer }))
    }

    async fn request(&mut self, step: &Step) -> Result<Value, PlayError> {
        let mut attempts = 0;
        loop {
            let response = self.send(step).await?;
            let headers = head::describe(response.status(), response.headers(), &mut self.mask);
            if response.status() == StatusCode::OK && (step.opens.is_some() || step.events > 0) {
                return Ok(self.watch(step, headers, Watch::new(response.into_body())).await);
            }
            let status = response.status();
            let body = self.body(step, response).await?;
            attempts += 1;
            let Some(until) = &step.until else {
                return Ok(self.answer(step, headers, body));
            };
            if until.holds(status, &body) || attempts == RETRY.1 {
                return Ok(self.answer(step, headers, body));
            }
            tokio::time::sleep(RETRY.0).await;
        }
    }

    async fn send(&self, step: &Step) -> Result<Response<Body>, PlayError> {
        let problem = |problem| PlayError::Step {
            step: step.name.clone(),
            problem,
        };
        let line = self.fill(
            step.request
                .as_deref()
                .ok_or_else(|| problem("there is nothing to do"))?,
        );
        let (method, path) = line
            .split_once(' ')
            .ok_or_else(|| problem("`do` is a method and a path"))?;
        let mut request = Request::builder()
            .method(method)
            .uri(path.replace(' ', "%20"))
            .header(header::ACCEPT, head::accept(step.accept.as_deref()));
        if !step.headers.contains_key("user-agent") {
            request = request.header(header::USER_AGENT, "conformance");
        }
        for (name, value) in &step.headers {
            request = request.header(name, self.fill(value));
        }
        let body = match (&step.body, &step.text) {
            (Some(body), _) => Some(self.fill_value(body).to_string()),
            (None, Some(text)) => Some(self.fill(text)),
            (None, None) if step.fill > 0 => {
                Some(json!({"metadata": {"name": "large"}, "data": {"a": "x".repeat(step.fill)}}).to_string())
            }
            (None, None) => None,
        };
        if body.is_some() || step.content_type.is_some() {
            request = request.header(
                header::CONTENT_TYPE,
                head::media_type(step.content_type.as_deref()),
            );
        }
        let body = Body::from(body.unwrap_or_default().into_bytes());
        let request = request
            .body(body)
            .map_err(|error| PlayError::Request(step.name.clone(), error))?;
        self.player
            .client
            .send(request)
            .await
            .map_err(|error| PlayError::Send(step.name.clone(), Box::new(error)))
    }

    async fn body(&self, step: &Step, response: Response<Body>) -> Result<Value, PlayError> {
        let Ok(body) = tokio::time::timeout(PATIENCE, response.into_body().collect()).await else {
            return Ok("<the answer did not end>".into());
        };
        let bytes = body
            .map_err(|error| PlayError::Send(step.name.clone(), Box::new(error)))?
            .to_bytes();
        Ok(serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned())))
    }

    fn answer(&mut self, step: &Step, mut answer: Map<String, Value>, mut body: Value) -> Value {
        for (name, pointer) in &step.save {
            let value = match body.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => "<absent>".to_owned(),
            };
            self.variables.insert(name.clone(), value);
        }
        self.mask.document(&mut body);
        if !step.pick.is_empty() && answer["status"].as_u64().is_some_and(|status| status < 300) {
            body = pick::keep(&body, &step.pick);
        }
        for address in &step.mask {
            pick::replace(&mut body, address, "<masked>");
        }
        answer.insert("body".into(), body);
        Value::Object(answer)
    }

    async fn watch(&mut self, step: &Step, mut answer: Map<String, Value>, mut watch: Watch) -> Value {
        answer.insert("events".into(), self.events(step, &mut watch).await);
        if let Some(name) = &step.opens {
            self.watches.insert(name.clone(), watch);
        }
        Value::Object(answer)
    }

    async fn read_watch(&mut self, step: &Step, name: &str) -> Result<Value, PlayError> {
        let mut watch = self.watches.remove(name).ok_or_else(|| PlayError::Step {
            step: step.name.clone(),
            problem: "no such watch is open",
        })?;
        let events = self.events(step, &mut watch).await;
        self.watches.insert(name.to_owned(), watch);
        Ok(json!({"events": events}))
    }

    async fn events(&mut self, step: &Step, watch: &mut Watch) -> Value {
        let mut events = watch.take(step.events).await;
        for event in &mut events {
            for address in &step.mask {
                pick::replace(event, address, "<masked>");
            }
            self.mask.document(event);
        }
        Value::Array(events)
    }

    async fn run_kubectl(&mut self, step: &Step, line: &str) -> Result<Value, PlayError> {
        let kubectl = self.player.kubectl.as_ref().ok_or_else(|| PlayError::Step {
            step: step.name.clone(),
            problem: "there is no kubectl",
        })?;
        let arguments: Vec<_> = kubectl::split(line).iter().map(|word| self.fill(word)).collect();
        let manifests: Vec<_> = step
            .stdin
            .iter()
            .map(|manifest| self.fill_value(manifest))
            .collect();
        let output = kubectl
            .run(&arguments, &manifests)
            .await
            .map_err(|error| PlayError::Kubectl(step.name.clone(), error))?;
        let stdout = self.mask.output(&output.stdout);
        let stderr = self.mask.output(&output.stderr);
        Ok(json!({"exit": output.exit, "stdout": stdout, "stderr": stderr}))
    }

    fn fill(&self, text: &str) -> String {
        self.variables
            .iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("<{name}>"), value)
            })
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (self.fill(key), self.fill_value(value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
}

impl Until {
    fn holds(&self, status: StatusCode, body: &Value) -> bool {
        let status_holds = self.status.is_none_or(|wanted| status.as_u16() == wanted);
        let value_holds = self.at.as_ref().is_none_or(|address| {
            let found = pick::pick(body, address);
            match &self.is {
                Some(wanted) => found.iter().any(|(_, value)| value == wanted),
                None => !found.is_empty(),
            }
        });
        status_holds && value_holds
    }
}
