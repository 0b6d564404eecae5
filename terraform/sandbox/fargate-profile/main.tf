# A Fargate profile that exists in Terraform's state only. It takes the variables and gives the outputs of the AWS module.
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
  account_id = "000000000000"
  own_role   = var.pod_execution_role_arn == ""
  role_arn   = local.own_role ? "arn:aws:iam::${local.account_id}:role/${var.cluster_name}-${var.profile_name}-fargate" : var.pod_execution_role_arn

  # EKS cannot change a profile other than its tags, so everything else makes a new one with a new identity.
  shape       = jsonencode([var.cluster_name, var.profile_name, var.selectors, var.private_subnets, local.role_arn])
  profile_arn = "arn:aws:eks:sandbox:${local.account_id}:fargateprofile/${var.cluster_name}/${var.profile_name}/${substr(sha256(local.shape), 0, 32)}"

  world       = jsondecode(var.world_file == "" ? "{}" : file(var.world_file))
  fail_at     = try(local.world.fail_at, var.fail_at)
  fail_during = try(local.world.fail_during, var.fail_during)
}

resource "terraform_data" "pod_execution_role" {
  count            = local.own_role ? 1 : 0
  triggers_replace = [local.role_arn]

  input = {
    id   = local.role_arn
    tags = var.tags

    drift            = try(local.world.drift.pod_execution_role, "")
    destroy_seconds  = format("%.2f", 1 * var.time_scale)
    refuses_deletion = var.fail_at == "pod_execution_role" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 2 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "pod_execution_role" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that pod_execution_role refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "pod_execution_role" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at pod_execution_role during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "pod_execution_role" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at pod_execution_role during apply."
    }
  }
}

resource "terraform_data" "profile" {
  triggers_replace = [local.shape, terraform_data.pod_execution_role[*].id]

  input = {
    id        = local.profile_arn
    status    = "ACTIVE"
    role      = local.role_arn
    selectors = var.selectors
    subnets   = var.private_subnets
    tags      = var.tags

    drift            = try(local.world.drift.profile, "")
    destroy_seconds  = format("%.2f", 180 * var.time_scale)
    refuses_deletion = var.fail_at == "profile" && var.fail_during == "destroy"
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
      jsondecode(file(self.input.world_file)).fail_at == "profile" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that profile refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "profile" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at profile during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "profile" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at profile during apply."
    }
  }
}
