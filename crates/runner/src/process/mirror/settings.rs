//! The configuration of Terraform's command line: which places providers come from.

use std::path::{Path, PathBuf};

use hcl_edit::structure::{Block, Body};
use serde_json::Value;

use super::address::ProviderAddress;

/// Settings about a cache that runs of Terraform share. Here that is the mirror, and runs must write nowhere else than
/// to their own folders.
const CACHE: [&str; 2] = ["plugin_cache_dir", "plugin_cache_may_break_dependency_lock_file"];

/// The operator's configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// All but where providers come from.
    rest: String,
    /// Where they come from, if the configuration names it.
    methods: Option<Vec<Method>>,
}

/// A place that providers come from.
#[derive(Clone, Debug)]
struct Method {
    kind: String,
    /// The folder that it has packages in.
    folder: Option<PathBuf>,
    /// Everything about it but what it leaves out.
    body: String,
    excluded: Vec<String>,
}

/// The configuration without a cache. What cannot be read here is left as it is.
pub(in crate::process) fn without_cache(text: &str) -> String {
    match text.parse::<Body>() {
        Ok(mut body) if CACHE.iter().any(|name| body.has_attribute(name)) => {
            for name in CACHE {
                body.remove_attribute(name);
            }
            body.to_string()
        }
        _ => text.to_owned(),
    }
}

impl Settings {
    /// Reads a configuration. None if it is written in a way that is not understood here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut body: Body = without_cache(text).parse().ok()?;
        let mut installation = body.remove_blocks("provider_installation").into_iter();
        let methods = match (installation.next(), installation.next()) {
            (None, _) => None,
            (Some(block), None) => Some(block.body.into_blocks().map(method).collect::<Option<_>>()?),
            (Some(_), Some(_)) => return None,
        };
        Some(Self {
            rest: body.to_string(),
            methods,
        })
    }

    /// It does not say where providers come from, so that the engine looks for them in folders of its own first.
    pub(super) fn is_implied(&self) -> bool {
        self.methods.is_none()
    }

    /// The folders that packages come from.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let methods = self.methods.iter().flatten();
        methods.filter_map(|method| method.folder.as_deref())
    }

    /// Everything as the operator says. Packages that are in the cache are not fetched once more, whatever the lock file says:
    /// it is thrown away with the rest.
    pub(super) fn for_filling(&self, cache: &Path) -> String {
        let [folder, ignores_lock] = CACHE;
        let cache = format!("{folder} = {}\n{ignores_lock} = true\n", quoted(cache));
        let mut text = format!("{cache}{}\n", self.rest);
        if let Some(methods) = &self.methods {
            text.push_str(&installation("", methods, &[]));
        }
        text
    }

    /// These providers come from the mirror and from nowhere else, all others as the operator says.
    pub(super) fn for_run<'a>(
        &self,
        mirror: &Path,
        providers: impl IntoIterator<Item = &'a ProviderAddress>,
    ) -> String {
        let names: Vec<String> = providers.into_iter().map(|one| one.as_str().to_owned()).collect();
        let mirror = format!(
            "  filesystem_mirror {{\n    path = {}\n    include = {}\n  }}\n",
            quoted(mirror),
            list(&names)
        );
        let direct = [Method {
            kind: "direct".to_owned(),
            folder: None,
            body: String::new(),
            excluded: Vec::new(),
        }];
        let others = self.methods.as_deref().unwrap_or(&direct);
        format!("{}\n{}", self.rest, installation(&mirror, others, &names))
    }
}

/// The block that says where providers come from: first from here, and those that are excluded from nowhere else.
fn installation(first: &str, others: &[Method], excluded: &[String]) -> String {
    let mut text = format!("provider_installation {{\n{first}");
    for Method {
        kind,
        body,
        excluded: before,
        ..
    } in others
    {
        let all: Vec<&String> = before.iter().chain(excluded).collect();
        let exclude = match all.is_empty() {
            true => String::new(),
            false => format!("    exclude = {}\n", list(all)),
        };
        text.push_str(&format!("  {kind} {{\n{body}\n{exclude}  }}\n"));
    }
    text.push_str("}\n");
    text
}

fn quoted(path: &Path) -> Value {
    Value::from(path.to_string_lossy())
}

