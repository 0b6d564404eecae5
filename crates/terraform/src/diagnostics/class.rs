//! Which errors pass by themselves.
//!
//! Terraform has no error codes, so this goes by the words that Terraform, Go's network code and the AWS API use.

use crate::stream::Diagnostic;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Somebody else holds the state's lock.
    Locked,
    /// The other side asked to be asked less often.
    Throttled,
    /// The other side was not reached, or failed.
    Network,
    /// It took too long.
    Timeout,
    /// The other side is not ready for it: busy with the same thing, short of machines, or yet to hear of a change.
    Settling,
    /// The saved plan is older than the state.
    StalePlan,
    /// We asked it to stop.
    Interrupted,
    /// Terraform or a provider crashed.
    Crash,
    /// Another process was replacing a provider's file at the same time.
    PluginCache,
    /// There is no room on the disk.
    DiskFull,
    /// Who we are is not known or not allowed.
    Denied,
    /// The account may not have more of this.
    Quota,
    /// The configuration is wrong.
    Configuration,
    /// The module, a provider or the backend is not set up.
    Setup,
    /// Something else. Trying the same again is not expected to help.
    Other,
}

impl Class {
    /// Whether the same may succeed later with nothing changed.
    #[must_use]
    pub fn is_transient(self) -> bool {
        match self {
            Self::Locked
            | Self::Throttled
            | Self::Network
            | Self::Timeout
            | Self::Settling
            | Self::StalePlan
            | Self::Interrupted
            | Self::PluginCache => true,
            Self::Crash
            | Self::DiskFull
            | Self::Denied
            | Self::Quota
            | Self::Configuration
            | Self::Setup
            | Self::Other => false,
        }
    }

    /// One word for conditions, metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Locked => "Locked",
            Self::Throttled => "Throttled",
            Self::Network => "Network",
            Self::Timeout => "Timeout",
            Self::Settling => "Settling",
            Self::StalePlan => "StalePlan",
            Self::Interrupted => "Interrupted",
            Self::Crash => "Crash",
            Self::PluginCache => "PluginCache",
            Self::DiskFull => "DiskFull",
            Self::Denied => "Denied",
            Self::Quota => "Quota",
            Self::Configuration => "Configuration",
            Self::Setup => "Setup",
            Self::Other => "Other",
        }
    }
}

/// What kind of thing this diagnostic reports.
#[must_use]
pub fn classify(diagnostic: &Diagnostic) -> Class {
    // What a user's own condition or command says must not be taken for the words of an API.
    let summary = diagnostic.summary.to_lowercase();
    if let Some((_, class)) = SUMMARIES.iter().find(|(words, _)| summary.contains(words)) {
        return *class;
    }
    match classify_text(&format!("{}\n{}", diagnostic.summary, diagnostic.detail)) {
        // Terraform points at a place in the text, and no resource is being worked on: the text is wrong.
        Class::Other if diagnostic.range.is_some() && diagnostic.address.is_none() => Class::Configuration,
        class => class,
    }
}

/// What kind of thing this text reports, for what is printed outside diagnostics.
#[must_use]
pub fn classify_text(text: &str) -> Class {
    let text = text.to_lowercase();
    WORDS
        .iter()
        .find(|(words, _)| text.contains(words))
        .map_or(Class::Other, |(_, class)| *class)
}

/// Summaries of Terraform itself, which decide whatever the detail says. In lower case; the first that is found counts.
pub(super) const SUMMARIES: &[(&str, Class)] = &[
    ("error acquiring the state lock", Class::Locked),
    ("error locking state", Class::Locked),
    ("saved plan is stale", Class::StalePlan),
    ("resource precondition failed", Class::Configuration),
    ("resource postcondition failed", Class::Configuration),
    ("module output value precondition failed", Class::Configuration),
    ("check block assertion failed", Class::Configuration),
    ("invalid value for variable", Class::Configuration),
    ("invalid value for input variable", Class::Configuration),
    ("invalid value for module argument", Class::Configuration),
    ("invalid default value for variable", Class::Configuration),
    ("no value for required variable", Class::Configuration),
    ("value for undeclared variable", Class::Configuration),
    ("reference to undeclared", Class::Configuration),
    ("unsupported argument", Class::Configuration),
    ("unsupported attribute", Class::Configuration),
    ("unsupported block type", Class::Configuration),
    ("missing required argument", Class::Configuration),
    ("invalid expression", Class::Configuration),
    ("invalid reference", Class::Configuration),
    ("invalid index", Class::Configuration),
    ("invalid operand", Class::Configuration),
    ("invalid count argument", Class::Configuration),
    ("invalid for_each", Class::Configuration),
    ("invalid template interpolation value", Class::Configuration),
    ("incorrect value type", Class::Configuration),
    ("incorrect attribute value type", Class::Configuration),
    ("inconsistent conditional result types", Class::Configuration),
    ("attempt to get attribute from null value", Class::Configuration),
    ("attempt to index null value", Class::Configuration),
    ("call to unknown function", Class::Configuration),
    ("not enough function arguments", Class::Configuration),
    ("too many function arguments", Class::Configuration),
    ("output refers to sensitive values", Class::Configuration),
    ("missing newline after argument", Class::Configuration),
    ("self-referential", Class::Configuration),
    ("invalid function argument", Class::Configuration),
    ("error in function call", Class::Configuration),
    ("argument or block definition required", Class::Configuration),
    ("unclosed configuration block", Class::Configuration),
    ("invalid character", Class::Configuration),
    ("duplicate resource", Class::Configuration),
    ("duplicate variable", Class::Configuration),
    ("duplicate output", Class::Configuration),
    ("cycle:", Class::Configuration),
    ("unsupported terraform core version", Class::Configuration),
    ("unsupported opentofu core version", Class::Configuration),
    ("instance cannot be destroyed", Class::Configuration),
    ("module not installed", Class::Setup),
    ("inconsistent dependency lock file", Class::Setup),
    ("required plugins are not installed", Class::Setup),
    ("backend initialization required", Class::Setup),
    ("backend configuration changed", Class::Setup),
    ("plugin did not respond", Class::Crash),
    ("local-exec provisioner error", Class::Other),
];

