variable "cluster_name" {
  description = "Name of the cluster."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, '-' or '_', and start with a letter or a digit."
  }
}

variable "kubernetes_version" {
  description = "Kubernetes version, such as 1.31."
  type        = string

  validation {
    condition     = can(regex("^1\\.[1-9][0-9]*$", var.kubernetes_version))
    error_message = "kubernetes_version must be a minor version without a patch, such as 1.31."
  }
}

variable "region" {
  description = "AWS region, in name only."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]+$", var.region))
    error_message = "region must look like an AWS region, such as eu-central-1."
  }
}

variable "vpc_id" {
  description = "The VPC to live in."
  type        = string

  validation {
    condition     = startswith(var.vpc_id, "vpc-")
    error_message = "vpc_id must be the identity of a VPC, such as vpc-0123456789abcdef0."
  }
}

variable "private_subnets" {
  description = "Private subnets, at least two."
  type        = list(string)

  validation {
    condition     = length(distinct(var.private_subnets)) >= 2
    error_message = "private_subnets must name at least two subnets, as EKS asks for two availability zones."
  }
}

variable "endpoint_public_access" {
  description = "Whether the API server is reached from the internet."
  type        = bool
  default     = true
}

variable "endpoint_private_access" {
  description = "Whether the API server is reached from inside the VPC."
  type        = bool
  default     = true
}

variable "public_access_cidrs" {
  description = "Who may use the public endpoint."
  type        = list(string)
  default     = ["0.0.0.0/0"]

  validation {
    condition     = alltrue([for block in var.public_access_cidrs : can(cidrhost(block, 0))])
    error_message = "public_access_cidrs must be address blocks in CIDR form, such as 203.0.113.0/24."
  }
}

variable "addons" {
  description = "EKS add-ons, with settings as JSON text."
  type = list(object({
    name                = string
    version             = optional(string)
    configurationValues = optional(string)
  }))
  default = []

  validation {
    condition     = length(distinct(var.addons[*].name)) == length(var.addons)
    error_message = "addons must name each add-on once."
  }
}

variable "tags" {
  description = "Tags of everything that is made."
  type        = map(string)
  default     = {}
}

variable "endpoint" {
  description = "URL of an API server that plays the cluster; one that nothing answers at if it is empty."
  type        = string
  default     = ""

  validation {
    condition     = var.endpoint == "" || can(regex("^https://[^/]+$", var.endpoint))
    error_message = "endpoint must be a URL without a path, such as https://127.0.0.1:6443."
  }
}

variable "certificate_authority_data" {
  description = "Certificate authority of that API server, as base64 of PEM; one that signed nothing if it is empty."
  type        = string
  default     = ""

  validation {
    condition     = can(base64decode(var.certificate_authority_data))
    error_message = "certificate_authority_data must be base64."
  }
}

variable "token" {
  description = "Bearer token for that API server; one that nobody honours if it is empty."
  type        = string
  default     = ""
  sensitive   = true
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
    condition     = contains(["", "cluster_role", "cluster", "oidc_provider", "addon"], var.fail_at)
    error_message = "fail_at must be empty or one of cluster_role, cluster, oidc_provider, addon."
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
