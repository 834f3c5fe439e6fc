//! `airlock init`: a commented configuration and a folder for plugins.

use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;

use super::output::Output;
use super::problem::{Exit, Problem};
use crate::host::Config;

pub(super) fn run(config: Option<&Path>, output: Output) -> Result<Exit, Problem> {
    let file = config.unwrap_or(Path::new("airlock.toml"));
    let folder = file.parent().unwrap_or(Path::new(""));
    let plugins = folder.join("plugins");
    let refused =
        |path: &Path, error: &Error| Problem::usage(format!("{} cannot be made: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| refused(folder, &error))?;
    // Whatever the umask says: a configuration that others can write is not obeyed.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(file);
    let written = made.and_then(|mut made| made.write_all(Config::reference().as_bytes()));
    written.map_err(|error| {
        if error.kind() != ErrorKind::AlreadyExists {
            return refused(file, &error);
        }
        let text = format!("{} is there already and was left as it is", file.display());
        Problem::Usage(text, Some("`airlock init --config FILE` writes it elsewhere".to_owned()))
    })?;
    fs::create_dir_all(&plugins).map_err(|error| refused(&plugins, &error))?;
    if output.json {
        output.data(String::new, || json!({ "config": file, "plugins": plugins }))?;
    }
    output.note(&format!("wrote {} and the folder {}", file.display(), plugins.display()));
    output.note("next:");
    output.note(&format!("  1. put plugins (.wasm files) into {}", plugins.display()));
    output.note("  2. `airlock tools` lists their tools, `airlock tools NAME` what one needs");
    output.note(&format!("  3. grant what they need in {}", file.display()));
    output.note("  4. `airlock call NAME '{…}'` calls one");
    Ok(Exit::Done)
}
