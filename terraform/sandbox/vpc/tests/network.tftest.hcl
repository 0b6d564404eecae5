# The contract: what templates and controllers read, and when it changes.

variables {
  cluster_name = "demo"
  region       = "eu-central-1"
  vpc_name     = "demo-vpc"
  time_scale   = 0
}

run "made_from_names_alone" {
  assert {
    condition     = output.vpc_id == "vpc-${substr(sha256("vpc/eu-central-1/demo/10.0.0.0/16"), 0, 17)}"
    error_message = "The identity of the VPC does not follow from its names."
  }

  assert {
    condition     = output.availability_zones == tolist(["eu-central-1a", "eu-central-1b", "eu-central-1c"])
    error_message = "No zones asked for must mean three of the region."
  }

  assert {
    condition     = length(distinct(concat(output.private_subnets, output.public_subnets))) == 6
    error_message = "Each zone must have a private and a public subnet of its own."
  }

  assert {
    condition     = alltrue([for id in concat(output.private_subnets, output.public_subnets) : can(regex("^subnet-[0-9a-f]{17}$", id))])
    error_message = "A subnet's identity must look like one of AWS."
  }

  assert {
    condition = output.vpc_config == join("\n", [
      "vpc_id = \"${output.vpc_id}\"",
      "private_subnets = [\"${join("\", \"", output.private_subnets)}\"]",
      "",
    ])
    error_message = "vpc_config must be the network as HCL text."
  }
}

run "renamed_and_tagged_in_place" {
  variables {
    vpc_name                = "another-name"
    tags                    = { team = "platform" }
    earlier_private_subnets = run.made_from_names_alone.private_subnets
    earlier_vpc_id          = run.made_from_names_alone.vpc_id
  }

  assert {
    condition     = output.vpc_id == var.earlier_vpc_id && output.private_subnets == var.earlier_private_subnets
    error_message = "A name and tags must not make another VPC."
  }

  assert {
    condition     = terraform_data.vpc.output.name == "another-name" && terraform_data.vpc.output.tags["team"] == "platform"
    error_message = "The change did not arrive."
  }
}

run "replaced_by_other_addresses" {
  variables {
    vpc_cidr           = "10.8.0.0/20"
    availability_zones = ["eu-central-1b", "eu-central-1a"]
    earlier_vpc_id     = run.renamed_and_tagged_in_place.vpc_id
  }

  assert {
    condition     = output.vpc_id != var.earlier_vpc_id
    error_message = "Other addresses must make another VPC."
  }

  assert {
    condition     = strcontains(terraform_data.vpc.triggers_replace[0], "10.8.0.0/20") && terraform_data.private_subnet["eu-central-1b"].triggers_replace[0] == terraform_data.vpc.id
    error_message = "The addresses must be among what replaces the VPC, and the VPC what replaces its subnets."
  }

  assert {
    condition     = output.availability_zones == tolist(["eu-central-1b", "eu-central-1a"]) && length(output.private_subnets) == 2
    error_message = "The zones must be those that were asked for, in their order."
  }

  assert {
    condition     = terraform_data.private_subnet["eu-central-1b"].output.cidr == "10.8.0.0/24" && terraform_data.public_subnet["eu-central-1b"].output.cidr == "10.8.8.0/24"
    error_message = "The subnets must share the VPC's addresses."
  }
}
