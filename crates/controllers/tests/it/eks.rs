//! Plays AWS behind our runner: EKS clusters and their Fargate profiles, in virtual time.
//!
//! What Terraform would do is told by the runner's own simulation. Before anything of it happens EKS is asked, which does
//! one thing at a time with a cluster and refuses a second one in the words of AWS. Everything that it did or refused
//! stands in its book, whatever became of those who asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use capt_runner::{
    Engines,
    engine::{
        About, Applied, Engine, EngineKind, Failure, FailureKind, Goal, Inputs, Link, Opened, Planned,
        Session,
    },
    simulated::SimulatedEngine,
};
use capt_terraform::{
    diagnostics::{classify, message},
    stream::{Diagnostic, Severity},
};
use capt_testkit::{Process, World};
use futures::future::BoxFuture;
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{controlplane::CA, stage::RUNNER};

/// How long EKS takes for anything.
pub(crate) const MINUTES: Duration = Duration::from_secs(120);

/// AWS. Cloning shares it.
#[derive(Clone, Default)]
pub(crate) struct Eks(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    /// What is being done, by the name of the cluster.
    busy: BTreeMap<String, String>,
    /// What exists, as `cluster` or `cluster/profile`.
    exists: BTreeSet<String>,
    done: Vec<Operation>,
    refused: Vec<String>,
    /// Everything that was asked for, as often as it was.
    asked: Vec<String>,
    /// What Terraform began to make or to change, also where EKS was not asked in the end.
    begun: Vec<String>,
    /// What EKS refuses for another reason, and what it says then.
    troubles: BTreeMap<String, &'static str>,
}

/// Something that EKS did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    /// What was done: `create`, `change` or `delete`.
    pub(crate) verb: &'static str,
    /// With what, as `cluster` or `cluster/profile`.
    pub(crate) what: String,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

impl Eks {
    /// What was done, in order.
    pub(crate) fn done(&self) -> Vec<Operation> {
        self.0.lock().done.clone()
    }

    /// The same in words, such as `create blue/jobs`.
    pub(crate) fn words(&self) -> Vec<String> {
        let done = self.done();
        done.iter()
            .map(|one| format!("{} {}", one.verb, one.what))
            .collect()
    }

    /// What was refused.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.0.lock().refused.clone()
    }

    /// How often something was asked for, such as `create blue/jobs`.
    pub(crate) fn asked(&self, what: &str) -> usize {
        self.0.lock().asked.iter().filter(|one| *one == what).count()
    }

    /// How often Terraform began to make or to change this, be it that it found nothing to do or was stopped.
    pub(crate) fn begun(&self, what: &str) -> usize {
        self.0.lock().begun.iter().filter(|one| *one == what).count()
    }

    /// What exists, as `cluster` or `cluster/profile`.
    pub(crate) fn exists(&self) -> Vec<String> {
        self.0.lock().exists.iter().cloned().collect()
    }

    /// What is being done with a cluster.
    pub(crate) fn busy(&self, cluster: &str) -> Option<String> {
        self.0.lock().busy.get(cluster).cloned()
    }

    /// Somebody else does something with a cluster, or has done it.
    pub(crate) fn occupy(&self, cluster: &str, what: Option<&str>) {
        let busy = &mut self.0.lock().busy;
        match what {
            Some(what) => busy.insert(cluster.to_owned(), what.to_owned()),
            None => busy.remove(cluster),
        };
    }

    /// Somebody makes a profile by hand, or removes one.
    pub(crate) fn by_hand(&self, what: &str, exists: bool) {
        let book = &mut self.0.lock().exists;
        if exists {
            book.insert(what.to_owned());
        } else {
            book.remove(what);
        }
    }

    /// EKS refuses to do anything with this, and says so, or takes it back.
    pub(crate) fn refuse(&self, what: &str, trouble: Option<&'static str>) {
        let troubles = &mut self.0.lock().troubles;
        match trouble {
            Some(trouble) => troubles.insert(what.to_owned(), trouble),
            None => troubles.remove(what),
        };
    }

    /// No two things were ever done with a cluster at a time, and nobody tried.
    pub(crate) fn was_never_asked_too_much(&self) {
        assert_eq!(self.refused(), Vec::<String>::new());
        let done = self.done();
        for (number, one) in done.iter().enumerate() {
            for other in &done[number + 1..] {
                let is_same = cluster_of(&one.what) == cluster_of(&other.what);
                let is_apart = one.to <= other.from || other.to <= one.from;
                assert!(!is_same || is_apart, "{one:?} {other:?}");
            }
        }
    }

    /// Begins something, or refuses it.
    fn begin(&self, verb: &'static str, what: &str, now: Timestamp) -> Result<Doing, String> {
        let mut book = self.0.lock();
        let cluster = cluster_of(what);
        book.asked.push(format!("{verb} {what}"));
        let refusal = match (book.busy.get(cluster), book.troubles.get(what)) {
            (Some(busy), _) => Some(format!(
                "ResourceInUseException: Cannot {verb} {what} because cluster {cluster} currently has this under way: {busy}"
            )),
            (None, Some(trouble)) => return Err((*trouble).to_owned()),
            (None, None) if verb == "create" && book.exists.contains(what) => {
                return Err(format!("ResourceInUseException: {what} already exists"));
            }
            (None, None) => None,
        };
        if let Some(refusal) = refusal {
            book.refused.push(format!("{verb} {what}"));
            return Err(refusal);
        }
        book.busy.insert(cluster.to_owned(), format!("{verb} {what}"));
        Ok(Doing {
            eks: self.clone(),
            verb,
            what: what.to_owned(),
            from: now,
        })
    }
}