fn method(mut block: Block) -> Option<Method> {
    let excluded = match block.body.remove_attribute("exclude") {
        None => Vec::new(),
        Some(exclude) => {
            let names = exclude.value.as_array()?.iter();
            names
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()?
        }
    };
    let folder = block.body.get_attribute("path");
    let folder = folder.and_then(|path| path.value.as_str()).map(PathBuf::from);
    Some(Method {
        folder: folder.filter(|path| path.is_absolute()),
        kind: block.ident.as_str().to_owned(),
        body: block.body.to_string().trim().to_owned(),
        excluded,
    })
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> Value {
    names.into_iter().map(|name| Value::from(name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider() -> ProviderAddress {
        ProviderAddress::whole("example.com/some/fake").unwrap()
    }

    fn of(text: &str) -> String {
        let settings = Settings::parse(text).unwrap();
        let made = settings.for_run(Path::new("/mirror"), [&provider()]);
        // The text can be read, and means the same.
        let parsed = Settings::parse(&made).unwrap();
        assert_eq!(
            parsed.methods.unwrap().len(),
            1 + settings.methods.map_or(1, |methods| methods.len())
        );
        made.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn what_the_mirror_has_comes_from_there_and_the_rest_as_the_operator_says() {
        let ours = "filesystem_mirror {\npath = \"/mirror\"\ninclude = [\"example.com/some/fake\"]\n}";
        let leave = "exclude = [\"example.com/some/fake\"]";
        assert_eq!(
            of(""),
            format!("provider_installation {{\n{ours}\ndirect {{\n{leave}\n}}\n}}")
        );
        let credentials = "credentials \"example.com\" {\n  token = \"t\"\n}";
        let text = format!(
            "plugin_cache_dir = \"/cache\"\nplugin_cache_may_break_dependency_lock_file = true\n# mine\n{credentials}\n\
             provider_installation {{\n  network_mirror {{\n    url = \"https://m/\"\n    include = [\"*/*/*\"]\n    \
             exclude = [\"a/b/c\"]\n  }}\n  direct {{ exclude = [\"d/*/*\"] }}\n}}\n"
        );
        assert_eq!(
            of(&text),
            format!(
                "# mine\ncredentials \"example.com\" {{\ntoken = \"t\"\n}}\nprovider_installation {{\n{ours}\nnetwork_mirror {{\nurl = \"https://m/\"\ninclude = [\"*/*/*\"]\n\
                 exclude = [\"a/b/c\",\"example.com/some/fake\"]\n}}\ndirect {{\n\
                 exclude = [\"d/*/*\",\"example.com/some/fake\"]\n}}\n}}"
            )
        );
    }

    #[test]
    fn what_fills_the_mirror_goes_by_what_the_operator_says() {
        let cache = "plugin_cache_dir = \"/c\"\nplugin_cache_may_break_dependency_lock_file = true\n";
        let of = |text: &str| Settings::parse(text).unwrap().for_filling(Path::new("/c"));
        assert_eq!(of("").trim(), cache.trim());
        let text =
            "plugin_cache_dir = \"/mine\"\nprovider_installation {\n  direct { exclude = [\"d/*/*\"] }\n}\n";
        let expected = "provider_installation {\n  direct {\n\n    exclude = [\"d/*/*\"]\n  }\n}";
        assert_eq!(of(text).trim(), format!("{cache}\n{expected}"));
    }

    #[test]
    fn what_is_not_understood_is_not_changed() {
        let development = "provider_installation {\n dev_overrides {\n \"x/y\" = \"/dev\"\n }\n}";
        for text in [
            "{\"credentials\": {}}",
            "provider_installation {",
            "direct {",
            development,
            "provider_installation {}\nprovider_installation {}",
            "provider_installation {\n direct {\n exclude = \"x\"\n }\n}",
        ] {
            assert!(Settings::parse(text).is_none(), "{text}");
        }
        let odd = "{\"plugin_cache_dir\": \"x\"}";
        assert_eq!(without_cache(odd), odd);
        assert_eq!(without_cache("plugin_cache_dir = \"x\"\nx = 1\n"), "x = 1\n");
    }

    #[test]
    fn folders_with_packages_are_known() {
        let text = "provider_installation {\n filesystem_mirror {\n path = \"/a\"\n }\n filesystem_mirror {\n path = \"b\"\n \
                    }\n network_mirror {\n url = \"https://m/\"\n }\n direct {}\n}";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.folders().collect::<Vec<_>>(), [Path::new("/a")]);
        assert_eq!(Settings::parse("").unwrap().folders().count(), 0);
    }

    #[test]
    fn it_is_known_whether_the_engine_looks_into_folders_of_its_own() {
        assert!(Settings::parse("x = 1").unwrap().is_implied());
        assert!(
            !Settings::parse("provider_installation {\n direct {}\n}")
                .unwrap()
                .is_implied()
        );
    }
}
