//! Files that are written completely or not at all.
//!
//! A [`NewFile`] is written under a temporary name in the folder of its target. It is renamed to the target only when
//! all of it is on the disk. Until then, and if anything fails (a full disk, a killed process), the target is not
//! changed. The exception is a target that is no ordinary file (a terminal, a pipe), which is written in place.
//!
//! ```
//! let path = std::env::temp_dir().join(format!("shardwise-doc-{}.txt", std::process::id()));
//! shardwise_base::file::write(&path, "all of it")?;
//! assert_eq!(std::fs::read_to_string(&path)?, "all of it");
//! # std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A path that leads through this many symbolic links, one after the other, is refused.
const MAX_LINKS: usize = 40;

/// Writes a whole file, or leaves the old one unchanged. Symbolic links are followed. A target that is no ordinary file
/// (a terminal, a pipe) is written in place.
///
/// # Errors
/// Fails as [`NewFile::create`] and [`NewFile::commit`] do, or if the contents cannot be written.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(contents.as_ref())?;
    file.commit()
}

/// A file being written. If it is dropped without [`NewFile::commit`], the target is not changed. A target that is no
/// ordinary file (a terminal, a pipe, `/dev/null`) is written in place.
pub struct NewFile {
    /// The open file; `None` once it is committed.
    writer: Option<BufWriter<Disk>>,
    target: PathBuf,
    /// The temporary path. `None` if the target is written in place, and once the file is at its target.
    temporary: Option<PathBuf>,
}

impl NewFile {
    /// Starts a file that will be at `path`, or at the end of the symbolic links if `path` is one.
    ///
    /// # Errors
    /// Fails if the target is a folder or a file that may not be written, or if there are 40 symbolic links or more.
    /// Otherwise returns the error of the system if there is one, such as that of a folder that does not exist or
    /// cannot be written.
    pub fn create(path: &Path) -> io::Result<NewFile> {
        // The link of the system to an open pipe (`/dev/stdout`) leads to no path, but can be opened.
        let target = match fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => path.to_path_buf(),
            _ => followed(path)?,
        };
        let existing = match fs::metadata(&target) {
            Ok(found) if found.is_dir() => return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder")),
            Ok(found) => Some((OpenOptions::new().write(true).open(&target)?, found)),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let (file, temporary, permissions) = match existing {
            Some((file, found)) if !found.is_file() => (file, None, None),
            existing => {
                let (file, temporary) = temporary_beside(&target)?;
                (file, Some(temporary), existing.map(|(_, found)| found.permissions()))
            }
        };
        let mut new = NewFile { writer: Some(BufWriter::new(Disk(file))), target, temporary };
        if let Some(permissions) = permissions {
            new.writer().get_ref().set_permissions(permissions)?;
        }
        Ok(new)
    }

    /// Writes everything to the disk and moves the file to its target. For a target that is written in place, only
    /// writes the rest of the buffered bytes.
    ///
    /// # Errors
    /// Returns the error of the system. The target is then unchanged, unless it is written in place.
    pub fn commit(mut self) -> io::Result<()> {
        let mut writer = self.writer.take().expect("a file is committed once");
        writer.flush()?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        writer.get_ref().sync()?;
        drop(writer);
        injected()?;
        fs::rename(temporary, &self.target)?;
        self.temporary = None;
        sync_folder(&self.target);
        Ok(())
    }

