//! Making certificates.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use uuid::Uuid;

use super::{
    PkiError,
    credential::{Credential, Facts},
};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The clocks of clients may be behind ours.
const BACKDATED: Duration = DAY;
const AUTHORITY_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Long enough for a server that nobody restarts for a year, short enough for verifiers that refuse
/// certificates of more than 825 days.
const ISSUED_LIFE: Duration = Duration::from_secs(730 * 24 * 3600);

/// A certificate authority with its key.
pub(super) struct Authority {
    credential: Credential,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority, named like no other: whatever an earlier one has issued is told apart by its issuer.
    pub(super) fn create(now: SystemTime) -> Result<Self, PkiError> {
        let name = format!("apiary-ca {}", Uuid::new_v4().simple());
        let failed = |source| PkiError::Issue {
            subject: name.clone(),
            source,
        };
        let mut params = params(Vec::new(), &name, None, now, AUTHORITY_LIFE).map_err(failed)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        let credential = Credential::new(certificate.pem(), key.serialize_pem());
        Ok(Self {
            credential,
            issuer: Issuer::new(params, key),
        })
    }

    pub(super) fn from_credential(credential: &Credential) -> Result<Self, String> {
        let key =
            KeyPair::from_pem(credential.key()).map_err(|error| format!("its key is unusable: {error}"))?;
        let issuer = Issuer::from_ca_cert_der(&credential.certificate_der()?, key)
            .map_err(|error| format!("its certificate is unusable: {error}"))?;
        Ok(Self {
            credential: credential.clone(),
            issuer,
        })
    }

    pub(super) fn credential(&self) -> &Credential {
        &self.credential
    }

    pub(super) fn facts(&self) -> Result<Facts, String> {
        self.credential.facts()
    }

    pub(super) fn issue_server(&self, names: Vec<String>, now: SystemTime) -> Result<Credential, PkiError> {
        self.issue(
            names,
            "kube-apiserver",
            None,
            ExtendedKeyUsagePurpose::ServerAuth,
            now,
        )
    }

    pub(super) fn issue_client(
        &self,
        user: &str,
        group: &str,
        now: SystemTime,
    ) -> Result<Credential, PkiError> {
        self.issue(
            Vec::new(),
            user,
            Some(group),
            ExtendedKeyUsagePurpose::ClientAuth,
            now,
        )
    }

    fn issue(
        &self,
        names: Vec<String>,
        user: &str,
        group: Option<&str>,
        purpose: ExtendedKeyUsagePurpose,
        now: SystemTime,
    ) -> Result<Credential, PkiError> {
        let failed = |source| PkiError::Issue {
            subject: user.to_owned(),
            source,
        };
        let mut params = params(names, user, group, now, ISSUED_LIFE).map_err(failed)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Credential::new(certificate.pem(), key.serialize_pem()))
    }
}

fn params(
    names: Vec<String>,
    user: &str,
    group: Option<&str>,
    now: SystemTime,
    life: Duration,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + life).into();
    Ok(params)
}
