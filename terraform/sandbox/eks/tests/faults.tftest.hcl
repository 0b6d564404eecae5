# Failures and drift on demand.

variables {
  cluster_name       = "demo"
  kubernetes_version = "1.31"
  region             = "eu-central-1"
  vpc_id             = "vpc-0123456789abcdef0"
  private_subnets    = ["subnet-0a", "subnet-0b"]
  time_scale         = 0
}

run "fails_during_plan" {
  command = plan

  variables {
    fail_at     = "cluster"
    fail_during = "plan"
  }

  expect_failures = [terraform_data.cluster]
}

run "fails_during_apply" {
  variables {
    fail_at = "cluster"
  }

  expect_failures = [terraform_data.cluster]
}

run "goes_on_where_it_failed" {
  assert {
    condition     = output.oidc_provider_arn != "" && output.cluster_version == "1.31"
    error_message = "The cluster is not complete."
  }
}

run "drifts_as_the_world_says" {
  variables {
    world_file               = "tests/worlds/drifted.json"
    earlier_cluster_endpoint = run.goes_on_where_it_failed.cluster_endpoint
  }

  assert {
    condition     = terraform_data.cluster.output.drift == "somebody switched logging off" && terraform_data.cluster_role.output.drift == ""
    error_message = "The drift must show at the resource that the world names, and only there."
  }

  assert {
    condition     = output.cluster_endpoint == var.earlier_cluster_endpoint
    error_message = "Drift must be repaired in place."
  }
}

run "fails_an_upgrade" {
  variables {
    kubernetes_version = "1.32"
    fail_at            = "cluster"
  }

  expect_failures = [terraform_data.cluster]
}
