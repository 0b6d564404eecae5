//! Signatures as AWS wants them, version 4: over what is asked, by whom, when and where.
//!
//! This module must never know what is asked for.

use k8s_openapi::jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};

use super::credentials::Credentials;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// What AWS leaves as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// When and where a signature is valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) at: Timestamp,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

impl Scope<'_> {
    /// The time, as it is written everywhere in a request.
    pub(super) fn time(&self) -> String {
        self.at.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    fn date(&self) -> String {
        self.at.strftime("%Y%m%d").to_string()
    }

    /// The scope itself, as it is written everywhere in a request.
    pub(super) fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date(), self.region, self.service)
    }
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    /// The path, as it is sent.
    pub(super) path: &'a str,
    /// The query, as [`query`] writes it.
    pub(super) query: &'a str,
    /// Names of headers in small letters, in their order, with their values.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

impl Asked<'_> {
    /// The names of the headers, as they are written everywhere in a request.
    pub(super) fn signed_headers(&self) -> String {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        names.join(";")
    }

    fn canonical(&self) -> String {
        let headers: String = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect();
        format!(
            "{}\n{}\n{}\n{headers}\n{}\n{}",
            self.method,
            self.path,
            self.query,
            self.signed_headers(),
            hex(digest::digest(&digest::SHA256, self.body).as_ref())
        )
    }
}

/// A query as it is signed and sent: encoded, in the order of its names.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let mut encoded: Vec<(String, String)> = pairs
        .iter()
        .map(|(name, value)| (encode(name), encode(value)))
        .collect();
    encoded.sort();
    let encoded: Vec<String> = encoded
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    encoded.join("&")
}

/// The signature of what is asked.
pub(super) fn signature(credentials: &Credentials, scope: Scope<'_>, asked: &Asked<'_>) -> String {
    let canonical = digest::digest(&digest::SHA256, asked.canonical().as_bytes());
    let to_sign = format!(
        "{ALGORITHM}\n{}\n{}\n{}",
        scope.time(),
        scope.text(),
        hex(canonical.as_ref())
    );
    hex(mac(&key(credentials, scope), to_sign.as_bytes()).as_ref())
}

fn key(credentials: &Credentials, scope: Scope<'_>) -> Vec<u8> {
    let secret = format!("AWS4{}", credentials.secret_key.reveal()).into_bytes();
    let (date, parts) = (scope.date(), [scope.region, scope.service, "aws4_request"]);
    let first = mac(&secret, date.as_bytes());
    parts
        .into_iter()
        .fold(first, |key, part| mac(key.as_ref(), part.as_bytes()))
        .as_ref()
        .to_vec()
}

fn mac(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials::fixed("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None)
    }

    fn scope(service: &str) -> Scope<'_> {
        Scope {
            at: "2015-08-30T12:36:00Z".parse().unwrap(),
            region: "us-east-1",
            service,
        }
    }

    /// From AWS's page on deriving a signing key.
    #[test]
    fn the_key_is_derived_as_aws_does() {
        assert_eq!(
            hex(&key(&credentials(), scope("iam"))),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
        );
    }

    /// From AWS's published test suite for signatures of version 4, and its worked example.
    #[test]
    fn signatures_are_those_that_aws_publishes() {
        let plain: [(&str, &str); 2] = [
            ("host", "example.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
        ];
        let listing = [
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("host", "iam.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
        ];
        let list_users = query(&[("Version", "2010-05-08"), ("Action", "ListUsers")]);
        let unordered = query(&[("Param2", "value2"), ("Param1", "value1")]);
        for (name, service, method, query, headers, expected) in [
            (
                "get-vanilla",
                "service",
                "GET",
                "",
                &plain[..],
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "post-vanilla",
                "service",
                "POST",
                "",
                &plain[..],
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                "get-vanilla-query-order-key-case",
                "service",
                "GET",
                &unordered,
                &plain[..],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "the worked example",
                "iam",
                "GET",
                &list_users,
                &listing[..],
                "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
            ),
        ] {
            let asked = Asked {
                method,
                path: "/",
                query,
                headers,
                body: b"",
            };
            assert_eq!(
                signature(&credentials(), scope(service), &asked),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_query_is_encoded_as_aws_does() {
        assert_eq!(
            query(&[("b", "a/b+c d~"), ("a", "ü=&")]),
            "a=%C3%BC%3D%26&b=a%2Fb%2Bc%20d~"
        );
    }
}
