use std::{collections::BTreeMap, io, time::Duration};

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex as Lock;

use super::*;
use crate::captcontrolplane::exchange::Place;

/// What is around a process in a test.
#[derive(Default)]
struct Scene {
    variables: BTreeMap<&'static str, String>,
    files: BTreeMap<&'static str, &'static str>,
    /// Answers by `METHOD host/path`.
    answers: BTreeMap<&'static str, (u16, &'static str)>,
    /// What was asked, with the bodies.
    asked: Lock<Vec<String>>,
}

impl Scene {
    fn with(variables: &[(&'static str, &str)]) -> Self {
        Self {
            variables: variables
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            ..Self::default()
        }
    }

    fn file(mut self, path: &'static str, text: &'static str) -> Self {
        self.files.insert(path, text);
        self
    }

    fn answer(mut self, asked: &'static str, status: u16, body: &'static str) -> Self {
        self.answers.insert(asked, (status, body));
        self
    }

    async fn find(&self) -> Result<Credentials, ChainError> {
        search(self, Timestamp::from_second(1_893_456_000).unwrap()).await
    }
}

impl Around for Scene {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn file(&self, path: &str) -> io::Result<String> {
        let text = self.files.get(path).map(|text| (*text).to_owned());
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn ask<'a>(
        &'a self,
        place: Place<'a>,
        request: Request<Full<Bytes>>,
        _: Duration,
    ) -> BoxFuture<'a, Result<Response<Bytes>, ExchangeError>> {
        Box::pin(async move {
            let asked = format!("{} {}{}", request.method(), place.host, request.uri());
            let headers = format!("{:?}", request.headers());
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            self.asked.lock().push(format!("{asked} {headers} {body}"));
            match self.answers.get(asked.as_str()) {
                Some((status, body)) => Ok(Response::builder()
                    .status(*status)
                    .body(Bytes::from(*body))
                    .unwrap()),
                None => Err(ExchangeError::Connection(io::ErrorKind::ConnectionRefused.into())),
            }
        })
    }
}

const STS: &str = "<r><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                   <SessionToken>t</SessionToken><Expiration>2030-01-01T01:00:00Z</Expiration></r>";
const AGENT: &str =
    r#"{"AccessKeyId":"ASIA2","SecretAccessKey":"s","Token":"t","Expiration":"2030-01-01T06:00:00Z"}"#;

#[tokio::test]
async fn the_first_place_that_has_credentials_counts() {
    let files = "[default]\naws_access_key_id=FILE\naws_secret_access_key=x\n[blue]\naws_access_key_id=BLUE\n\
                 aws_secret_access_key=x\n";
    let environment = [
        ("AWS_ACCESS_KEY_ID", "ENV"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("HOME", "/h"),
    ];
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:role"),
        ("AWS_REGION", "eu-central-1"),
    ];
    let pod = [
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1/credentials",
        ),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/pod"),
    ];
    for (scene, key) in [
        (
            Scene::with(&environment).file("/h/.aws/credentials", files),
            "ENV",
        ),
        (
            Scene::with(&environment[2..]).file("/h/.aws/credentials", files),
            "FILE",
        ),
        (
            Scene::with(&[("HOME", "/h"), ("AWS_PROFILE", "blue")]).file("/h/.aws/credentials", files),
            "BLUE",
        ),
        (
            Scene::with(&[("AWS_SHARED_CREDENTIALS_FILE", "/c")]).file("/c", files),
            "FILE",
        ),
        (
            Scene::with(&identity).file("/token", "jwt\n").answer(
                "POST sts.eu-central-1.amazonaws.com/",
                200,
                STS,
            ),
            "ASIA1",
        ),
        (
            Scene::with(&pod).file("/pod", "bearer\n").answer(
                "GET 169.254.170.23/v1/credentials",
                200,
                AGENT,
            ),
            "ASIA2",
        ),
        (
            Scene::with(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")]).answer(
                "GET 169.254.170.2/v2/x",
                200,
                AGENT,
            ),
            "ASIA2",
        ),
        (
            Scene::with(&[])
                .answer("PUT 169.254.169.254/latest/api/token", 200, "imds")
                .answer(
                    "GET 169.254.169.254/latest/meta-data/iam/security-credentials/",
                    200,
                    "node\n",
                )
                .answer(
                    "GET 169.254.169.254/latest/meta-data/iam/security-credentials/node",
                    200,
                    AGENT,
                ),
            "ASIA2",
        ),
    ] {
        assert_eq!(scene.find().await.unwrap().key_id, key, "{:?}", scene.variables);
    }
}

