output "cluster_name" {
  description = "Name of the cluster."
  value       = var.cluster_name
  depends_on  = [terraform_data.cluster]
}

output "cluster_endpoint" {
  description = "URL of the API server."
  value       = local.endpoint
  depends_on  = [terraform_data.cluster]
}

output "cluster_certificate_authority_data" {
  description = "Certificate authority of the API server, as base64 of PEM."
  value       = local.certificate_authority_data
  depends_on  = [terraform_data.cluster]
}

output "cluster_version" {
  description = "The Kubernetes version that the cluster has, not the one that is wished for."
  value       = terraform_data.cluster.output.version
}

output "oidc_provider_arn" {
  description = "Identity provider for the cluster's service accounts."
  value       = "arn:aws:iam::${local.account_id}:oidc-provider/${local.oidc_host}/id/${local.identity}"
  depends_on  = [terraform_data.oidc_provider]
}

output "kubeconfig" {
  description = "How to reach the cluster, with the token in it."
  sensitive   = true
  value = yamlencode({
    apiVersion      = "v1"
    kind            = "Config"
    current-context = var.cluster_name
    clusters = [{
      name    = var.cluster_name
      cluster = { server = local.endpoint, certificate-authority-data = local.certificate_authority_data }
    }]
    contexts = [{
      name    = var.cluster_name
      context = { cluster = var.cluster_name, user = var.cluster_name }
    }]
    users = [{
      name = var.cluster_name
      user = { token = local.token }
    }]
  })
  depends_on = [terraform_data.cluster]
}