fn cluster_of(what: &str) -> &str {
    what.split_once('/').map_or(what, |(cluster, _)| cluster)
}

/// Something that EKS does.
struct Doing {
    eks: Eks,
    verb: &'static str,
    what: String,
    from: Timestamp,
}

impl Doing {
    fn end(self, has_worked: bool, now: Timestamp) {
        let mut book = self.eks.0.lock();
        book.busy.remove(cluster_of(&self.what));
        if has_worked {
            match self.verb {
                "delete" => book.exists.remove(&self.what),
                _ => book.exists.insert(self.what.clone()),
            };
        }
        book.done.push(Operation {
            verb: self.verb,
            what: self.what,
            from: self.from,
            to: now,
        });
    }
}

/// The runner's simulation, with EKS behind it.
#[derive(Clone)]
struct Aws {
    eks: Eks,
    simulation: Arc<SimulatedEngine>,
    clock: capt_runner::Clock,
}

impl Engines for Aws {
    fn for_workspace(&self, _is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure> {
        Ok(Arc::new(self.clone()))
    }
}

impl Engine for Aws {
    fn about(&self) -> About {
        About {
            kind: EngineKind::Terraform,
            version: "1.11.4".to_owned(),
        }
    }

    fn open(&self, inputs: Inputs, link: Link) -> BoxFuture<'_, Result<Opened, Failure>> {
        Box::pin(async move {
            let told = |name: &str| inputs.vars.iter().find(|(known, _)| known == name);
            let cluster = told("cluster_name").map(|(_, cluster)| cluster.clone());
            let what = match (cluster, told("profile_name")) {
                (Some(cluster), Some((_, profile))) => Some(format!("{cluster}/{profile}")),
                (cluster, _) => cluster,
            };
            let opened = self.simulation.open(inputs, link).await?;
            let session = Box::new(Asking {
                session: opened.session,
                aws: self.clone(),
                what,
                verb: None,
            });
            Ok(Opened { session, ..opened })
        })
    }

    fn forget(&self, uid: &str) -> BoxFuture<'_, ()> {
        self.simulation.forget(uid)
    }
}

/// A session that asks EKS first.
struct Asking {
    session: Box<dyn Session>,
    aws: Aws,
    what: Option<String>,
    /// What has to be done.
    verb: Option<&'static str>,
}

impl Session for Asking {
    fn plan(&mut self, goal: Goal) -> BoxFuture<'_, Result<Planned, Failure>> {
        Box::pin(async move {
            if let (Some(what), Goal::Converge) = (&self.what, goal) {
                self.aws.eks.0.lock().begun.push(what.clone());
            }
            let planned = self.session.plan(goal).await?;
            let is_new = planned.state.is_none();
            self.verb = (!planned.plan.changes.is_empty()).then_some(match goal {
                Goal::Destroy => "delete",
                Goal::Converge if is_new => "create",
                Goal::Converge => "change",
            });
            Ok(planned)
        })
    }

    fn apply(&mut self) -> BoxFuture<'_, Result<Applied, Failure>> {
        Box::pin(async move {
            let now = || (self.aws.clock)();
            let (Some(what), Some(verb)) = (&self.what, self.verb) else {
                return self.session.apply().await;
            };
            // Terraform looks first, and takes what is gone for deleted.
            if verb == "delete" && !self.aws.eks.exists().contains(what) {
                return self.session.apply().await;
            }
            let doing = self
                .aws
                .eks
                .begin(verb, what, now())
                .map_err(|text| said(&text))?;
            let applied = self.session.apply().await;
            doing.end(applied.is_ok(), (self.aws.clock)());
            applied
        })
    }
}

