//! Which providers a module needs, with all modules that it calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::engine::{EngineKind, ProviderRequirements};

use super::address::ProviderAddress;
use crate::{
    folder::Folder,
    process::{
        inspect::About,
        workdir::{DATA, SRC},
    },
};

/// The constraints that all modules together have for the version of each provider.
pub(in crate::process) type Requirements = BTreeMap<ProviderAddress, BTreeSet<String>>;

/// The most that is read of the list of modules.
const MAX_MANIFEST: u64 = 16 << 20;

/// Where the modules are.
pub(in crate::process) struct Site<'a> {
    pub(in crate::process) engine: EngineKind,
    /// Everything that is the run's.
    pub(in crate::process) files: &'a Folder,
    /// The module that is run, inside the source.
    pub(in crate::process) run_in: &'a Path,
}

/// What the engine writes down of the modules that it fetched.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    modules: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    key: String,
    dir: PathBuf,
}

/// The requirements of a module and of those that it calls. None if they are not known: a module is not there, cannot be
/// read here, or is outside of the folders of the run.
pub(in crate::process) fn of_module(root: &About, site: &Site<'_>) -> io::Result<Option<Requirements>> {
    let mut all = Requirements::new();
    let mut manifest = None;
    let mut open = vec![(String::new(), root.clone())];
    while let Some((key, module)) = open.pop() {
        if module.unreadable {
            return Ok(None);
        }
        add(&mut all, &module, site.engine);
        for call in &module.calls {
            let folders = match &manifest {
                Some(folders) => folders,
                None => manifest.insert(folders(site)?),
            };
            let key = match key.as_str() {
                "" => call.clone(),
                above => format!("{above}.{call}"),
            };
            let Some((base, module)) = folders.get(&key).and_then(|folder| inside(folder, site)) else {
                return Ok(None);
            };
            let is_tofu = site.engine == EngineKind::Tofu;
            let about = About::of_folder(site.files, Path::new(base), &module, is_tofu)?;
            open.push((key, about));
        }
    }
    Ok(Some(all))
}

/// As they are kept.
pub(in crate::process) fn as_text(requirements: Requirements) -> ProviderRequirements {
    let texts = requirements.into_iter();
    texts
        .map(|(provider, constraints)| (provider.as_str().to_owned(), constraints))
        .collect()
}

fn add(all: &mut Requirements, module: &About, engine: EngineKind) {
    for (name, asked) in &module.providers {
        let source = asked.source.as_ref().unwrap_or(name);
        if let Some(provider) = ProviderAddress::parse(source, engine) {
            let constraints = asked.versions.iter().map(|text| text.trim().to_owned());
            let constraints = constraints.filter(|text| !text.is_empty());
            all.entry(provider).or_default().extend(constraints);
        }
    }
}

/// The folders of the modules that were fetched, by the calls that lead to them.
fn folders(site: &Site<'_>) -> io::Result<BTreeMap<String, PathBuf>> {
    let path = Path::new(DATA).join("modules/modules.json");
    let file = site.files.read_up_to(path, MAX_MANIFEST)?;
    let manifest: Option<Manifest> = file.and_then(|file| serde_json::from_slice(&file).ok());
    let entries = manifest.map(|manifest| manifest.modules).unwrap_or_default();
    Ok(entries.into_iter().map(|entry| (entry.key, entry.dir)).collect())
}

