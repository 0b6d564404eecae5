# The contract: what controllers read, and when it changes.

variables {
  cluster_name       = "demo"
  kubernetes_version = "1.31"
  region             = "eu-central-1"
  vpc_id             = "vpc-0123456789abcdef0"
  private_subnets    = ["subnet-0a", "subnet-0b"]
  time_scale         = 0
}

run "exists_in_name_only" {
  assert {
    condition     = output.cluster_name == "demo" && output.cluster_version == "1.31"
    error_message = "Name and version must be those that were asked for."
  }

  assert {
    condition     = can(regex("^https://[0-9A-F]{32}\\.gr7\\.eu-central-1\\.eks\\.sandbox\\.invalid$", output.cluster_endpoint))
    error_message = "The endpoint must be one that never resolves, and not one of AWS."
  }

  assert {
    condition     = startswith(base64decode(output.cluster_certificate_authority_data), "-----BEGIN CERTIFICATE-----\n")
    error_message = "The certificate authority must be base64 of PEM."
  }

  assert {
    condition     = can(regex("^arn:aws:iam::000000000000:oidc-provider/oidc\\.eks\\.eu-central-1\\.sandbox\\.invalid/id/[0-9A-F]{32}$", output.oidc_provider_arn))
    error_message = "The identity provider must have an ARN."
  }

  assert {
    condition     = yamldecode(output.kubeconfig).clusters[0].cluster.server == output.cluster_endpoint
    error_message = "The kubeconfig must lead to the endpoint."
  }
}

run "upgraded_in_place" {
  variables {
    kubernetes_version       = "1.32"
    addons                   = [{ name = "coredns" }, { name = "vpc-cni", version = "v1.19.0-eksbuild.1", configurationValues = "{}" }]
    earlier_cluster_endpoint = run.exists_in_name_only.cluster_endpoint
  }

  assert {
    condition     = output.cluster_version == "1.32" && output.cluster_endpoint == var.earlier_cluster_endpoint
    error_message = "An upgrade must change the version and nothing else."
  }

  assert {
    condition     = terraform_data.addon["vpc-cni"].output.version == "v1.19.0-eksbuild.1" && terraform_data.addon["coredns"].output.version == null
    error_message = "The add-ons must be those that were asked for."
  }
}

run "replaced_in_another_network" {
  variables {
    vpc_id                   = "vpc-00000000000000000"
    earlier_cluster_endpoint = run.upgraded_in_place.cluster_endpoint
  }

  assert {
    condition     = output.cluster_endpoint != var.earlier_cluster_endpoint
    error_message = "Another VPC must make another cluster."
  }

  assert {
    condition     = startswith(output.cluster_endpoint, "https://${terraform_data.cluster.triggers_replace[0]}.") && terraform_data.oidc_provider.triggers_replace[0] == terraform_data.cluster.id
    error_message = "The identity must be among what replaces the cluster, and the cluster what replaces its parts."
  }
}

run "played_by_a_real_server" {
  variables {
    endpoint                   = "https://127.0.0.1:6443"
    certificate_authority_data = "Y2VydGlmaWNhdGU="
    token                      = "s3cr3t"
  }

  assert {
    condition     = output.cluster_endpoint == "https://127.0.0.1:6443" && output.cluster_certificate_authority_data == "Y2VydGlmaWNhdGU="
    error_message = "The endpoint and its authority must be the server's."
  }

  assert {
    condition = yamldecode(output.kubeconfig) == {
      apiVersion      = "v1"
      kind            = "Config"
      current-context = "demo"
      clusters        = [{ name = "demo", cluster = { server = "https://127.0.0.1:6443", certificate-authority-data = "Y2VydGlmaWNhdGU=" } }]
      contexts        = [{ name = "demo", context = { cluster = "demo", user = "demo" } }]
      users           = [{ name = "demo", user = { token = "s3cr3t" } }]
    }
    error_message = "The kubeconfig must lead to the server, with its token."
  }
}
