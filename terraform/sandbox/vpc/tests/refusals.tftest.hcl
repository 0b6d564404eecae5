# What the module does not take.

variables {
  cluster_name = "demo"
  region       = "eu-central-1"
  vpc_name     = "demo-vpc"
  time_scale   = 0
}

run "a_name_with_a_dot" {
  command = plan

  variables {
    cluster_name = "demo.example"
  }

  expect_failures = [var.cluster_name]
}

run "a_region_of_nowhere" {
  command = plan

  variables {
    region = "Frankfurt"
  }

  expect_failures = [var.region]
}

run "too_few_addresses" {
  command = plan

  variables {
    vpc_cidr = "10.0.0.0/28"
  }

  expect_failures = [var.vpc_cidr]
}

run "a_zone_twice" {
  command = plan

  variables {
    availability_zones = ["eu-central-1a", "eu-central-1a"]
  }

  expect_failures = [var.availability_zones]
}

run "a_failure_nowhere" {
  command = plan

  variables {
    fail_at = "route_table"
  }

  expect_failures = [var.fail_at]
}

run "a_failure_at_no_time" {
  command = plan

  variables {
    fail_during = "lunch"
  }

  expect_failures = [var.fail_during]
}
