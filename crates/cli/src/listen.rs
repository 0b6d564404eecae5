//! An address to listen on, and by which names it is reached.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use anyhow::Context;

/// A host, as a name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    host: String,
    port: u16,
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self {
                host: address.ip().to_string(),
                port: address.port(),
            });
        }
        let wanted = "write HOST:PORT, for example 127.0.0.1:16443 or [::1]:0";
        let (host, port) = text.rsplit_once(':').ok_or(wanted)?;
        if host.is_empty() || host.contains([':', '[', ']', '/']) {
            return Err(wanted.to_owned());
        }
        let port = port
            .parse()
            .map_err(|_| format!("{port:?} is no port number; {wanted}"))?;
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl ListenAddress {
    /// The address to bind; of a name with several, the first.
    pub(crate) async fn resolve(&self) -> anyhow::Result<SocketAddr> {
        let unknown = || format!("cannot find the address of {}", self.host);
        tokio::net::lookup_host((self.host.as_str(), self.port))
            .await
            .with_context(unknown)?
            .next()
            .with_context(unknown)
    }

    /// What clients on this machine write to reach the server that is bound to `bound`.
    pub(crate) fn url(&self, bound: SocketAddr) -> String {
        let port = bound.port();
        match self.host.parse::<IpAddr>() {
            Ok(address) => format!("https://{}", SocketAddr::new(reachable(address), port)),
            Err(_) => format!("https://{}:{port}", self.host),
        }
    }

    /// The names that the server's certificate must carry, beside the usual ones.
    pub(crate) fn names(&self, bound: SocketAddr) -> Vec<String> {
        let mut names = vec![self.host.clone()];
        if !bound.ip().is_loopback() {
            names.push(bound.ip().to_string());
            names.extend(machine_name());
        }
        names.retain(|name| {
            name.parse::<IpAddr>()
                .is_ok_and(|address| !address.is_unspecified())
                || name.parse::<IpAddr>().is_err()
        });
        names.dedup();
        names
    }
}

/// Listening on every address means being reachable on loopback too.
fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

/// The name under which other machines may know this one, if it can stand in a certificate.
fn machine_name() -> Option<String> {
    let name = rustix::system::uname()
        .nodename()
        .to_str()
        .ok()?
        .to_ascii_lowercase();
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (!name.is_empty() && name.bytes().all(valid)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read() {
        let cases = [
            ("127.0.0.1:16443", Ok(("127.0.0.1", 16443))),
            ("[::1]:0", Ok(("::1", 0))),
            ("localhost:8443", Ok(("localhost", 8443))),
            ("localhost", Err("write HOST:PORT")),
            (":8443", Err("write HOST:PORT")),
            ("::1:8443x", Err("write HOST:PORT")),
            ("localhost:https", Err("\"https\" is no port number")),
            ("localhost:70000", Err("\"70000\" is no port number")),
        ];
        for (text, expected) in cases {
            match (text.parse::<ListenAddress>(), expected) {
                (Ok(address), Ok((host, port))) => {
                    assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn clients_get_an_address_that_they_can_reach() {
        let cases = [
            ("127.0.0.1:0", "127.0.0.1:4321", "https://127.0.0.1:4321"),
            ("0.0.0.0:0", "0.0.0.0:4321", "https://127.0.0.1:4321"),
            ("[::]:0", "[::]:4321", "https://[::1]:4321"),
            ("10.1.2.3:80", "10.1.2.3:80", "https://10.1.2.3:80"),
            ("example.test:80", "10.1.2.3:80", "https://example.test:80"),
        ];
        for (listen, bound, url) in cases {
            let listen: ListenAddress = listen.parse().unwrap();
            assert_eq!(listen.url(bound.parse().unwrap()), url);
        }
    }

    #[test]
    fn the_certificate_names_what_clients_may_write() {
        let names = |listen: &str, bound: &str| -> Vec<String> {
            listen
                .parse::<ListenAddress>()
                .unwrap()
                .names(bound.parse().unwrap())
        };
        assert_eq!(names("localhost:1", "127.0.0.1:1"), ["localhost"]);
        let open = names("example.test:1", "10.1.2.3:1");
        assert!(
            open.starts_with(&["example.test".to_owned(), "10.1.2.3".to_owned()]),
            "{open:?}"
        );
        assert!(!names("0.0.0.0:1", "0.0.0.0:1").contains(&"0.0.0.0".to_owned()));
    }
}
