# Failures and drift on demand.

variables {
  cluster_name    = "demo"
  profile_name    = "monitoring"
  selectors       = [{ namespace = "monitoring" }]
  private_subnets = ["subnet-0a", "subnet-0b"]
  time_scale      = 0
}

run "fails_during_plan" {
  command = plan

  variables {
    fail_at     = "profile"
    fail_during = "plan"
  }

  expect_failures = [terraform_data.profile]
}

run "fails_during_apply" {
  variables {
    fail_at = "profile"
  }

  expect_failures = [terraform_data.profile]
}

run "goes_on_where_it_failed" {
  assert {
    condition     = output.fargate_profile_status == "ACTIVE"
    error_message = "The profile is not complete."
  }
}

run "drifts_as_the_world_says" {
  variables {
    world_file                  = "tests/worlds/drifted.json"
    earlier_fargate_profile_arn = run.goes_on_where_it_failed.fargate_profile_arn
  }

  assert {
    condition     = terraform_data.profile.output.drift == "somebody removed a tag"
    error_message = "The drift must show at the resource that the world names."
  }

  assert {
    condition     = output.fargate_profile_arn == var.earlier_fargate_profile_arn
    error_message = "Drift must be repaired in place."
  }
}