    fn writer(&mut self) -> &mut BufWriter<Disk> {
        self.writer.as_mut().expect("not committed")
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer().seek(to)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The buffered bytes are discarded on purpose.
            self.writer.take().map(BufWriter::into_parts);
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Follows the symbolic links from `path`. Returns the first path that is not a readable symbolic link. There need not
/// be a file at this path. Fails if there are [`MAX_LINKS`] links or more.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("there are 40 symbolic links or more, one after the other"))
}

/// Returns the number of the process that writes the temporary file of this name, or wrote it if it has ended. Returns
/// `None` if this is no name of a temporary file.
pub fn writer_of_temporary(name: &str) -> Option<u32> {
    let (process, _) = name.strip_prefix(".shardwise-")?.strip_suffix(".tmp")?.split_once('-')?;
    process.parse().ok()
}

/// Creates a file in the target's folder under a name that no other file has, and returns it with its path. Fails if
/// the file cannot be created.
fn temporary_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    loop {
        let name = format!(".shardwise-{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let temporary = target.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Asks the system to write the new name to the disk. If this fails, either the old file or the new one is there after
/// a power failure, and it is complete.
fn sync_folder(target: &Path) {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(folder).and_then(|f| f.sync_all());
}

/// A file whose writes, synchronisations and changes of permissions can be made to fail in tests.
struct Disk(File);

impl Disk {
    fn set_permissions(&self, permissions: fs::Permissions) -> io::Result<()> {
        injected()?;
        self.0.set_permissions(permissions)
    }

    fn sync(&self) -> io::Result<()> {
        injected()?;
        self.0.sync_all()
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        injected()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

thread_local! {
    /// Number of operations on this thread until one is made to fail, that one included; 0 if none is to fail.
    static FAILS_IN: Cell<u64> = const { Cell::new(0) };
}

/// Makes the `n`th change of permissions, write, synchronisation or renaming of a [`NewFile`] on this thread from now
/// fail as if the disk were full; 0 disarms. Writes to the buffer do not count. Returns the number of operations that
/// were left until an earlier injected failure, that one included, or 0 if none was left. For failure injection.
pub fn fail_at(n: u64) -> u64 {
    FAILS_IN.replace(n)
}

/// Counts one operation, and fails if it is the one at which a failure is to be injected.
fn injected() -> io::Result<()> {
    let left = FAILS_IN.get();
    FAILS_IN.set(left.saturating_sub(1));
    if left == 1 { Err(io::Error::new(ErrorKind::StorageFull, "no space left on the disk (injected)")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new folder that is removed when this is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("shardwise-file-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let names = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_failure_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new("failures");
        let path = folder.0.join("a.txt");
        write(&path, "old").unwrap();
        let new = vec![b'x'; 100_000];
        for n in 1.. {
            fail_at(n);
            let written = (|| {
                let mut file = NewFile::create(&path)?;
                new.chunks(1000).try_for_each(|chunk| file.write_all(chunk))?;
                file.commit()
            })();
            fail_at(0);
            assert_eq!(folder.names(), ["a.txt"]);
            if written.is_ok() {
                assert!(n > 6, "a change of permissions, writes, a synchronisation and a renaming have failed");
                break;
            }
            assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
        assert_eq!(fs::read(&path).unwrap(), new);
    }

    #[test]
    fn a_file_that_is_dropped_or_abandoned_never_was() {
        let folder = Folder::new("dropped");
        let path = folder.0.join("a.txt");
        NewFile::create(&path).unwrap().write_all(b"half").unwrap();
        let panicked = std::panic::catch_unwind(|| {
            let _file = NewFile::create(&path).unwrap();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panicked.is_err() && folder.names().is_empty());
    }

    #[test]
    fn targets_that_cannot_be_written_are_refused() {
        let folder = Folder::new("targets");
        let kind = |path: PathBuf| write(&path, "x").unwrap_err().kind();
        assert_eq!(kind(folder.0.clone()), ErrorKind::IsADirectory);
        assert_eq!(kind(folder.0.join("missing/a.txt")), ErrorKind::NotFound);
        write(&folder.0.join("a.txt"), "x").unwrap();
        assert_eq!(kind(folder.0.join("a.txt/b.txt")), ErrorKind::NotADirectory);
        assert_eq!(folder.names(), ["a.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let at = |name: &str| folder.0.join(name);
        write(&at("real.txt"), "old").unwrap();
        fs::set_permissions(at("real.txt"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real.txt", at("link.txt")).unwrap();
        symlink("to_be.txt", at("dangling.txt")).unwrap();
        symlink("circle.txt", at("circle.txt")).unwrap();
        write(&at("link.txt"), "new").unwrap();
        write(&at("dangling.txt"), "made").unwrap();
        assert!(write(&at("circle.txt"), "x").is_err());
        assert_eq!(fs::read_to_string(at("real.txt")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("to_be.txt")).unwrap(), "made");
        assert_eq!(fs::metadata(at("real.txt")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(at("link.txt")).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_in_place() {
        write(Path::new("/dev/null"), "x").unwrap();
        assert_eq!(write(Path::new("/dev/full"), "x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(!fs::metadata("/dev/null").unwrap().is_file() && !fs::metadata("/dev/full").unwrap().is_file());
    }

    /// Tests the path of an open pipe, as `/dev/stdout` is one, which is a link to a name that is no path.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_pipe_is_written_in_place() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        write(Path::new(&format!("/proc/self/fd/{}", writer.as_raw_fd())), "all of it").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "all of it");
    }
}