/// What Terraform prints when AWS says no.
fn said(text: &str) -> Failure {
    let diagnostics = vec![Diagnostic {
        severity: Severity::Error,
        summary: "operation error EKS".to_owned(),
        detail: text.to_owned(),
        address: Some("terraform_data.it".to_owned()),
        ..Diagnostic::default()
    }];
    Failure {
        kind: FailureKind::Terraform(classify(&diagnostics[0])),
        message: message(&diagnostics, 16 * 1024).unwrap_or_default(),
        diagnostics,
        state: None,
        missing: Vec::new(),
    }
}

/// Starts our runner in a world, with EKS behind it.
pub(crate) fn start_eks(world: &World) -> Eks {
    start_eks_polling(world, None)
}

/// The same, where the runner looks from time to time whether everything is as it should be.
pub(crate) fn start_eks_polling(world: &World, poll: Option<Duration>) -> Eks {
    let eks = Eks::default();
    let (book, client) = (eks.clone(), world.client());
    world.start(RUNNER, move |process: Process| {
        let (eks, client) = (book.clone(), client.clone());
        async move {
            let of_world = process.clock.clone();
            let clock: capt_runner::Clock = Arc::new(move || of_world.now());
            let aws = Aws {
                eks,
                simulation: Arc::new(SimulatedEngine::new(1, clock.clone())),
                clock: clock.clone(),
            };
            let mut options = capt_runner::Options::new(Arc::new(aws), "runner-1");
            options.clock = clock;
            options.system_namespace.clone_from(&process.namespace);
            options.parallelism = 64;
            options.poll_interval = poll;
            let ended = capt_runner::run(client, options, CancellationToken::new()).await;
            panic!("the runner ended: {ended:?}");
        }
    });
    eks
}

fn template(name: &str, variables: &[&str], rest: &str) -> Value {
    let declared: String = variables
        .iter()
        .map(|name| format!("variable \"{name}\" {{\n  type = string\n}}\n"))
        .collect();
    let seconds = MINUTES.as_secs();
    let vars: Vec<Value> = variables
        .iter()
        .map(|name| json!({"key": name, "value": format!("${{{name}}}")}))
        .collect();
    json!({
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"forProvider": {
            "source": "Inline",
            "module": format!("{declared}variable \"simulate_seconds\" {{\n  default = {seconds}\n}}\n{rest}"),
            "vars": vars,
        }}}},
    })
}

/// A template of an EKS cluster that takes a while to make.
pub(crate) fn slow_eks_template() -> Value {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let rest = format!(
        "resource \"terraform_data\" \"it\" {{\n  input = var.kubernetes_version\n}}\n\
         output \"cluster_name\" {{\n  value = var.cluster_name\n}}\n\
         output \"cluster_version\" {{\n  value = var.kubernetes_version\n}}\n\
         output \"cluster_endpoint\" {{\n  value = \"https://10.0.0.1:6443\"\n}}\n\
         output \"cluster_certificate_authority_data\" {{\n  value = \"{}\"\n}}\n\
         output \"kubeconfig\" {{\n  value = \"apiVersion: v1\\nclusters: []\\nusers: []\\n\"\n  sensitive = true\n}}\n",
        STANDARD.encode(CA)
    );
    template("eks", &["cluster_name", "kubernetes_version"], &rest)
}

/// A template of a Fargate profile that takes a while to make, and is replaced when its selectors change.
pub(crate) fn slow_profile_template() -> Value {
    let rest = "resource \"terraform_data\" \"it\" {\n  triggers_replace = [var.selectors, var.private_subnets]\n  \
                input = var.tags\n}\n";
    let variables = [
        "cluster_name",
        "profile_name",
        "selectors",
        "private_subnets",
        "tags",
    ];
    template("fargate-profile", &variables, rest)
}
