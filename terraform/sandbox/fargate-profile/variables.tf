variable "cluster_name" {
  description = "Name of the cluster."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, '-' or '_', and start with a letter or a digit."
  }
}

variable "profile_name" {
  description = "Name of the profile."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.profile_name))
    error_message = "profile_name must be 1 to 100 letters, digits, '-' or '_', and start with a letter or a digit."
  }
}

variable "selectors" {
  description = "Which pods run on Fargate: by namespace, and by labels if there are any."
  type = list(object({
    namespace = string
    labels    = optional(map(string), {})
  }))

  validation {
    condition     = length(var.selectors) >= 1 && length(var.selectors) <= 5
    error_message = "selectors must have one to five entries, as EKS asks."
  }
}

variable "private_subnets" {
  description = "Private subnets that the pods run in."
  type        = list(string)

  validation {
    condition     = length(var.private_subnets) >= 1
    error_message = "private_subnets must name at least one subnet."
  }
}

variable "pod_execution_role_arn" {
  description = "The role that pods are run with; one is made if it is empty."
  type        = string
  default     = ""

  validation {
    condition     = var.pod_execution_role_arn == "" || can(regex("^arn:[^:]+:iam::[0-9]{12}:role/.+$", var.pod_execution_role_arn))
    error_message = "pod_execution_role_arn must be the ARN of an IAM role."
  }
}

variable "tags" {
  description = "Tags of everything that is made."
  type        = map(string)
  default     = {}
}

variable "time_scale" {
  description = "How long creating and deleting takes, as a share of what AWS takes: 1 is as slow as AWS, 0 does not wait."
  type        = number
  default     = 0.01

  validation {
    condition     = var.time_scale >= 0 && var.time_scale <= 10
    error_message = "time_scale must be between 0 and 10."
  }
}

variable "fail_at" {
  description = "The resource that fails, by name; none if it is empty."
  type        = string
  default     = ""

  validation {
    condition     = contains(["", "pod_execution_role", "profile"], var.fail_at)
    error_message = "fail_at must be empty or one of pod_execution_role, profile."
  }
}

variable "fail_during" {
  description = "When the resource in fail_at fails: plan, apply or destroy."
  type        = string
  default     = "apply"

  validation {
    condition     = contains(["plan", "apply", "destroy"], var.fail_during)
    error_message = "fail_during must be plan, apply or destroy."
  }
}

variable "world_file" {
  description = "A JSON file that plays the outside world: it makes resources drift or fail without a change of the variables. None if it is empty."
  type        = string
  default     = ""
}