/// Words of APIs, networks and systems. In lower case; the first that is found counts, so what is certain comes before
/// what is common, and what is terminal before what could be taken for an outage.
pub(super) const WORDS: &[(&str, Class)] = &[
    ("terraform crashed", Class::Crash),
    ("panic: ", Class::Crash),
    (
        "the plugin encountered an error, and failed to respond",
        Class::Crash,
    ),
    ("no space left on device", Class::DiskFull),
    ("disk quota exceeded", Class::DiskFull),
    ("text file busy", Class::PluginCache),
    ("state is already locked", Class::Locked),
    // As our own runner says it.
    ("state is locked by", Class::Locked),
    ("resource temporarily unavailable", Class::Locked),
    ("conditionalcheckfailedexception", Class::Locked),
    ("throttl", Class::Throttled),
    ("toomanyrequests", Class::Throttled),
    ("too many requests", Class::Throttled),
    ("requestlimitexceeded", Class::Throttled),
    ("rate exceeded", Class::Throttled),
    ("rate limit", Class::Throttled),
    ("slowdown", Class::Throttled),
    ("status code: 429", Class::Throttled),
    ("statuscode: 429", Class::Throttled),
    ("limitexceeded", Class::Quota),
    ("limit exceeded", Class::Quota),
    ("quotaexceeded", Class::Quota),
    ("quota exceeded", Class::Quota),
    ("insufficientinstancecapacity", Class::Settling),
    ("expiredtoken", Class::Denied),
    ("accessdenied", Class::Denied),
    ("access denied", Class::Denied),
    ("unauthorizedoperation", Class::Denied),
    ("authfailure", Class::Denied),
    ("authorizationerror", Class::Denied),
    ("not authorized", Class::Denied),
    ("unrecognizedclientexception", Class::Denied),
    ("invalidclienttokenid", Class::Denied),
    ("signaturedoesnotmatch", Class::Denied),
    ("no valid credential sources", Class::Denied),
    ("nocredentialproviders", Class::Denied),
    ("permission denied", Class::Denied),
    ("is forbidden: user", Class::Denied),
    // EKS says the same word for being busy, which passes, and for a name that is taken, which does not.
    ("already exist", Class::Other),
    ("resourceinuseexception", Class::Settling),
    ("dependencyviolation", Class::Settling),
    ("operationaborted", Class::Settling),
    ("concurrentmodification", Class::Settling),
    ("invalid iam instance profile", Class::Settling),
    ("cannot be assumed", Class::Settling),
    ("please apply your changes to the latest version", Class::Settling),
    ("connection refused", Class::Network),
    // So git says it, whose connections curl and ssh make.
    ("couldn't connect to server", Class::Network),
    ("could not connect to server", Class::Network),
    ("could not resolve host", Class::Network),
    ("connection timed out", Class::Network),
    ("connection closed by remote host", Class::Network),
    ("connection reset", Class::Network),
    ("broken pipe", Class::Network),
    ("no such host", Class::Network),
    ("server misbehaving", Class::Network),
    ("temporary failure in name resolution", Class::Network),
    ("network is unreachable", Class::Network),
    ("no route to host", Class::Network),
    ("unexpected eof", Class::Network),
    ("tls handshake", Class::Network),
    ("use of closed network connection", Class::Network),
    ("internalserver", Class::Network),
    ("internal server error", Class::Network),
    ("internalfailure", Class::Network),
    ("serviceunavailable", Class::Network),
    ("service unavailable", Class::Network),
    ("bad gateway", Class::Network),
    ("gateway timeout", Class::Network),
    ("status code: 500", Class::Network),
    ("status code: 502", Class::Network),
    ("status code: 503", Class::Network),
    ("status code: 504", Class::Network),
    ("statuscode: 500", Class::Network),
    ("statuscode: 502", Class::Network),
    ("statuscode: 503", Class::Network),
    ("statuscode: 504", Class::Network),
    ("registry service is unreachable", Class::Network),
    ("failed to query available provider packages", Class::Network),
    ("could not download module", Class::Setup),
    ("i/o timeout", Class::Timeout),
    ("request timeout", Class::Timeout),
    ("requesttimeout", Class::Timeout),
    ("context deadline exceeded", Class::Timeout),
    ("timeout while waiting", Class::Timeout),
    ("timeout awaiting", Class::Timeout),
    ("timed out", Class::Timeout),
    ("client.timeout exceeded", Class::Timeout),
    ("interrupted", Class::Interrupted),
    ("context canceled", Class::Interrupted),
    ("operation canceled", Class::Interrupted),
];
