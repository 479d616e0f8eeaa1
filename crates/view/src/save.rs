//! Timelines in files.

use crate::Timeline;
use shardwise_base::{Diagnostic, Diagnostics, Loc, file};
use std::path::Path;
use std::{fs, io};

/// A format of files of timelines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// One page for any browser, which needs no network: `.html`.
    Html,
    /// Chrome's trace events, which Perfetto opens as well: `.json`.
    Chrome,
    /// Perfetto's own format: `.pftrace` and `.perfetto-trace`.
    Perfetto,
    /// The format of XProf and TensorBoard: `.xplane.pb`.
    XSpace,
}

const EXTENSIONS: [(&str, Format); 5] = [
    (".html", Format::Html),
    (".json", Format::Chrome),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".xplane.pb", Format::XSpace),
];

impl Format {
    /// Returns the format of the file at `path`, by the end of its name in upper or lower case.
    ///
    /// # Errors
    /// Fails if the name ends with the extension of no format. The error lists the extensions.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise_view::Format;
    ///
    /// assert_eq!(Format::of("out/step.xplane.pb").unwrap(), Format::XSpace);
    /// assert!(Format::of("step.png").unwrap_err().to_string().contains(".pftrace"));
    /// ```
    pub fn of(path: impl AsRef<Path>) -> Result<Format, Diagnostic> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let found = EXTENSIONS.iter().find(|(extension, _)| name.ends_with(extension));
        found.map(|&(_, format)| format).ok_or_else(|| unknown_format(path))
    }
}

impl Timeline {
    /// Returns the contents of a file of the timeline. `program` is the text of the program, which a page shows beside
    /// the timeline.
    ///
    /// # Panics
    /// Panics in debug builds, and may panic in others, if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn to_bytes(&self, format: Format, program: Option<&str>) -> Vec<u8> {
        debug_assert_eq!(self.check(), Ok(()));
        match format {
            Format::Html => self.to_html(program).into_bytes(),
            Format::Chrome => self.to_chrome_json().into_bytes(),
            Format::Perfetto => self.to_perfetto(),
            Format::XSpace => self.to_xspace(),
        }
    }

    /// Writes the timeline to a file in the format of its extension ([`Format::of`]). The file is written completely,
    /// or not changed. `program` is the text of the program, which a page shows beside the timeline.
    ///
    /// # Errors
    /// Fails if the extension is not known or if the file cannot be written.
    ///
    /// # Panics
    /// Panics in debug builds, and may panic in others, if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn save(&self, path: impl AsRef<Path>, program: Option<&str>) -> Result<(), Diagnostics> {
        let path = path.as_ref();
        let contents = self.to_bytes(Format::of(path)?, program);
        file::write(path, contents).map_err(|e| unwritable(path, &e).into())
    }
}

/// Checks that a timeline can be saved at `path`, as far as that can be known before there is one.
///
/// # Errors
/// Fails if the name ends with the extension of no format, or if the file cannot be made because its folder does not
/// exist, is no folder or cannot be looked up, or because the name is that of a folder.
pub fn check_path(path: impl AsRef<Path>) -> Result<(), Diagnostics> {
    let path = path.as_ref();
    Format::of(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_folder = |path: &Path| Ok(fs::metadata(path)?.is_dir());
    let found = match folder.map_or(Ok(true), is_folder) {
        Ok(true) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(true) => Ok(()),
        Ok(false) => Err(io::ErrorKind::NotADirectory.into()),
        Err(e) => Err(e),
    };
    found.map_err(|e: io::Error| unwritable(path, &e).into())
}

fn unknown_format(path: &Path) -> Diagnostic {
    let known: Vec<&str> = EXTENSIONS.iter().map(|&(extension, _)| extension).collect();
    let message = format!("the extension of `{}` is not that of a format for timelines", path.display());
    Diagnostic::error("timeline-format", &Loc::UNKNOWN, message)
        .expected(format!("a name that ends with one of {}", known.join(", ")))
        .help("use .html for a page that any browser shows")
}

fn unwritable(path: &Path, why: &io::Error) -> Diagnostic {
    Diagnostic::error("timeline-unwritable", &Loc::UNKNOWN, format!("cannot write `{}`: {why}", path.display()))
        .note("what was there before is unchanged")
        .help("check the folder, its permissions and the free space")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Maker;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("shardwise-view-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn timeline() -> Timeline {
        Timeline::new("a.mlir", Maker::Measured { machine: "host".into() })
    }

    #[test]
    fn the_extension_decides() {
        let found =
            ["a.html", "b/A.JSON", "a.pftrace", "a.perfetto-trace", "a.xplane.pb"].map(|p| Format::of(p).unwrap());
        assert_eq!(found, [Format::Html, Format::Chrome, Format::Perfetto, Format::Perfetto, Format::XSpace]);
        for wrong in ["a.pb", "html", "a.html.gz", "a.html/b", ""] {
            let error = Format::of(wrong).unwrap_err().to_string();
            assert!(EXTENSIONS.iter().all(|(extension, _)| error.contains(extension)), "{error}");
        }
    }

    #[test]
    fn a_file_is_written_completely_or_not_at_all() {
        let folder = folder("save");
        for (extension, format) in EXTENSIONS {
            let path = folder.join(format!("a{extension}"));
            fs::write(&path, "before").unwrap();
            let mut failures = 0;
            for operation in 1.. {
                file::fail_at(operation);
                let saved = timeline().save(&path, None);
                if file::fail_at(0) > 0 {
                    saved.unwrap();
                    break;
                }
                assert!(saved.unwrap_err().to_string().contains("no space left"));
                assert_eq!(fs::read(&path).unwrap(), b"before");
                failures += 1;
            }
            assert!(failures > 0);
            assert_eq!(fs::read(&path).unwrap(), timeline().to_bytes(format, None));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), EXTENSIONS.len());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn places_that_cannot_be_written_are_refused() {
        let folder = folder("refused");
        fs::create_dir(folder.join("b.html")).unwrap();
        fs::write(folder.join("c"), "").unwrap();
        let unwritable = ["missing/a.html", "b.html", "c/a.html"].map(|name| (name, "timeline-unwritable"));
        for (name, code) in unwritable.into_iter().chain([("a.txt", "timeline-format")]) {
            let path = folder.join(name);
            for found in [timeline().save(&path, None), check_path(&path)] {
                assert_eq!(found.unwrap_err().0[0].code, code, "{name}");
            }
        }
        check_path(folder.join("a.html")).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
