# The contract: what controllers read, and when it changes.

variables {
  cluster_name    = "demo"
  profile_name    = "monitoring"
  selectors       = [{ namespace = "monitoring" }]
  private_subnets = ["subnet-0a", "subnet-0b"]
  time_scale      = 0
}

run "active_with_a_role_of_its_own" {
  assert {
    condition     = output.fargate_profile_status == "ACTIVE"
    error_message = "A profile that was made must be active."
  }

  assert {
    condition     = can(regex("^arn:aws:eks:sandbox:000000000000:fargateprofile/demo/monitoring/[0-9a-f]{32}$", output.fargate_profile_arn))
    error_message = "The profile must have an ARN of its cluster and its name."
  }

  assert {
    condition     = terraform_data.profile.output.role == "arn:aws:iam::000000000000:role/demo-monitoring-fargate" && length(terraform_data.pod_execution_role) == 1
    error_message = "Without a role given, one must be made."
  }
}

run "tagged_in_place" {
  variables {
    tags                        = { team = "platform" }
    earlier_fargate_profile_arn = run.active_with_a_role_of_its_own.fargate_profile_arn
  }

  assert {
    condition     = output.fargate_profile_arn == var.earlier_fargate_profile_arn
    error_message = "Tags must not make another profile."
  }
}

run "replaced_by_other_selectors" {
  variables {
    selectors                   = [{ namespace = "monitoring", labels = { app = "prometheus" } }, { namespace = "logging" }]
    earlier_fargate_profile_arn = run.tagged_in_place.fargate_profile_arn
  }

  assert {
    condition     = output.fargate_profile_arn != var.earlier_fargate_profile_arn
    error_message = "EKS cannot change selectors, so there must be another profile."
  }

  assert {
    condition     = strcontains(terraform_data.profile.triggers_replace[0], "logging")
    error_message = "The selectors must be among what replaces the profile."
  }

  assert {
    condition     = terraform_data.profile.output.selectors[0].labels["app"] == "prometheus"
    error_message = "The selectors must be those that were asked for."
  }
}

run "with_a_role_given" {
  variables {
    pod_execution_role_arn = "arn:aws:iam::123456789012:role/pods"
  }

  assert {
    condition     = terraform_data.profile.output.role == "arn:aws:iam::123456789012:role/pods" && length(terraform_data.pod_execution_role) == 0
    error_message = "With a role given, none must be made."
  }
}