#[tokio::test]
async fn a_profile_may_take_on_roles_of_others() {
    let config = "[profile admin]\nrole_arn = arn:admin\nsource_profile = base\nexternal_id = e1\nregion = us-gov-west-1\n\
                  [profile base]\naws_access_key_id = BASE\naws_secret_access_key = x\n";
    let scene = Scene::with(&[("HOME", "/h"), ("AWS_PROFILE", "admin")])
        .file("/h/.aws/config", config)
        .answer("POST sts.us-gov-west-1.amazonaws.com/", 200, STS);
    assert_eq!(scene.find().await.unwrap().key_id, "ASIA1");
    let asked = scene.asked.lock().join("\n");
    for part in [
        "Action=AssumeRole&ExternalId=e1&RoleArn=arn%3Aadmin&RoleSessionName=capt",
        "Credential=BASE/20300101/us-gov-west-1/sts/aws4_request",
        "SignedHeaders=content-type;host;x-amz-date",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_without_secrets() {
    let circle = "[a]\nrole_arn=r\nsource_profile=b\n[b]\nrole_arn=r\nsource_profile=a\n";
    for (scene, words) in [
        (Scene::with(&[]), "there are no credentials for AWS"),
        (
            Scene::with(&[("AWS_EC2_METADATA_DISABLED", "true")]),
            "there are no credentials for AWS",
        ),
        (
            Scene::with(&[("AWS_PROFILE", "blue")]),
            "the profile blue has no credentials",
        ),
        (
            Scene::with(&[("AWS_PROFILE", "a"), ("AWS_CONFIG_FILE", "/c")]).file("/c", circle),
            "leads to too many others",
        ),
        (
            Scene::with(&[
                ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
                ("AWS_ROLE_ARN", "arn:role"),
            ]),
            "the file with the web identity cannot be read",
        ),
        (
            Scene::with(&[
                ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
                ("AWS_ROLE_ARN", "arn:role"),
            ])
            .file("/token", "jwt")
            .answer(
                "POST sts.us-east-1.amazonaws.com/",
                403,
                "<Code>AccessDenied</Code>",
            ),
            "the role arn:role: AWS answered 403 AccessDenied",
        ),
        (
            Scene::with(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x")]),
            "no address that credentials may come from",
        ),
        (
            Scene::with(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")]).answer(
                "GET 169.254.170.2/x",
                200,
                "{}",
            ),
            "has no credentials in it",
        ),
    ] {
        let message = told(&scene.find().await.unwrap_err());
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn credentials_are_looked_for_again_before_they_end() {
    let scene = Scene::with(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")]).answer(
        "GET 169.254.170.2/v2/x",
        200,
        AGENT,
    );
    let scene = Arc::new(scene);
    let now = Arc::new(Lock::new("2030-01-01T00:00:00Z".parse::<Timestamp>().unwrap()));
    let clock: Clock = {
        let now = now.clone();
        Arc::new(move || *now.lock())
    };
    let own = ProcessCredentials::within(scene.clone(), clock);
    for (time, asked) in [
        ("2030-01-01T00:00:00Z", 1),
        ("2030-01-01T05:00:00Z", 1),
        ("2030-01-01T05:50:00Z", 2),
    ] {
        *now.lock() = time.parse().unwrap();
        assert_eq!(own.find().await.unwrap().key_id, "ASIA2");
        assert_eq!(scene.asked.lock().len(), asked, "{time}");
    }
}
