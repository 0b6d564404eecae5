# An EKS cluster that exists in Terraform's state only. It takes the variables and gives the outputs of the AWS module.
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
  # An identity changes with whatever replaces the cluster, as it would in AWS.
  identity   = upper(substr(sha256("eks/${var.region}/${var.cluster_name}/${var.vpc_id}"), 0, 32))
  oidc_host  = "oidc.eks.${var.region}.sandbox.invalid"
  account_id = "000000000000"

  # The domain is one that never resolves. It must not look like one of AWS, whose endpoints get AWS credentials.
  endpoint = var.endpoint != "" ? var.endpoint : "https://${local.identity}.gr7.${var.region}.eks.sandbox.invalid"
  token    = var.token != "" ? var.token : "sandbox-${substr(sha256("token/${local.identity}"), 0, 16)}"

  # A certificate whose key is gone, for programs that parse what they are given before they use it.
  certificate_authority_data = var.certificate_authority_data != "" ? var.certificate_authority_data : base64encode(<<-PEM
    -----BEGIN CERTIFICATE-----
    MIIBlTCCATugAwIBAgIUYbl4UtOJZZ7ZKxXdHR2vqdPgbi4wCgYIKoZIzj0EAwIw
    FzEVMBMGA1UEAwwMY2FwdCBzYW5kYm94MCAXDTI2MTExNTE4MDA0MVoYDzIxMjYx
    MDIyMTgwMDQxWjAXMRUwEwYDVQQDDAxjYXB0IHNhbmRib3gwWTATBgcqhkjOPQIB
    BggqhkjOPQMBBwNCAARorJ5F28jS5/Ag4Ls3Rsy7Rj7sDbmx2ZfOTwCJZ9wqPGzD
    T5yp+rRCasoZLKtM2MW6L3NwsE4yb/JyeqJZdQa5o2MwYTAdBgNVHQ4EFgQUlA6I
    HerRlhOEezEYs7jBI7Xo9XQwHwYDVR0jBBgwFoAUlA6IHerRlhOEezEYs7jBI7Xo
    9XQwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAgQwCgYIKoZIzj0EAwID
    SAAwRQIgJUU/cqWVRhUJauCFp3KOly+CcXdyrdH93C11nNhYlmkCIQD53Tm3uztJ
    4YQ8JdgZZw5tLujkSDU5zh+PNUYE3hZPew==
    -----END CERTIFICATE-----
  PEM
  )

  world       = jsondecode(var.world_file == "" ? "{}" : file(var.world_file))
  fail_at     = try(local.world.fail_at, var.fail_at)
  fail_during = try(local.world.fail_during, var.fail_during)
}

resource "terraform_data" "cluster_role" {
  triggers_replace = [local.identity]

  input = {
    id   = "arn:aws:iam::${local.account_id}:role/${var.cluster_name}-cluster"
    tags = var.tags

    drift            = try(local.world.drift.cluster_role, "")
    destroy_seconds  = format("%.2f", 1 * var.time_scale)
    refuses_deletion = var.fail_at == "cluster_role" && var.fail_during == "destroy"
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
      jsondecode(file(self.input.world_file)).fail_at == "cluster_role" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that cluster_role refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "cluster_role" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at cluster_role during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "cluster_role" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at cluster_role during apply."
    }
  }
}

resource "terraform_data" "cluster" {
  triggers_replace = [local.identity, terraform_data.cluster_role.id]

  input = {
    id                  = "arn:aws:eks:${var.region}:${local.account_id}:cluster/${var.cluster_name}"
    name                = var.cluster_name
    version             = var.kubernetes_version
    endpoint            = local.endpoint
    vpc                 = var.vpc_id
    subnets             = var.private_subnets
    public_access       = var.endpoint_public_access
    private_access      = var.endpoint_private_access
    public_access_cidrs = var.public_access_cidrs
    tags                = var.tags

    drift            = try(local.world.drift.cluster, "")
    destroy_seconds  = format("%.2f", 180 * var.time_scale)
    refuses_deletion = var.fail_at == "cluster" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 540 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "cluster" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that cluster refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "cluster" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at cluster during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "cluster" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at cluster during apply."
    }
  }
}

resource "terraform_data" "oidc_provider" {
  triggers_replace = [terraform_data.cluster.id]

  input = {
    id   = "arn:aws:iam::${local.account_id}:oidc-provider/${local.oidc_host}/id/${local.identity}"
    tags = var.tags

    drift            = try(local.world.drift.oidc_provider, "")
    destroy_seconds  = format("%.2f", 1 * var.time_scale)
    refuses_deletion = var.fail_at == "oidc_provider" && var.fail_during == "destroy"
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
      jsondecode(file(self.input.world_file)).fail_at == "oidc_provider" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that oidc_provider refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "oidc_provider" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at oidc_provider during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "oidc_provider" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at oidc_provider during apply."
    }
  }
}

resource "terraform_data" "addon" {
  for_each         = { for addon in var.addons : addon.name => addon }
  triggers_replace = [terraform_data.cluster.id]

  input = {
    id            = "arn:aws:eks:${var.region}:${local.account_id}:addon/${var.cluster_name}/${each.key}"
    version       = each.value.version
    configuration = each.value.configurationValues
    tags          = var.tags

    drift            = try(local.world.drift.addon, "")
    destroy_seconds  = format("%.2f", 20 * var.time_scale)
    refuses_deletion = var.fail_at == "addon" && var.fail_during == "destroy"
    world_file       = var.world_file
  }

  provisioner "local-exec" {
    interpreter = ["sleep"]
    command     = format("%.2f", 40 * var.time_scale)
    on_failure  = continue
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["sleep"]
    command = try(
      jsondecode(file(self.input.world_file)).fail_at == "addon" && jsondecode(file(self.input.world_file)).fail_during == "destroy",
      self.input.refuses_deletion,
    ) ? file("the sandbox was told that addon refuses to be deleted") : self.input.destroy_seconds
    on_failure = continue
  }

  lifecycle {
    precondition {
      condition     = !(local.fail_at == "addon" && local.fail_during == "plan")
      error_message = "The sandbox was told to fail at addon during plan."
    }

    postcondition {
      condition     = !(self.output.id != "" && local.fail_at == "addon" && local.fail_during == "apply")
      error_message = "The sandbox was told to fail at addon during apply."
    }
  }
}
