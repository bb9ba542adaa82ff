//! Where a file is written: through symbolic links, with the mode it has, and beside which temporaries.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How many links are followed, as in the kernel.
const MOST_LINKS: usize = 40;
/// The name of a temporary is a dot, the name of the file, a dot, so many hexadecimal digits, and the ending.
const DIGITS: usize = 16;
const ENDING: &str = ".clika-tmp";
/// The longest name that file systems take, in bytes.
const LONGEST_NAME: usize = 255;

/// A file that is to be made or replaced.
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// What is there now.
    pub(super) before: Option<Metadata>,
}

impl Target {
    /// Follows the links of a path; the last one may lead to nothing yet.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    let link = fs::read_link(&path)?;
                    path = path.parent().unwrap_or(Path::new("")).join(link);
                }
                Ok(found) => return Ok(Self { path, before: Some(found) }),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self { path, before: None }),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("the path leads through symbolic links in a circle"))
    }

    pub(super) fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Names of temporaries of this file begin so.
    fn prefix(&self) -> OsString {
        let name = self.path.file_name().unwrap_or_default();
        let mut prefix = OsString::from(".");
        prefix.push(name);
        let room = LONGEST_NAME - DIGITS - ENDING.len() - 1;
        if prefix.len() > room {
            // Two files of one long beginning may not have temporaries of one name.
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write(name.as_encoded_bytes());
            return format!(".{:016x}.", hasher.finish()).into();
        }
        prefix.push(".");
        prefix
    }

    /// A path beside the file that nobody else uses.
    pub(super) fn temporary(&self) -> PathBuf {
        let mut name = self.prefix();
        name.push(format!("{:016x}{ENDING}", RandomState::new().build_hasher().finish()));
        self.folder().join(name)
    }

    /// Removes the temporaries of processes that were killed. Failing to is no failure of what comes next.
    pub(super) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.folder()) else { return };
        let prefix = self.prefix();
        for entry in entries.flatten() {
            if is_temporary(&entry.file_name(), &prefix) {
                remove_abandoned(&entry.path());
            }
        }
    }
}

fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let digits = rest.and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

/// Removes a temporary that no process has locked.
fn remove_abandoned(path: &Path) {
    if File::open(path).is_ok_and(|file| lock(&file)) {
        let _ = fs::remove_file(path);
    }
}

/// Marks a temporary as one that is in use, until the file is closed or the process ends.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Windows removes no file that is open.
#[cfg(not(unix))]
pub(super) fn lock(_file: &File) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("clika-target-{:x}", RandomState::new().build_hasher().finish()));
        fs::create_dir(&folder).unwrap();
        folder
    }

    #[test]
    fn the_abandoned_temporaries_of_this_file_are_removed() {
        let folder = folder();
        let target = Target::of(&folder.join("a.b")).unwrap();
        let (dead, living) = (target.temporary(), target.temporary());
        let others = [".a.b.x.clika-tmp", ".a.0123456789abcdef.clika-tmp", "a.b", ".a.b.0123456789abcdef.tmp"];
        File::create(&dead).unwrap();
        let file = File::create(&living).unwrap();
        assert!(lock(&file));
        for name in others {
            File::create(folder.join(name)).unwrap();
        }
        target.sweep();
        assert!(!dead.exists() && living.exists());
        assert!(others.iter().all(|name| folder.join(name).exists()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_long_name_has_temporaries_that_fit() {
        let target = Target::of(&std::env::temp_dir().join("n".repeat(250))).unwrap();
        let temporary = target.temporary();
        let name = temporary.file_name().unwrap();
        assert!(name.len() <= LONGEST_NAME && is_temporary(name, &target.prefix()));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_also_to_nothing() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        symlink("b", folder.join("a")).unwrap();
        symlink("c/d", folder.join("b")).unwrap();
        symlink("y", folder.join("x")).unwrap();
        symlink("x", folder.join("y")).unwrap();
        assert_eq!(Target::of(&folder.join("a")).unwrap().path, folder.join("c/d"));
        assert!(Target::of(&folder.join("x")).is_err());
        assert_eq!(Target::of(Path::new("plain-name-of-nothing")).unwrap().folder(), Path::new("."));
        fs::remove_dir_all(folder).unwrap();
    }
}
