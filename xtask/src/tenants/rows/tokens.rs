//! T6 and T7: tokens for a cluster are signed with credentials of the tenant alone, whatever cluster its module names and
//! whatever Workspace its objects point at.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use capt_api::marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER, CLUSTER_WORKSPACE, CONTROL_PLANE, NETWORK, SECRET, TEMPLATE};
use super::super::stage::{PROCESS_KEY, Stage};
use super::super::tenant::Tenant;
use crate::objects::summary;

/// The cluster of the victim in AWS, which an attacker may well know by name.
const PROD: &str = "victim-prod";
/// How often the token of before may be written once more.
const TRIES: usize = 20;
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";

/// T6: the identity of the controllers signs for those that the operator lists.
pub(super) async fn of_the_process(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, listed) = (&stage.attacker, &stage.listed);
    for tenant in [listed, attacker] {
        make_cluster(tenant, "identity", None).await?;
    }
    let lent = signer(&until_token(listed, "identity", |_| true).await?)?;
    ensure!(lent == PROCESS_KEY, "the listed namespace gets tokens of {lent}");
    attacker
        .until(CONTROL_PLANE, "identity", "it has no credentials", |plane| {
            plane["status"].to_string().contains("--own-credentials")
        })
        .await?;
    // The module makes what it says, and so does its Workspace.
    attacker.until_applied("identity-eks-controlplane-apply").await?;
    stage.let_time_pass("after-t6").await?;
    let token = attacker.get(SECRET, "identity-kubeconfig").await?;
    ensure!(token.is_none(), "the attacker has a kubeconfig: {token:?}");
    attacker.check_absent(PROCESS_KEY).await?;
    end_cluster(attacker, "identity").await?;
    end_cluster(listed, "identity").await
}

/// T7: the annotation of a WorkspaceTemplateApply does not lead to the credentials of another Workspace.
pub(super) async fn of_a_tenant(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    make_cluster(victim, "prod", Some("AKIAVICTIM")).await?;
    make_cluster(attacker, "keys", Some("AKIAATTACKER")).await?;
    let victims = signer(&until_token(victim, "prod", |_| true).await?)?;
    ensure!(victims == "AKIAVICTIM", "the victim gets tokens of {victims}");
    let first = until_token(attacker, "keys", |_| true).await?;
    ensure!(
        signer(&first)? == "AKIAATTACKER",
        "the attacker's own credentials are not used"
    );

    let apply = victim.get(APPLY, "prod-eks-controlplane-apply").await?;
    let apply = apply.context("the victim has no WorkspaceTemplateApply")?;
    let workspace = apply["status"]["workspaceName"].as_str().unwrap_or_default();
    let found = stage.admin.get(CLUSTER_WORKSPACE, "", workspace).await?;
    ensure!(
        found.is_some_and(|found| found["spec"].to_string().contains("AKIAVICTIM")),
        "the Workspace of the victim has no credentials"
    );
    let target = format!("{}/{workspace}", CLUSTER_WORKSPACE.group());
    let own = "keys-eks-controlplane-apply";
    attacker.annotate(APPLY, own, marks::WORKSPACE, &target).await?;
    // A token for another cluster is signed at once where there is none that still counts.
    let edited =
        json!({"spec": {"template": {"spec": {"forProvider": {"module": module("victim-prod-2")}}}}});
    attacker.change(TEMPLATE, "keys", edited).await?;
    attacker.annotate(APPLY, own, marks::WORKSPACE, &target).await?;
    attacker
        .until(CONTROL_PLANE, "keys", "its cluster is another one", |plane| {
            plane["status"]["workspaceTemplateStatus"]["outputs"]["cluster_name"] == "victim-prod-2"
        })
        .await?;
    let mut second = first.clone();
    // The token of before is written once more until the issuer knows about the other cluster.
    for _ in 0..TRIES {
        attacker.delete(SECRET, "keys-kubeconfig").await?;
        second = until_token(attacker, "keys", |_| true).await?;
        if second != first {
            break;
        }
    }
    ensure!(second != first, "no second token was signed");
    ensure!(
        signer(&second)? == "AKIAATTACKER",
        "a token of the attacker was signed by {}",
        signer(&second)?
    );
    attacker.check_absent("AKIAVICTIM").await?;
    end_cluster(attacker, "keys").await?;
    end_cluster(victim, "prod").await
}

