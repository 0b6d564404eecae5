variable "cluster_name" {
  description = "Name of the cluster that the network is for."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be 1 to 100 letters, digits, '-' or '_', and start with a letter or a digit."
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

variable "vpc_name" {
  description = "Name of the VPC."
  type        = string

  validation {
    condition     = length(var.vpc_name) > 0 && length(var.vpc_name) <= 255
    error_message = "vpc_name must have 1 to 255 characters."
  }
}

variable "vpc_cidr" {
  description = "IPv4 addresses of the VPC."
  type        = string
  default     = "10.0.0.0/16"

  validation {
    condition     = can(cidrnetmask(var.vpc_cidr)) && can(regex("/(1[6-9]|2[0-4])$", var.vpc_cidr))
    error_message = "vpc_cidr must be an IPv4 block between /16 and /24, such as 10.0.0.0/16."
  }
}

variable "availability_zones" {
  description = "Availability zones, one private and one public subnet in each; three of the region if it is empty."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.availability_zones) <= 8 && length(distinct(var.availability_zones)) == length(var.availability_zones)
    error_message = "availability_zones must name at most eight zones, each once."
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
    condition     = contains(["", "vpc", "private_subnet", "public_subnet", "nat_gateway"], var.fail_at)
    error_message = "fail_at must be empty or one of vpc, private_subnet, public_subnet, nat_gateway."
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
