//! Files beside a call: those that go with it, and those that come back.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::problem::Problem;
use crate::model::attachment::{ANY_BYTES, Attachment, is_media_type};

/// The media types of the usual files, by their ending.
const TYPES: &[(&str, &str)] = &[
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// What media types begin with.
const KINDS: &[&str] =
    &["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"];

/// Names that are tried for one file before its folder counts as full.
const TRIES: u32 = 1000;

/// Reads what is to go with a call: each a file, or a file and its media type (`photo:image/png`). `most` bounds the
/// bytes of all, so that reading ends.
pub(super) fn read(given: &[String], most: u64) -> Result<Vec<Attachment>, Problem> {
    let mut left = most.saturating_add(1);
    let mut attachments = Vec::new();
    for given in given {
        let (path, media_type) = named(given);
        let fails = |error| Problem::usage(format!("{} cannot be attached: {error}", path.display()));
        let mut bytes = Vec::new();
        File::open(&path).and_then(|file| file.take(left).read_to_end(&mut bytes)).map_err(fails)?;
        left = left.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        attachments.push(Attachment::new(&name, media_type, bytes));
    }
    Ok(attachments)
}

/// The file and its media type: what stands behind the last colon, where that is one, else by the ending.
fn named(given: &str) -> (PathBuf, &str) {
    match given.rsplit_once(':') {
        Some((path, media_type)) if is_of_a_kind(media_type) && !Path::new(given).exists() => {
            (path.into(), media_type)
        }
        Some(_) | None => (given.into(), by_ending(Path::new(given))),
    }
}

/// Whether the text is a media type and no path behind a colon.
fn is_of_a_kind(text: &str) -> bool {
    is_media_type(text) && KINDS.iter().any(|kind| text.split('/').next() == Some(kind))
}

fn by_ending(path: &Path) -> &'static str {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    TYPES.iter().find(|(known, _)| *known == ending).map_or(ANY_BYTES, |(_, media_type)| media_type)
}

/// Makes the folder that is to take what comes back, before anything is called.
pub(super) fn folder(path: &Path) -> Result<(), Problem> {
    fs::create_dir_all(path)
        .map_err(|error| Problem::usage(format!("the folder {} cannot be made: {error}", path.display())))
}

/// Saves attachments in a folder, each under its name or, where that is taken, under one like it. Gives the files.
pub(super) fn save(folder: &Path, attachments: &[Attachment]) -> Result<Vec<PathBuf>, Problem> {
    let save = |attachment: &Attachment| {
        let (mut file, path) = fresh(folder, &attachment.name)
            .map_err(|error| Problem::system(&format!("{} cannot be saved", attachment.name), &error))?;
        let written = file.write_all(&attachment.bytes).and_then(|()| file.sync_all());
        written.map_err(|error| Problem::system(&format!("{} cannot be saved", path.display()), &error))?;
        Ok(path)
    };
    attachments.iter().map(save).collect()
}

/// A file that was not there before: nothing is written over, and no link is followed.
fn fresh(folder: &Path, name: &str) -> std::io::Result<(File, PathBuf)> {
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        Some(_) | None => (name, String::new()),
    };
    for number in 1..=TRIES {
        let path = match number {
            1 => folder.join(name),
            _ => folder.join(format!("{stem}-{number}{ending}")),
        };
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_what_is_said_or_else_what_the_ending_says() {
        let of = |given: &str| {
            let (path, media_type) = named(given);
            format!("{} {media_type}", path.display())
        };
        assert_eq!(of("a/photo.PNG"), "a/photo.PNG image/png");
        assert_eq!(of("a/photo:image/webp"), "a/photo image/webp");
        assert_eq!(of("a:b/photo"), "a:b/photo application/octet-stream");
        assert_eq!(of("notes:12"), "notes:12 application/octet-stream");
    }

    #[test]
    fn nothing_is_written_over_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, secret) = (folder.path(), folder.path().join("elsewhere"));
        fs::write(folder.join("a.txt"), "mine").unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("a-2.txt")).unwrap();
        let attachment = Attachment::new("../a.txt", "text/plain", *b"theirs");
        let saved = save(folder, &[attachment.clone(), attachment]).unwrap();
        assert_eq!(saved, [folder.join("a-3.txt"), folder.join("a-4.txt")]);
        assert_eq!(fs::read(folder.join("a.txt")).unwrap(), b"mine");
        assert!(!secret.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_and_a_file_that_cannot_be_written_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let told = |problem: Problem| {
            let text = problem.failure().message;
            text.replace(folder.path().to_str().unwrap(), "HERE")
        };
        let below = file.join("below");
        let attachment = Attachment {
            name: "a.png".to_owned(),
            media_type: "image/png".to_owned(),
            bytes: Vec::new().into(),
        };
        let all = [told(self::folder(&below).unwrap_err()), told(save(&below, &[attachment]).unwrap_err())];
        insta::assert_snapshot!(all.join("\n"), @"
        the folder HERE/file/below cannot be made: Not a directory (os error 20)
        a.png cannot be saved: Not a directory (os error 20)
        ");
    }
}
