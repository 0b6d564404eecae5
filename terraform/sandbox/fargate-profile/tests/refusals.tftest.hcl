# What the module does not take.

variables {
  cluster_name    = "demo"
  profile_name    = "monitoring"
  selectors       = [{ namespace = "monitoring" }]
  private_subnets = ["subnet-0a", "subnet-0b"]
  time_scale      = 0
}

run "a_name_with_a_dot" {
  command = plan

  variables {
    profile_name = "moni.toring"
  }

  expect_failures = [var.profile_name]
}

run "no_selector" {
  command = plan

  variables {
    selectors = []
  }

  expect_failures = [var.selectors]
}

run "no_subnet" {
  command = plan

  variables {
    private_subnets = []
  }

  expect_failures = [var.private_subnets]
}

run "a_role_by_name" {
  command = plan

  variables {
    pod_execution_role_arn = "pods"
  }

  expect_failures = [var.pod_execution_role_arn]
}

run "a_failure_nowhere" {
  command = plan

  variables {
    fail_at = "cluster"
  }

  expect_failures = [var.fail_at]
}
