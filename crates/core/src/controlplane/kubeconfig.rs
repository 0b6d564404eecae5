//! The Secrets that let others into a cluster: the kubeconfig that Cluster API uses, one for people, and the
//! certificate authority.
//!
//! Cluster API takes no kubeconfig that runs a program, so that ours has a token in it, which is renewed long before it
//! ends. A token that is in the Secret is used until another is there: no moment is without a valid one.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    captcontrolplane::{CAPTControlPlaneSpec, KubeconfigSource},
    endpoint::ApiEndpoint,
    foreign::marks as foreign_marks,
    marks,
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    endpoint,
    snapshot::{Hidden, SecretSeen, Token},
};
use crate::{
    aws,
    decision::{Desired, Guard, Strip, Target},
    names,
    owned::Owner,
};

/// Type of the Secrets that Cluster API reads.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";
/// Key of the kubeconfig.
pub const VALUE: &str = "value";
/// Key of a kubeconfig that reads its token from a file beside it, for programs that cannot load a kubeconfig again.
pub const RELATIVE: &str = "relative";
/// Key of that token.
pub const TOKEN_FILE: &str = "token-file";

/// How long before its end a token is renewed. EKS honours one for 15 minutes.
pub const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(6);

/// Where a kubeconfig comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The module's output.
    Output,
    /// A token that AWS honours.
    AwsIam,
}

/// Chooses where the kubeconfig comes from.
#[must_use]
pub fn source(spec: &CAPTControlPlaneSpec, host: &str) -> Source {
    let source = spec.kubeconfig.as_ref().and_then(|kubeconfig| kubeconfig.source);
    match source.unwrap_or_default() {
        KubeconfigSource::Output => Source::Output,
        KubeconfigSource::AwsIam => Source::AwsIam,
        KubeconfigSource::Auto if aws::is_eks(host) => Source::AwsIam,
        KubeconfigSource::Auto => Source::Output,
    }
}

/// The Secret that Cluster API reads. Its name is part of the contract.
#[must_use]
pub fn secret_name(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}

/// The Secret for people.
#[must_use]
pub fn user_secret_name(cluster: &str) -> String {
    format!("{cluster}-user-kubeconfig")
}

/// The Secret with the certificate authority.
#[must_use]
pub fn ca_secret_name(cluster: &str) -> String {
    format!("{cluster}-ca")
}

/// How somebody proves who they are.
#[derive(Clone, Copy, Debug)]
pub enum User<'a> {
    /// By a token.
    Token(&'a Hidden),
    /// By a token in a file beside the kubeconfig.
    TokenFile,
    /// By AWS's own program, with the credentials of whoever runs it.
    AwsCli {
        /// The cluster's name in AWS.
        cluster_name: &'a str,
        /// Its region.
        region: &'a str,
    },
}

/// A kubeconfig.
#[must_use]
pub fn render(name: &str, endpoint: &ApiEndpoint, ca_data: &str, user: User<'_>) -> String {
    let name = json!(name);
    let server = json!(format!("https://{}", endpoint::display(endpoint)));
    let ca_data = json!(ca_data);
    let user = match user {
        User::Token(token) => format!("    token: {}\n", json!(token.reveal())),
        User::TokenFile => format!("    tokenFile: ./{TOKEN_FILE}\n"),
        User::AwsCli { cluster_name, region } => {
            let arguments = json!([
                "--region",
                region,
                "eks",
                "get-token",
                "--cluster-name",
                cluster_name,
                "--output",
                "json"
            ]);
            format!(
                "    exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n      command: aws\n      args: \
                 {arguments}\n      interactiveMode: IfAvailable\n"
            )
        }
    };
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {name}\nclusters:\n- name: {name}\n  cluster:\n    server: \
         {server}\n    certificate-authority-data: {ca_data}\ncontexts:\n- name: {name}\n  context:\n    cluster: \
         {name}\n    user: {name}\nusers:\n- name: {name}\n  user:\n{user}"
    )
}

