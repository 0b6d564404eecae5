//! What Terraform text says about the provider of AWS: whose credentials it uses. A token must be of the same identity,
//! because EKS at first lets in only whoever made a cluster.

use hcl_edit::{
    expr::Expression,
    structure::{Block, Body},
};

/// Whose credentials a provider of AWS uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsProvider {
    /// The profile in the file with credentials.
    pub profile: Option<String>,
    /// The role that it takes on.
    pub role: Option<AwsRole>,
}

/// A role that a provider of AWS takes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsRole {
    /// Its ARN.
    pub arn: String,
    /// The name of the session.
    pub session_name: Option<String>,
    /// The external id.
    pub external_id: Option<String>,
}

/// Reads the provider of AWS that has no alias, if there is one. What is no plain text is left out.
#[must_use]
pub fn aws(text: &str) -> Option<AwsProvider> {
    let body: Body = text.parse().ok()?;
    let block = body.get_blocks("provider").find(|block| {
        let is_aws = block.labels.first().is_some_and(|label| label.as_str() == "aws");
        is_aws && !block.body.has_attribute("alias")
    })?;
    let role = block.body.get_blocks("assume_role").next();
    Some(AwsProvider {
        profile: value(block, "profile"),
        role: role.and_then(|role| {
            Some(AwsRole {
                arn: value(role, "role_arn")?,
                session_name: value(role, "session_name"),
                external_id: value(role, "external_id"),
            })
        }),
    })
}

fn value(block: &Block, name: &str) -> Option<String> {
    match &block.body.get_attribute(name)?.value {
        Expression::String(text) => Some(text.as_str().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_without_an_alias_says_whose_credentials_count() {
        let text = r#"
            provider "aws" {
              alias   = "dns"
              profile = "other"
            }
            provider "aws" {
              region                   = "eu-central-1"
              shared_credentials_files = ["${path.module}/aws-creds.ini"]
              profile                  = "blue"
              assume_role {
                role_arn    = "arn:aws:iam::1:role/admin"
                external_id = "e1"
              }
            }
        "#;
        let expected = AwsProvider {
            profile: Some("blue".to_owned()),
            role: Some(AwsRole {
                arn: "arn:aws:iam::1:role/admin".to_owned(),
                session_name: None,
                external_id: Some("e1".to_owned()),
            }),
        };
        assert_eq!(aws(text), Some(expected));
    }

    #[test]
    fn what_is_not_said_plainly_is_left_out() {
        assert_eq!(
            aws("provider \"aws\" {\n  profile = var.profile\n}\n"),
            Some(AwsProvider::default())
        );
        assert_eq!(aws("provider \"google\" {}\n"), None);
        assert_eq!(aws("provider {{{"), None);
        assert_eq!(aws(""), None);
    }
}
