//! Tokens for EKS: the address of a question to AWS ("who am I?"), signed, which EKS asks on behalf of whoever shows it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capt_core::{
    aws::sts_host,
    controlplane::snapshot::{Hidden, Token},
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::{
    credentials::Credentials,
    signing::{ALGORITHM, Asked, Scope, query, signature},
};

/// EKS honours a token for 15 minutes, whatever it says itself. A minute is left for clocks that differ.
const VALID_FOR: SignedDuration = SignedDuration::from_mins(14);
/// What a token says itself.
const EXPIRES: &str = "60";
/// The header that says which cluster a token is for.
const CLUSTER: &str = "x-k8s-aws-id";

/// A token for a cluster.
pub(super) fn token(credentials: &Credentials, cluster: &str, region: &str, now: Timestamp) -> Token {
    let host = sts_host(region);
    let scope = Scope {
        at: now,
        region,
        service: "sts",
    };
    let (credential, time) = (format!("{}/{}", credentials.key_id, scope.text()), scope.time());
    let headers = [("host", host.as_str()), (CLUSTER, cluster)];
    let mut asked = Asked {
        method: "GET",
        path: "/",
        query: "",
        headers: &headers,
        body: b"",
    };
    let signed_headers = asked.signed_headers();
    let mut pairs = vec![
        ("Action", "GetCallerIdentity"),
        ("Version", "2011-06-15"),
        ("X-Amz-Algorithm", ALGORITHM),
        ("X-Amz-Credential", &credential),
        ("X-Amz-Date", &time),
        ("X-Amz-Expires", EXPIRES),
        ("X-Amz-SignedHeaders", &signed_headers),
    ];
    if let Some(session) = &credentials.session_token {
        pairs.push(("X-Amz-Security-Token", session.reveal()));
    }
    let query = query(&pairs);
    asked.query = &query;
    let signature = signature(credentials, scope, &asked);
    let url = format!("https://{host}/?{query}&X-Amz-Signature={signature}");
    let ends = [
        Some(now.saturating_add(VALID_FOR).unwrap_or(now)),
        // AWS refuses what was signed with credentials that have ended.
        credentials.expires_at,
    ];
    Token {
        value: Hidden::new(format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url))),
        expires_at: ends.into_iter().flatten().min().unwrap_or(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(token: &Token) -> String {
        let encoded = token.value.reveal().strip_prefix("k8s-aws-v1.").unwrap();
        assert!(!encoded.contains(['=', '+', '/']), "{encoded}");
        String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_token_is_what_eks_takes() {
        let credentials = Credentials::fixed("AKIDEXAMPLE", "secret", Some("se/ss+ion"));
        let token = token(&credentials, "blue", "eu-central-1", at("2030-01-02T03:04:05Z"));
        let url = url(&token);
        let (address, signature) = url.split_once("&X-Amz-Signature=").unwrap();
        assert_eq!(
            address,
            "https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&\
             X-Amz-Algorithm=AWS4-HMAC-SHA256&\
             X-Amz-Credential=AKIDEXAMPLE%2F20300102%2Feu-central-1%2Fsts%2Faws4_request&\
             X-Amz-Date=20300102T030405Z&X-Amz-Expires=60&X-Amz-Security-Token=se%2Fss%2Bion&\
             X-Amz-SignedHeaders=host%3Bx-k8s-aws-id"
        );
        assert_eq!(signature.len(), 64);
        assert_eq!(token.expires_at, at("2030-01-02T03:18:05Z"));
    }

    #[test]
    fn a_token_is_for_one_cluster_and_one_time() {
        let credentials = Credentials::fixed("a", "b", None);
        let of = |cluster, time| token(&credentials, cluster, "eu-central-1", at(time)).value;
        let first = of("blue", "2030-01-02T03:04:05Z");
        assert_eq!(first, of("blue", "2030-01-02T03:04:05Z"));
        assert_ne!(first, of("red", "2030-01-02T03:04:05Z"));
        assert_ne!(first, of("blue", "2030-01-02T03:04:06Z"));
    }

    #[test]
    fn a_token_lasts_no_longer_than_what_signed_it() {
        let mut credentials = Credentials::fixed("a", "b", None);
        credentials.expires_at = Some(at("2030-01-02T03:10:00Z"));
        let token = token(&credentials, "blue", "eu-central-1", at("2030-01-02T03:04:05Z"));
        assert_eq!(token.expires_at, at("2030-01-02T03:10:00Z"));
    }
}
