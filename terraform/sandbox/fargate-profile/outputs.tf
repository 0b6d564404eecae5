output "fargate_profile_arn" {
  description = "Identity of the profile."
  value       = local.profile_arn
  depends_on  = [terraform_data.profile]
}

output "fargate_profile_status" {
  description = "What EKS says about the profile."
  value       = terraform_data.profile.output.status
}