/// The folder as a path without links below one that modules are in. None if it is elsewhere.
fn inside(folder: &Path, site: &Site<'_>) -> Option<(&'static str, PathBuf)> {
    let root = site.files.path("").canonicalize().ok()?;
    let found = root
        .join(SRC)
        .join(site.run_in)
        .join(folder)
        .canonicalize()
        .ok()?;
    let found = found.strip_prefix(root).ok()?;
    let inside = |base: &'static str| Some((base, found.strip_prefix(base).ok()?.to_owned()));
    [SRC, DATA].into_iter().find_map(inside)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    struct Folders(tempfile::TempDir);

    impl Folders {
        fn new(files: &[(&str, &str)], modules: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("own");
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let entry = |(key, dir): &(&str, &str)| {
                let dir = dir.replace("ROOT", &root.display().to_string());
                json!({"Key": key, "Source": "x", "Dir": dir})
            };
            let entries: Vec<_> = modules.iter().map(entry).collect();
            let manifest = root.join("data/modules/modules.json");
            fs::create_dir_all(manifest.parent().unwrap()).unwrap();
            fs::write(manifest, json!({"Modules": entries}).to_string()).unwrap();
            Self(folder)
        }

        fn of_module(&self) -> Option<String> {
            let files = Folder::new(self.0.path().join("own"));
            let about = About::of_folder(&files, Path::new(SRC), Path::new(""), false).unwrap();
            let site = Site {
                engine: EngineKind::Terraform,
                files: &files,
                run_in: Path::new(""),
            };
            of_module(&about, &site)
                .unwrap()
                .map(|found| format!("{:?}", as_text(found)))
        }
    }

    fn asks(version: &str) -> String {
        format!(
            "terraform {{\n required_providers {{\n x = {{ source = \"e.com/a/x\", version = \"{version}\" }}\n }}\n}}"
        )
    }

    #[test]
    fn all_modules_together_tell_what_is_needed() {
        let root = "module \"a\" { source = \"./a\" }\nresource \"null_resource\" \"x\" {}\nprovider \"aws\" { version = \"~> 5.0\" }";
        let folders = Folders::new(
            &[
                ("src/main.tf", root),
                (
                    "src/a/main.tf",
                    &format!("{}\nmodule \"b\" {{ source = \"y\" }}", asks(">= 1.0")),
                ),
                ("data/modules/a.b/main.tf", &asks("< 2.0")),
                ("data/modules/old/main.tf", &asks("= 0.1")),
            ],
            // The engine leaves calls in its list that are no more.
            &[
                ("", "."),
                ("a", "a"),
                ("a.b", "ROOT/data/modules/a.b"),
                ("old", "ROOT/data/modules/old"),
            ],
        );
        assert_eq!(
            folders.of_module().unwrap(),
            "{\"e.com/a/x\": {\"< 2.0\", \">= 1.0\"}, \"registry.terraform.io/hashicorp/aws\": {\"~> 5.0\"}, \
             \"registry.terraform.io/hashicorp/null\": {}}"
        );
    }

    #[test]
    fn what_is_not_there_or_elsewhere_is_not_known() {
        let call = "module \"a\" { source = \"./a\" }";
        let asked = asks("1.0");
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Pairs<'_>, Pairs<'_>, bool); 5] = [
            (
                &[("src/main.tf", call), ("src/a/main.tf", &asked)],
                &[("a", "a")],
                true,
            ),
            (&[("src/main.tf", call)], &[], false),
            (&[("src/main.tf", call)], &[("a", "a")], false),
            (
                &[("src/main.tf", call), ("../other/main.tf", &asked)],
                &[("a", "../../other")],
                false,
            ),
            (
                &[("src/main.tf", call), ("src/a/main.tf", "resource {{")],
                &[("a", "a")],
                false,
            ),
        ];
        for (files, modules, is_known) in cases {
            let folders = Folders::new(files, modules);
            assert_eq!(folders.of_module().is_some(), is_known, "{files:?} {modules:?}");
        }
    }

    #[test]
    fn links_count_as_far_as_they_stay_inside() {
        use std::os::unix::fs::symlink;
        let call = "module \"a\" { source = \"./a\" }";
        let files = [
            ("src/main.tf", call),
            ("src/b/main.tf", &asks("1.0")),
            ("../other/main.tf", &asks("6.6")),
        ];
        let found = |link: &str, target: &str| {
            let folders = Folders::new(&files, &[("a", "a")]);
            let link = folders.0.path().join("own").join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            symlink(target, link).unwrap();
            folders.of_module()
        };
        assert!(found("src/a", "b").unwrap().contains("1.0"));
        assert!(found("src/a/main.tf", "../b/main.tf").unwrap().contains("1.0"));
        // The kernel finds these.
        for (link, target) in [
            ("src/a", "../../other"),
            ("src/a/main.tf", "../../../other/main.tf"),
        ] {
            assert_eq!(found(link, target), None, "{link}");
        }
        assert_eq!(found("data/modules/modules.json", "../../src/main.tf"), None);
    }
}
