# What the module does not take.

variables {
  cluster_name       = "demo"
  kubernetes_version = "1.31"
  region             = "eu-central-1"
  vpc_id             = "vpc-0123456789abcdef0"
  private_subnets    = ["subnet-0a", "subnet-0b"]
  time_scale         = 0
}

run "a_name_with_a_dot" {
  command = plan

  variables {
    cluster_name = "demo.example"
  }

  expect_failures = [var.cluster_name]
}

run "a_version_with_a_patch" {
  command = plan

  variables {
    kubernetes_version = "1.31.2"
  }

  expect_failures = [var.kubernetes_version]
}

run "a_network_that_is_none" {
  command = plan

  variables {
    vpc_id = "subnet-0a"
  }

  expect_failures = [var.vpc_id]
}

run "a_single_subnet" {
  command = plan

  variables {
    private_subnets = ["subnet-0a", "subnet-0a"]
  }

  expect_failures = [var.private_subnets]
}

run "an_address_without_a_block" {
  command = plan

  variables {
    public_access_cidrs = ["203.0.113.7"]
  }

  expect_failures = [var.public_access_cidrs]
}

run "an_addon_twice" {
  command = plan

  variables {
    addons = [{ name = "coredns" }, { name = "coredns" }]
  }

  expect_failures = [var.addons]
}

run "an_endpoint_without_a_scheme" {
  command = plan

  variables {
    endpoint = "127.0.0.1:6443"
  }

  expect_failures = [var.endpoint]
}

run "an_authority_in_plain_text" {
  command = plan

  variables {
    certificate_authority_data = "-----BEGIN CERTIFICATE-----"
  }

  expect_failures = [var.certificate_authority_data]
}

run "a_failure_nowhere" {
  command = plan

  variables {
    fail_at = "node_group"
  }

  expect_failures = [var.fail_at]
}
