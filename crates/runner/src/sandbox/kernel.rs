//! What the kernel is asked for.

/// Keeps other processes of the same user from reading the memory of this one, and its environment.
pub fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other processes of this user can read the memory of this one");
        }
    }
}

/// The version of Landlock that the kernel has; 0 for none.
#[cfg(not(target_os = "linux"))]
pub(super) fn abi() -> u32 {
    0
}

/// Confines what this thread does and starts from now on.
#[cfg(not(target_os = "linux"))]
pub(crate) fn restrict_thread(_reach: &super::Reach) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
pub(super) use linux::abi;
#[cfg(target_os = "linux")]
pub(crate) use linux::restrict_thread;

#[cfg(target_os = "linux")]
mod linux {
    use std::{io, thread};

    use landlock::{
        ABI, Access as _, AccessFs, LandlockStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };

    use crate::sandbox::Reach;

    /// The newest version whose rights are known here. A kernel that has fewer restricts fewer.
    const KNOWN: ABI = ABI::V9;

    /// Programs and their libraries.
    const PROGRAMS: &[&str] = &[
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/nix/store",
    ];

    /// What programs read to find libraries, users, the time, hosts and whom to trust. All of `/etc` would be too much:
    /// there are private keys and the credentials of other programs.
    const SETTINGS: &[&str] = &[
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/ld.so.preload",
        "/etc/ld-musl-x86_64.path",
        "/etc/ld-musl-aarch64.path",
        "/etc/passwd",
        "/etc/group",
        "/etc/localtime",
        "/etc/timezone",
        "/etc/os-release",
        "/etc/alpine-release",
        "/etc/locale.alias",
        "/etc/mime.types",
        "/etc/alternatives",
        "/etc/hostname",
        "/etc/hosts",
        "/etc/resolv.conf",
        "/etc/nsswitch.conf",
        "/etc/host.conf",
        "/etc/gai.conf",
        "/etc/networks",
        "/etc/services",
        "/etc/protocols",
        "/etc/ssl/certs",
        "/etc/ssl/cert.pem",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/openssl.cnf",
        "/etc/pki/tls/certs",
        "/etc/pki/tls/cert.pem",
        "/etc/pki/tls/openssl.cnf",
        "/etc/pki/ca-trust/extracted",
        "/etc/ca-certificates/extracted",
        "/etc/crypto-policies",
        "/etc/ssh/ssh_config",
        "/etc/ssh/ssh_config.d",
        "/etc/ssh/ssh_known_hosts",
        "/sys/devices/system/cpu",
        "/sys/kernel/mm/transparent_hugepage",
    ];

    /// Services that look up names.
    const NAME_SERVICES: &[&str] = &["/run/systemd/resolve", "/run/nscd"];

    /// Devices without a memory. No terminal is among them: what a run typed into it would reach the shell of a person.
    const DEVICES: &[&str] = &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ];

    /// The version of Landlock that the kernel has; 0 for none, or if nothing may be restricted here.
    pub(in crate::sandbox) fn abi() -> u32 {
        // A restricted thread stays restricted, so that this takes one of its own.
        let found = thread::spawn(try_restricting).join();
        match found {
            Ok(Ok(LandlockStatus::Available {
                effective_abi,
                kernel_abi,
            })) => kernel_abi
                .and_then(|abi| u32::try_from(abi).ok())
                .unwrap_or(effective_abi as u32),
            Ok(Ok(_)) | Err(_) => 0,
            Ok(Err(error)) => {
                tracing::warn!(%error, "Landlock cannot be used");
                0
            }
        }
    }

    fn try_restricting() -> Result<LandlockStatus, RulesetError> {
        let ruleset = Ruleset::default().handle_access(AccessFs::Execute)?.create()?;
        Ok(ruleset.restrict_self()?.landlock)
    }

    /// Confines what this thread does and starts from now on. Other threads of this process stay as they are.
    ///
    /// # Errors
    /// If nothing was restricted.
    pub(crate) fn restrict_thread(reach: &Reach) -> io::Result<()> {
        match restrict(reach).map_err(io::Error::other)? {
            RulesetStatus::NotEnforced => Err(io::ErrorKind::Unsupported.into()),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }

    fn restrict(reach: &Reach) -> Result<RulesetStatus, RulesetError> {
        let all = AccessFs::from_all(KNOWN);
        let read = AccessFs::from_read(KNOWN);
        // With a device node of its own, root could read the whole disk.
        let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        let ruleset = Ruleset::default()
            .handle_access(all)?
            .scope(Scope::from_all(KNOWN))?
            .create()?
            .add_rules(path_beneath_rules(PROGRAMS, read))?
            .add_rules(path_beneath_rules(SETTINGS, read))?
            .add_rules(path_beneath_rules(NAME_SERVICES, read | AccessFs::ResolveUnix))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .add_rules(path_beneath_rules(&reach.read, read))?
            .add_rules(path_beneath_rules(&reach.write, write))?;
        Ok(ruleset.restrict_self()?.ruleset)
    }
}
