//! A file that is there as a whole or not at all.
//!
//! The bytes go to a file without a name where the system has such (Linux), else to a temporary beside the target. On
//! commit it takes the place of the target in one step. Whatever ends before that leaves the old file as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::path::{Path, PathBuf};

use super::target::{Target, lock};

/// How often a temporary is made again that another process took for abandoned before it was locked.
const MOST_TRIES: usize = 100;

#[derive(Debug)]
enum Place {
    /// It has no name yet.
    #[cfg(target_os = "linux")]
    Nowhere,
    /// It is a temporary.
    Beside(PathBuf),
    /// It is the target itself, which is no regular file: a pipe or a device.
    There,
}

/// A file that is being written.
pub(super) struct Output {
    file: File,
    target: Target,
    place: Place,
    /// The bytes that are still to be written.
    missing: u64,
}

impl Output {
    /// Begins a file of so many bytes that is to be at a path.
    pub(super) fn new(path: &Path, size: u64) -> io::Result<Self> {
        let target = Target::of(path)?;
        match &target.before {
            Some(before) if before.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Some(before) if !before.is_file() => {
                let file = OpenOptions::new().write(true).open(&target.path)?;
                return Ok(Self { file, target, place: Place::There, missing: size });
            }
            // Whoever made the file read-only did not want it replaced.
            Some(_) => drop(OpenOptions::new().append(true).open(&target.path)?),
            None => {}
        }
        target.sweep();
        let (file, place) = begin(&target)?;
        let output = Self { file, target, place, missing: size };
        output.keep_mode()?;
        output.reserve();
        Ok(output)
    }

    /// Writes some of the bytes; how many.
    pub(super) fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.file.write_vectored(parts)? {
            0 if parts.iter().any(|part| !part.is_empty()) => Err(ErrorKind::WriteZero.into()),
            written => {
                self.missing = self.missing.wrapping_sub(written as u64);
                Ok(written)
            }
        }
    }

    /// The bytes that are still to be written; not 0 where there were too many, either.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// Asks for the room on the disk at once, which is far cheaper than page by page.
    #[cfg(target_os = "linux")]
    fn reserve(&self) {
        use rustix::fs::{FallocateFlags, fallocate};
        if self.missing > 0 {
            // Not every file system can. One that is full says so when it is written to.
            let _ = fallocate(&self.file, FallocateFlags::empty(), 0, self.missing);
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "Linux has a call for it")]
    fn reserve(&self) {}

    /// Puts the file where it belongs. With `sync` it is on the disk before it is there, and its name after.
    pub(super) fn commit(mut self, sync: bool) -> io::Result<()> {
        if matches!(self.place, Place::There) {
            return self.file.flush();
        }
        if sync {
            self.file.sync_all()?;
        }
        #[cfg(target_os = "linux")]
        if matches!(self.place, Place::Nowhere) {
            let temporary = self.target.temporary();
            unnamed::give_name(&self.file, &temporary)?;
            self.place = Place::Beside(temporary);
        }
        if let Place::Beside(temporary) = &self.place {
            fs::rename(temporary, &self.target.path)?;
            self.place = Place::There;
        }
        if sync { sync_folder(self.target.folder()) } else { Ok(()) }
    }

    #[cfg(unix)]
    fn keep_mode(&self) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let Some(before) = &self.target.before else { return Ok(()) };
        let now = self.file.metadata()?;
        if now.mode() == before.mode() {
            return Ok(());
        }
        self.file.set_permissions(fs::Permissions::from_mode(before.permissions().mode() & 0o7777))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other systems have modes to keep")]
    fn keep_mode(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Place::Beside(temporary) = &self.place {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A new file that is not the target yet.
fn begin(target: &Target) -> io::Result<(File, Place)> {
    #[cfg(target_os = "linux")]
    if let Some(file) = unnamed::create(target.folder()) {
        return Ok((file, Place::Nowhere));
    }
    begin_beside(target)
}

fn begin_beside(target: &Target) -> io::Result<(File, Place)> {
    for _ in 0..MOST_TRIES {
        let temporary = target.temporary();
        // Without a mode of ours: the system's umask decides.
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => {
                lock(&file);
                if temporary.exists() {
                    return Ok((file, Place::Beside(temporary)));
                }
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("every name for a temporary file was taken"))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync no folders, and a folder that can be written to may be closed to readers.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::PermissionDenied | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "other systems have folders to sync")]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Files without a name, which go with the process that makes them.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    use super::lock;

    /// Where the system shows open files, through which one gets a name.
    const OPEN_FILES: &str = "/proc/self/fd";

    /// A new file in a folder; nothing where it is not to be had.
    pub(super) fn create(folder: &Path) -> Option<File> {
        if !Path::new(OPEN_FILES).is_dir() {
            return None;
        }
        let mode = Mode::from_raw_mode(0o666);
        let file: File = open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode).ok()?.into();
        lock(&file);
        Some(file)
    }

    pub(super) fn give_name(file: &File, path: &Path) -> io::Result<()> {
        let shown = format!("{OPEN_FILES}/{}", file.as_raw_fd());
        Ok(linkat(CWD, shown.as_str(), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let path = Target::of(&std::env::temp_dir().join("clika-output")).unwrap().temporary();
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> =
                fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn beside(path: &Path) -> Output {
        let target = Target::of(path).unwrap();
        let (file, place) = begin_beside(&target).unwrap();
        Output { file, target, place, missing: 0 }
    }

    #[test]
    fn a_file_is_there_after_the_commit_and_not_before() {
        let folder = Folder::new();
        let path = folder.0.join("a");
        for make in [|path: &Path| Output::new(path, 0).unwrap(), beside] {
            fs::write(&path, "old").unwrap();
            let mut output = make(&path);
            assert_eq!(output.write(&[IoSlice::new(b"ne"), IoSlice::new(b"w")]).unwrap(), 3);
            assert_eq!(fs::read(&path).unwrap(), b"old");
            output.commit(true).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(folder.names(), ["a"]);
        }
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = Folder::new();
        let path = folder.0.join("a");
        for make in [|path: &Path| Output::new(path, 0).unwrap(), beside] {
            drop(make(&path));
            assert!(folder.names().is_empty());
        }
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary() {
        let folder = Folder::new();
        let path = folder.0.join("a");
        for make in [|path: &Path| Output::new(path, 0).unwrap(), beside] {
            let output = make(&path);
            fs::create_dir(&path).unwrap();
            assert!(output.commit(false).is_err());
            assert_eq!(folder.names(), ["a"]);
            fs::remove_dir(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn modes_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new();
        let (path, link) = (folder.0.join("a"), folder.0.join("l"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        Output::new(&link, 0).unwrap().commit(false).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read(&path).unwrap(), b"");
    }
}
