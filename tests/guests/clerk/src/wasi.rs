//! Files through WASI, as the language's own library reaches them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Errand {
    r#do: Do,
    path: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    offset: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Do {
    Read,
    List,
    Write,
    Create,
    Append,
    Truncate,
    SetLength,
    SetTimes,
    CreateDir,
    RemoveFile,
    RemoveDir,
    Rename,
    HardLink,
    SymLink,
}

impl Errand {
    pub(crate) fn run(self) -> io::Result<Vec<u8>> {
        let path = self.path.as_str();
        match self.r#do {
            Do::Read => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(self.offset))?;
                let mut bytes = Vec::new();
                file.take(64 << 10).read_to_end(&mut bytes)?;
                return Ok(bytes);
            }
            Do::List => {
                let names: io::Result<Vec<String>> = fs::read_dir(path)?
                    .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                    .collect();
                let mut names = names?;
                names.sort();
                return Ok(names.join(", ").into_bytes());
            }
            Do::Write => fs::write(path, "by the guest")?,
            Do::Create => drop(File::create_new(path)?),
            Do::Append => OpenOptions::new().append(true).open(path)?.write_all(b"by the guest")?,
            Do::Truncate => drop(OpenOptions::new().write(true).truncate(true).open(path)?),
            Do::SetLength => File::open(path)?.set_len(0)?,
            Do::SetTimes => File::open(path)?.set_modified(std::time::UNIX_EPOCH)?,
            Do::CreateDir => fs::create_dir(path)?,
            Do::RemoveFile => fs::remove_file(path)?,
            Do::RemoveDir => fs::remove_dir(path)?,
            Do::Rename => fs::rename(path, &self.to)?,
            Do::HardLink => fs::hard_link(path, &self.to)?,
            Do::SymLink => return symlink(&self.to, path),
        }
        Ok(Vec::new())
    }
}

/// The standard library has no link for WASI that is stable; what makes one in C does.
#[expect(unsafe_code, reason = "only C can ask for a link here")]
fn symlink(to: &str, path: &str) -> io::Result<Vec<u8>> {
    unsafe extern "C" {
        fn symlink(to: *const std::ffi::c_char, path: *const std::ffi::c_char) -> std::ffi::c_int;
    }
    let (to, path) = (std::ffi::CString::new(to)?, std::ffi::CString::new(path)?);
    // SAFETY: both are texts that end with a NUL, and live until the call is over.
    match unsafe { symlink(to.as_ptr(), path.as_ptr()) } {
        0 => Ok(Vec::new()),
        _ => Err(io::Error::last_os_error()),
    }
}
