//! `capt up --demo`: a sample cluster, shown as it comes up.

mod objects;
mod show;

use kube::Client;

use super::door::Showing;
use crate::cmd;

/// What the cluster is called.
const NAME: &str = "demo";
const NAMESPACE: &str = "default";

/// Makes the sample cluster, shows it until it is ready, and says what to try next.
pub(super) async fn run(client: Client, api: Showing) -> anyhow::Result<()> {
    objects::make(&client, &api).await?;
    cmd::print(&format!(
        "\nThe sample cluster {NAME}, a VPC and an EKS cluster that exist in Terraform's state only:\n\n"
    ))?;
    match show::until_ready(&client).await? {
        show::Ended::Ready => cmd::print(&next_steps()),
        show::Ended::Gone => cmd::print(&format!(
            "\nThe cluster {NAME} is gone; everything goes on running.\n"
        )),
    }
}

/// What a newcomer may want to do now. Each line can be pasted into a shell.
fn next_steps() -> String {
    format!(
        "\nThe cluster is ready, and everything goes on running. In another terminal, after the export above, try:\n\n  \
         kubectl get cluster,captcluster,captcontrolplane\n  \
         capt describe cluster/{NAME}\n  \
         capt tree cluster/{NAME}\n  \
         capt kubeconfig {NAME} > {NAME}.kubeconfig && kubectl --kubeconfig {NAME}.kubeconfig get namespaces\n  \
         kubectl patch captcontrolplane {NAME} --type merge -p '{{\"spec\":{{\"version\":\"1.32\"}}}}'\n  \
         kubectl delete cluster {NAME}\n\n"
    )
}