/// A module that makes nothing and says that it made an EKS cluster.
fn module(cluster: &str) -> String {
    let authority = STANDARD.encode(CERTIFICATE);
    format!(
        r#"
output "cluster_name" {{ value = "{cluster}" }}
output "cluster_endpoint" {{ value = "https://0A1B.gr7.eu-central-1.eks.amazonaws.com" }}
output "cluster_certificate_authority_data" {{ value = "{authority}" }}
output "cluster_version" {{ value = "1.33" }}
"#
    )
}

/// A Cluster of this name in a VPC that exists, with credentials in its template if it has any.
async fn make_cluster(tenant: &Tenant, name: &str, key_id: Option<&str>) -> anyhow::Result<()> {
    let env = key_id.map_or_else(Vec::new, |key_id| {
        vec![
            json!({"name": "AWS_ACCESS_KEY_ID", "value": key_id}),
            json!({"name": "AWS_SECRET_ACCESS_KEY", "value": "tenant"}),
        ]
    });
    let spec = json!({"forProvider": {"env": env}});
    tenant.template(name, &module(PROD), spec).await?;
    let metadata = json!({"name": name});
    let network = json!({
        "region": "eu-central-1",
        "existingVpcId": "vpc-0a1b2c",
        "existingSubnetIds": ["subnet-1", "subnet-2"],
    });
    tenant
        .create(NETWORK, json!({"metadata": metadata, "spec": network}))
        .await?;
    let plane = json!({
        "version": "1.33",
        "workspaceTemplateRef": {"name": name},
        "endpointCheck": "Optional",
    });
    tenant
        .create(CONTROL_PLANE, json!({"metadata": metadata, "spec": plane}))
        .await?;
    let cluster = json!({
        "infrastructureRef": {"apiGroup": NETWORK.group(), "kind": NETWORK.name(), "name": name},
        "controlPlaneRef": {"apiGroup": CONTROL_PLANE.group(), "kind": CONTROL_PLANE.name(), "name": name},
    });
    tenant
        .create(CLUSTER, json!({"metadata": metadata, "spec": cluster}))
        .await?;
    Ok(())
}

async fn end_cluster(tenant: &Tenant, name: &str) -> anyhow::Result<()> {
    tenant.delete(CLUSTER, name).await?;
    for kind in [CLUSTER, CONTROL_PLANE, NETWORK] {
        tenant.until_gone(kind, name).await?;
    }
    Ok(())
}

/// The token in the kubeconfig of a Cluster, once it is as wanted.
async fn until_token(
    tenant: &Tenant,
    cluster: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> anyhow::Result<String> {
    let token_of = |secret: &Value| {
        let text = secret["data"]["token-file"].as_str()?;
        String::from_utf8(STANDARD.decode(text).ok()?).ok()
    };
    let name = format!("{cluster}-kubeconfig");
    let secret = tenant
        .until(SECRET, &name, "it has the token", |secret| {
            token_of(secret).is_some_and(|token| is_wanted(&token))
        })
        .await;
    let secret = match secret {
        Ok(secret) => secret,
        Err(error) => {
            let plane = tenant.get(CONTROL_PLANE, cluster).await?;
            return Err(error.context(summary(&plane.unwrap_or_default())));
        }
    };
    token_of(&secret).context("the token is gone")
}

/// The id of the key that a token was signed with.
fn signer(token: &str) -> anyhow::Result<String> {
    let encoded = token.strip_prefix("k8s-aws-v1.").context("an odd token")?;
    let url = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded)?)?;
    let (_, query) = url.split_once('?').context("an odd address")?;
    let fields: BTreeMap<&str, &str> = query
        .split('&')
        .filter_map(|field| field.split_once('='))
        .collect();
    let credential = fields.get("X-Amz-Credential").context("no credential")?;
    Ok(credential.split("%2F").next().unwrap_or_default().to_owned())
}
