# The identities are known before anything is made, so each output waits for the resource that it speaks of.

output "vpc_id" {
  description = "Identity of the VPC."
  value       = local.vpc_id
  depends_on  = [terraform_data.vpc]
}

output "private_subnets" {
  description = "Identities of the private subnets, in the order of the zones."
  value       = local.private_subnet_ids
  depends_on  = [terraform_data.private_subnet, terraform_data.nat_gateway]
}

output "public_subnets" {
  description = "Identities of the public subnets, in the order of the zones."
  value       = local.public_subnet_ids
  depends_on  = [terraform_data.public_subnet]
}

output "availability_zones" {
  description = "The zones that the subnets are in."
  value       = local.zones
  depends_on  = [terraform_data.private_subnet, terraform_data.public_subnet]
}

output "vpc_config" {
  description = "The network as HCL text, for templates that read it as one value."
  value       = <<-TEXT
    vpc_id = ${jsonencode(local.vpc_id)}
    private_subnets = [${join(", ", [for id in local.private_subnet_ids : jsonencode(id)])}]
  TEXT
  depends_on  = [terraform_data.private_subnet, terraform_data.nat_gateway]
}