/// Why a kubeconfig of somebody else cannot be used.
#[must_use]
pub fn unusable(kubeconfig: &str) -> Option<&'static str> {
    if kubeconfig.trim().is_empty() {
        return Some("is empty: let it have the kubeconfig of the cluster");
    }
    let runs = |word: &str| {
        kubeconfig.lines().any(|line| {
            let line = line.trim_start().trim_start_matches("- ").trim_start_matches('"');
            line.strip_prefix(word)
                .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(':'))
        })
    };
    if runs("exec") || runs("auth-provider") {
        return Some(
            "runs a program to log in, which Cluster API refuses: put a token or a client certificate in it",
        );
    }
    let has = |word: &str| kubeconfig.contains(word);
    (!has("clusters") || !has("users")).then_some(
        "is no kubeconfig: it names no clusters or no users. Let it have both, as kubectl reads them",
    )
}

/// The certificate authority as it is written, if it is one.
#[must_use]
pub fn ca_certificate(ca_data: &str) -> Option<String> {
    let decoded = STANDARD.decode(ca_data.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    text.contains("-----BEGIN CERTIFICATE-----").then_some(text)
}

/// A certificate authority as kubeconfigs have it.
#[must_use]
pub fn ca_data(certificate: &str) -> String {
    STANDARD.encode(certificate)
}

/// The token to use now: the one that lasts longest of the issued one and the one in the Secret. One that has ended is
/// none.
#[must_use]
pub fn current_token(issued: Option<&Token>, secret: Option<&SecretSeen>, now: Timestamp) -> Option<Token> {
    let kept = secret.and_then(|secret| {
        let expires_at = secret.annotations.get(marks::TOKEN_EXPIRES)?.parse().ok()?;
        let value = Hidden::new(secret.text(TOKEN_FILE)?);
        Some(Token { value, expires_at })
    });
    issued
        .cloned()
        .into_iter()
        .chain(kept)
        .filter(|token| token.expires_at > now && !token.value.reveal().is_empty())
        .max_by_key(|token| token.expires_at)
}

/// By when another token is wanted.
#[must_use]
pub fn renew_by(token: Option<&Token>, now: Timestamp) -> Timestamp {
    token.map_or(now, |token| {
        token
            .expires_at
            .checked_sub(RENEW_BEFORE)
            .unwrap_or(now)
            .max(Timestamp::MIN)
    })
}

/// A Secret as it should be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub data: BTreeMap<String, Hidden>,
    /// Until when the token in it is honoured, if it has one.
    pub expires_at: Option<Timestamp>,
}

