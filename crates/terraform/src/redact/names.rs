//! What names tell of values.

/// Whether what is called this is likely to be secret.
#[must_use]
pub fn is_telling(name: &str) -> bool {
    const TELLING: [&str; 9] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "private_key",
        "api_key",
        "access_key",
        "credential",
    ];
    /// Ends of names of what only points to a secret.
    const POINTING: [&str; 8] = [
        "_id", "_name", "_arn", "_suffix", "_path", "_file", "_ref", "_version",
    ];
    let name = name.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|word| name.contains(word)) && !POINTING.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_tell_and_those_of_what_points_to_one_do_not() {
        for name in [
            "db_password",
            "API-TOKEN",
            "client_secret",
            "private_key",
            "aws_secret_access_key",
        ] {
            assert!(is_telling(name), "{name}");
        }
        for name in [
            "",
            "region",
            "token_name",
            "secret_arn",
            "aws_access_key_id",
            "password_file",
            "key",
        ] {
            assert!(!is_telling(name), "{name}");
        }
    }
}
