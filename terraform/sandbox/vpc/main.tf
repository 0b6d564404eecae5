# A network that exists in Terraform's state only. It takes the variables and gives the outputs of the AWS module.
#
# Every resource is built in the same way:
# - It waits by running `sleep` itself, with no shell between. Where there is no such program it goes on without waiting.
# - What is asked of it before it is made (precondition) fails during plan. What is asked of its output (postcondition)
#   fails during apply, since the output is not known before the resource is made or changed.
# - Deletion can only be refused by an expression that has no value, hence the file of that peculiar name. It sees
#   nothing but the resource itself, so the resource remembers what deletion has to know.

terraform {
  required_version = ">= 1.5"
}

locals {
  zones = length(var.availability_zones) > 0 ? var.availability_zones : [for letter in ["a", "b", "c"] : "${var.region}${letter}"]

  # An identity changes with whatever replaces the resource, as it would in AWS.
  identity = "${var.region}/${var.cluster_name}/${var.vpc_cidr}"
  vpc_id   = "vpc-${substr(sha256("vpc/${local.identity}"), 0, 17)}"
  nat_id   = "nat-${substr(sha256("nat/${local.identity}"), 0, 17)}"

  # Sixteen blocks: the lower eight for private subnets, the upper eight for public ones.
  private_subnets = { for index, zone in local.zones : zone => {
    id   = "subnet-${substr(sha256("private/${local.identity}/${zone}"), 0, 17)}"
    cidr = cidrsubnet(var.vpc_cidr, 4, index)
  } }
  public_subnets = { for index, zone in local.zones : zone => {
    id   = "subnet-${substr(sha256("public/${local.identity}/${zone}"), 0, 17)}"
    cidr = cidrsubnet(var.vpc_cidr, 4, index + 8)
  } }
  private_subnet_ids = tolist([for zone in local.zones : local.private_subnets[zone].id])
  public_subnet_ids  = tolist([for zone in local.zones : local.public_subnets[zone].id])

  world       = jsondecode(var.world_file == "" ? "{}" : file(var.world_file))
  fail_at     = try(local.world.fail_at, var.fail_at)
  fail_during = try(local.world.fail_during, var.fail_during)
}

resource "terraform_data" "vpc" {
  triggers_replace = [local.identity]

  input = {
    id   = local.vpc_id
    name = var.vpc_name
    cidr = var.vpc_cidr
    tags = var.tags

    drift            = try(local.world.drift.vpc, "")
    destroy_seconds  = format("%.2f", 2 * var.time_scale)
    refuses_deletion = var.fail_at == "vpc" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 12 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "vpc" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that vpc refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "vpc" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at vpc during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "vpc" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at vpc during apply."
    }
  }
}

resource "terraform_data" "private_subnet" {
  for_each         = local.private_subnets
  triggers_replace = [terraform_data.vpc.id, each.value.cidr]

  input = {
    id   = each.value.id
    cidr = each.value.cidr
    zone = each.key
    tags = var.tags

    drift            = try(local.world.drift.private_subnet, "")
    destroy_seconds  = format("%.2f", 5 * var.time_scale)
    refuses_deletion = var.fail_at == "private_subnet" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 11 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "private_subnet" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that private_subnet refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "private_subnet" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at private_subnet during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "private_subnet" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at private_subnet during apply."
    }
  }
}

resource "terraform_data" "public_subnet" {
  for_each         = local.public_subnets
  triggers_replace = [terraform_data.vpc.id, each.value.cidr]

  input = {
    id   = each.value.id
    cidr = each.value.cidr
    zone = each.key
    tags = var.tags

    drift            = try(local.world.drift.public_subnet, "")
    destroy_seconds  = format("%.2f", 5 * var.time_scale)
    refuses_deletion = var.fail_at == "public_subnet" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 11 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "public_subnet" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that public_subnet refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "public_subnet" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at public_subnet during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "public_subnet" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at public_subnet during apply."
    }
  }
}

resource "terraform_data" "nat_gateway" {
  triggers_replace = [terraform_data.public_subnet[local.zones[0]].id]

  input = {
    id   = local.nat_id
    tags = var.tags

    drift            = try(local.world.drift.nat_gateway, "")
    destroy_seconds  = format("%.2f", 60 * var.time_scale)
    refuses_deletion = var.fail_at == "nat_gateway" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 120 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "nat_gateway" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that nat_gateway refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "nat_gateway" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at nat_gateway during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "nat_gateway" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at nat_gateway during apply."
    }
  }
}