impl Wanted {
    /// What has to be written, if anything has, or why it cannot be.
    ///
    /// # Errors
    ///
    /// There is a Secret of that name that is not ours to write, in words.
    pub fn change(
        &self,
        owner: &Owner<'_>,
        present: Option<&SecretSeen>,
        must_have_type: bool,
    ) -> Result<Option<Desired>, String> {
        let name = &self.name;
        if let Some(present) = present {
            if let Some((controller, uid)) = &present.controller
                && uid != owner.uid
            {
                return Err(format!(
                    "The Secret {name} belongs to {controller}. Delete it, or rename one of the clusters"
                ));
            }
            if must_have_type && present.type_ != SECRET_TYPE {
                return Err(format!(
                    "The Secret {name} is of the type {}, and a type cannot be changed. Delete it, and it is made \
                     again as {SECRET_TYPE}",
                    present.type_
                ));
            }
            let label = present.labels.get(foreign_marks::CLUSTER_NAME);
            let ours = owner.cluster.map(names::label_value);
            if present.controller.is_none() && label.is_some() && label != ours.as_ref() {
                return Err(format!(
                    "The Secret {name} says that it is another cluster's. Delete it, or rename one of the clusters"
                ));
            }
            if present.deleting {
                return Ok(None);
            }
        }
        let annotations: BTreeMap<String, String> = self
            .expires_at
            .map(|time| (marks::TOKEN_EXPIRES.to_owned(), time.to_string()))
            .into_iter()
            .collect();
        let is_there = present.is_some_and(|present| {
            present
                .controller
                .as_ref()
                .is_some_and(|(_, uid)| uid == owner.uid)
                && owner
                    .labels()
                    .iter()
                    .all(|(name, value)| present.labels.get(name) == Some(value))
                && annotations
                    .iter()
                    .all(|(name, value)| present.annotations.get(name) == Some(value))
                && self
                    .data
                    .iter()
                    .all(|(key, value)| present.data.get(key) == Some(value))
        });
        if is_there {
            return Ok(None);
        }
        let data: BTreeMap<&str, String> = self
            .data
            .iter()
            .map(|(key, value)| (key.as_str(), STANDARD.encode(value.reveal())))
            .collect();
        let type_ = present.map_or(SECRET_TYPE, |present| present.type_.as_str());
        let mut metadata = json!({"labels": owner.labels(), "ownerReferences": [owner.reference()]});
        if !annotations.is_empty()
            && let Value::Object(fields) = &mut metadata
        {
            fields.insert("annotations".to_owned(), json!(annotations));
        }
        Ok(Some(Desired {
            target: target(owner.namespace, name),
            guard: present.map_or(Guard::Absent, |present| Guard::Uid(present.uid.clone())),
            fields: json!({"metadata": metadata, "type": type_, "data": data}),
            strip: Strip::default(),
            rendered_from: None,
            loss: None,
            is_beside: false,
        }))
    }
}

/// Names a Secret.
#[must_use]
pub(super) fn target(namespace: &str, name: &str) -> Target {
    Target {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// What the Secret that Cluster API reads holds, with a token in it.
#[must_use]
pub fn with_token(cluster: &str, endpoint: &ApiEndpoint, ca_data: &str, token: &Token) -> Wanted {
    Wanted {
        name: secret_name(cluster),
        data: BTreeMap::from([
            (
                VALUE.to_owned(),
                Hidden::new(render(cluster, endpoint, ca_data, User::Token(&token.value))),
            ),
            (
                RELATIVE.to_owned(),
                Hidden::new(render(cluster, endpoint, ca_data, User::TokenFile)),
            ),
            (TOKEN_FILE.to_owned(), token.value.clone()),
        ]),
        expires_at: Some(token.expires_at),
    }
}

/// What the Secret that Cluster API reads holds, as the module gives it.
#[must_use]
pub fn from_output(cluster: &str, kubeconfig: &str) -> Wanted {
    Wanted {
        name: secret_name(cluster),
        data: BTreeMap::from([(VALUE.to_owned(), Hidden::new(kubeconfig))]),
        expires_at: None,
    }
}

/// What the Secret for people holds.
#[must_use]
pub fn for_people(
    cluster: &str,
    endpoint: &ApiEndpoint,
    ca_data: &str,
    name_in_aws: &str,
    region: &str,
) -> Wanted {
    let user = User::AwsCli {
        cluster_name: name_in_aws,
        region,
    };
    Wanted {
        name: user_secret_name(cluster),
        data: BTreeMap::from([(
            VALUE.to_owned(),
            Hidden::new(render(cluster, endpoint, ca_data, user)),
        )]),
        expires_at: None,
    }
}

/// What the Secret with the certificate authority holds.
#[must_use]
pub fn ca(cluster: &str, certificate: &str) -> Wanted {
    Wanted {
        name: ca_secret_name(cluster),
        data: BTreeMap::from([
            ("tls.crt".to_owned(), Hidden::new(certificate)),
            ("ca.crt".to_owned(), Hidden::new(certificate)),
        ]),
        expires_at: None,
    }
}

#[cfg(test)]
mod tests;
