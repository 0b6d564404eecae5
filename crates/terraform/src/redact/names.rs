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
