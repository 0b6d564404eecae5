//! A certificate with its key, and what the certificate says.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const KEY_HEADER: &str = "-----BEGIN PRIVATE KEY-----";

/// A certificate and its private key, both in PEM.
#[derive(Clone)]
pub struct Credential {
    certificate: String,
    key: String,
}

/// What a certificate says about itself.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Facts {
    /// The distinguished name of who is certified, as bytes to compare.
    pub(in crate::serve) subject: Vec<u8>,
    /// The distinguished name of who certified it, as bytes to compare.
    pub(in crate::serve) issuer: Vec<u8>,
    /// The common name.
    pub(in crate::serve) user: Option<String>,
    /// The organisations.
    pub(in crate::serve) groups: Vec<String>,
    /// When it ends.
    pub(in crate::serve) expires: SystemTime,
    names: Vec<String>,
}

impl Credential {
    pub(super) fn new(certificate: String, key: String) -> Self {
        Self { certificate, key }
    }

    /// Reads a file that [`Self::to_pem`] has written.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let at = text.find(KEY_HEADER).ok_or("it holds no private key")?;
        let (certificate, key) = text.split_at(at);
        let credential = Self::new(certificate.to_owned(), key.to_owned());
        credential.certificate_der()?;
        credential.key_der()?;
        Ok(credential)
    }

    pub(super) fn to_pem(&self) -> String {
        format!("{}{}", self.certificate, self.key)
    }

    /// The certificate in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key in PEM.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(in crate::serve) fn certificate_der(&self) -> Result<CertificateDer<'static>, String> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes())
            .map_err(|error| format!("it holds no certificate: {error}"))
    }

    pub(in crate::serve) fn key_der(&self) -> Result<PrivateKeyDer<'static>, String> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| format!("it holds no private key: {error}"))
    }

    pub(super) fn facts(&self) -> Result<Facts, String> {
        Facts::of(&self.certificate_der()?)
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

impl Facts {
    /// Reads a certificate; it says nothing about whether to believe it.
    pub(in crate::serve) fn of(der: &CertificateDer<'_>) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der)
            .map_err(|error| format!("its certificate is unreadable: {error}"))?;
        let names = match certificate.subject_alternative_name() {
            Ok(Some(extension)) => extension.value.general_names.iter().filter_map(name).collect(),
            _ => Vec::new(),
        };
        let expires = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
        let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            attribute.as_str().ok().map(str::to_owned)
        };
        Ok(Self {
            subject: certificate.subject().as_raw().to_vec(),
            issuer: certificate.issuer().as_raw().to_vec(),
            user: certificate.subject().iter_common_name().next().and_then(text),
            groups: certificate
                .subject()
                .iter_organization()
                .filter_map(text)
                .collect(),
            expires: SystemTime::UNIX_EPOCH + Duration::from_secs(expires),
            names,
        })
    }

    /// Whether every one of `names` is certified.
    pub(super) fn covers(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.names.contains(&canonical(name)))
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(canonical(name)),
        GeneralName::IPAddress(bytes) => {
            let address = match bytes.len() {
                4 => IpAddr::from(<[u8; 4]>::try_from(*bytes).ok()?),
                16 => IpAddr::from(<[u8; 16]>::try_from(*bytes).ok()?),
                _ => return None,
            };
            Some(address.to_string())
        }
        _ => None,
    }
}

fn canonical(name: &str) -> String {
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => name.to_ascii_lowercase(),
    }
}
