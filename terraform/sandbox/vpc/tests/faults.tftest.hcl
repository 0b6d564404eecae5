# Failures and drift on demand.

variables {
  cluster_name = "demo"
  region       = "eu-central-1"
  vpc_name     = "demo-vpc"
  time_scale   = 0
}

run "fails_during_plan" {
  command = plan

  variables {
    fail_at     = "nat_gateway"
    fail_during = "plan"
  }

  expect_failures = [terraform_data.nat_gateway]
}

run "fails_during_apply" {
  variables {
    fail_at = "nat_gateway"
  }

  expect_failures = [terraform_data.nat_gateway]
}

run "goes_on_where_it_failed" {
  assert {
    condition     = length(output.private_subnets) == 3
    error_message = "The network is not complete."
  }
}

run "drifts_as_the_world_says" {
  variables {
    world_file     = "tests/worlds/drifted.json"
    earlier_vpc_id = run.goes_on_where_it_failed.vpc_id
  }

  assert {
    condition     = terraform_data.vpc.output.drift == "somebody changed the DNS settings" && terraform_data.nat_gateway.output.drift == ""
    error_message = "The drift must show at the resource that the world names, and only there."
  }

  assert {
    condition     = output.vpc_id == var.earlier_vpc_id
    error_message = "Drift must be repaired in place."
  }
}

run "fails_as_the_world_says" {
  command = plan

  variables {
    world_file = "tests/worlds/failing.json"
  }

  expect_failures = [terraform_data.private_subnet]
}

run "takes_its_time" {
  variables {
    time_scale = 0.001
  }

  assert {
    condition     = terraform_data.nat_gateway.output.destroy_seconds == "0.06"
    error_message = "The delay must be the share of a minute that was asked for."
  }
}
