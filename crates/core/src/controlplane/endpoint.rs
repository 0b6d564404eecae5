//! Where an API server answers, read from any spelling of it.

use std::net::{Ipv4Addr, Ipv6Addr};

use capt_api::endpoint::ApiEndpoint;

/// The port of an address that names none.
const DEFAULT_PORT: i32 = 443;

/// Why something is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointProblem {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It says how to speak, and that is not TLS.
    #[error("API servers are reached by https, not by {0}")]
    Scheme(String),
    /// It has a space in it.
    #[error("it has a space in it")]
    Space,
    /// It has more than host and port.
    #[error("it has a path, a query or a user in it, where only a host and a port may be")]
    MoreThanHost,
    /// The host is neither a name nor an address.
    #[error("{0} is neither a host name nor an IP address")]
    Host(String),
    /// The port is not one.
    #[error("{0} is no port: write a number from 1 to 65535")]
    Port(String),
}

/// Reads `https://host`, `host`, `host:port`, `https://host:port/`, with host names and IP addresses of both kinds.
///
/// # Errors
///
/// It is none of these.
pub fn parse(text: &str) -> Result<ApiEndpoint, EndpointProblem> {
    let text = text.trim();
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
        Some((scheme, _)) => return Err(EndpointProblem::Scheme(scheme.to_owned())),
        None => text,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return Err(EndpointProblem::Empty);
    }
    if rest.contains(char::is_whitespace) {
        return Err(EndpointProblem::Space);
    }
    if rest.contains(['/', '?', '#', '@']) {
        return Err(EndpointProblem::MoreThanHost);
    }
    let (host, port) = split(rest)?;
    if !is_host(host) {
        return Err(EndpointProblem::Host(host.to_owned()));
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => parse_port(port).ok_or_else(|| EndpointProblem::Port(port.to_owned()))?,
    };
    Ok(ApiEndpoint {
        host: host.to_owned(),
        port,
    })
}

/// As people read it: `host:port`, with brackets around what has colons itself.
#[must_use]
pub fn display(endpoint: &ApiEndpoint) -> String {
    if endpoint.host.contains(':') {
        format!("[{}]:{}", endpoint.host, endpoint.port)
    } else {
        format!("{}:{}", endpoint.host, endpoint.port)
    }
}

/// Whether two are the same place.
#[must_use]
pub fn is_same(one: &ApiEndpoint, other: &ApiEndpoint) -> bool {
    one.port == other.port && one.host.eq_ignore_ascii_case(&other.host)
}

/// An endpoint that was stored before, read as it was meant: the Go implementation stored a URL as the host.
#[must_use]
pub fn stored(endpoint: &ApiEndpoint) -> Option<ApiEndpoint> {
    let parsed = parse(&endpoint.host).ok()?;
    let port = if parsed.port == DEFAULT_PORT {
        endpoint.port
    } else {
        parsed.port
    };
    Some(ApiEndpoint {
        host: parsed.host,
        port,
    })
}

fn split(text: &str) -> Result<(&str, Option<&str>), EndpointProblem> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner
            .split_once(']')
            .ok_or_else(|| EndpointProblem::Host(text.to_owned()))?;
        return match rest {
            "" => Ok((host, None)),
            rest => match rest.strip_prefix(':') {
                Some(port) => Ok((host, Some(port))),
                None => Err(EndpointProblem::Host(text.to_owned())),
            },
        };
    }
    // More than one colon is an address of its own, without a port.
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => Ok((host, Some(port))),
        _ => Ok((text, None)),
    }
}

fn parse_port(text: &str) -> Option<i32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = is_number.then(|| text.parse::<u16>().ok()).flatten()?;
    (port > 0).then_some(i32::from(port))
}

fn is_host(host: &str) -> bool {
    if host.contains(':') {
        return host.parse::<Ipv6Addr>().is_ok();
    }
    let looks_numeric = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if looks_numeric {
        return host.parse::<Ipv4Addr>().is_ok();
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(host: &str, port: i32) -> ApiEndpoint {
        ApiEndpoint {
            host: host.to_owned(),
            port,
        }
    }

    #[test]
    fn every_spelling_of_an_endpoint_is_read_as_host_and_port() {
        let eks = "0A1B.gr7.eu-central-1.eks.amazonaws.com";
        for (text, host, port) in [
            (format!("https://{eks}"), eks, 443),
            (format!("https://{eks}/"), eks, 443),
            (format!("HTTPS://{eks}:443"), eks, 443),
            (eks.to_owned(), eks, 443),
            (format!("  {eks}:6443\n"), eks, 6443),
            ("127.0.0.1:6443".to_owned(), "127.0.0.1", 6443),
            ("https://[::1]:6443".to_owned(), "::1", 6443),
            ("[::1]".to_owned(), "::1", 443),
            ("fd00::7".to_owned(), "fd00::7", 443),
            ("localhost:65535".to_owned(), "localhost", 65535),
        ] {
            assert_eq!(parse(&text), Ok(endpoint(host, port)), "{text}");
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused_with_the_reason() {
        for (text, words) in [
            ("", "empty"),
            ("https://", "empty"),
            ("http://host", "https, not by http"),
            ("tcp://host:1", "https, not by tcp"),
            ("https://host/api", "a path"),
            ("user@host", "a user"),
            ("https://host?x=1", "a query"),
            ("ho st", "a space"),
            ("https://exa mple", "a space"),
            ("host:0", "0 is no port"),
            ("host:65536", "65536 is no port"),
            ("host:", " is no port"),
            ("host:+1", "+1 is no port"),
            ("-host", "neither a host name"),
            ("a..b", "neither a host name"),
            ("300.1.1.1", "neither a host name"),
            ("[::1", "neither a host name"),
            ("[::1]6443", "neither a host name"),
            ("::1::2", "neither a host name"),
            ("höst", "neither a host name"),
        ] {
            let problem = parse(text).expect_err(text).to_string();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn what_is_displayed_is_read_back() {
        for one in [
            endpoint("host", 443),
            endpoint("::1", 6443),
            endpoint("10.0.0.1", 1),
        ] {
            assert_eq!(parse(&display(&one)), Ok(one));
        }
    }

    #[test]
    fn an_endpoint_of_the_go_implementation_is_read_as_it_was_meant() {
        let url = "https://abc.eks.amazonaws.com";
        assert_eq!(
            stored(&endpoint(url, 443)),
            Some(endpoint("abc.eks.amazonaws.com", 443))
        );
        assert_eq!(stored(&endpoint("host", 6443)), Some(endpoint("host", 6443)));
        assert_eq!(stored(&endpoint("", 0)), None);
    }
}
