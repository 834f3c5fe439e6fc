//! `airlock new`: a folder with a plugin that builds, with a test that passes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::Output;
use super::problem::{Exit, Problem};
use crate::model::id::is_name;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The plugin's name, and that of its folder, such as greeter
    name: String,

    /// The folder plugin-sdk of airlock's source; where this is left out, the one that this program was built from
    #[arg(long, value_name = "FOLDER")]
    sdk: Option<PathBuf>,
}

const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("new/manifest.txt")),
    ("src/lib.rs", include_str!("new/plugin.txt")),
    (".cargo/config.toml", include_str!("new/settings.txt")),
    (".gitignore", "/target\n"),
    ("README.md", include_str!("new/readme.txt")),
];

/// Names that Rust or cargo keeps for itself, or that the plugin's own dependencies have.
const KEPT: &[&str] = &[
    "alloc",
    "as",
    "async",
    "await",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "pub",
    "ref",
    "return",
    "schemars",
    "self",
    "serde",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "type",
    "unsafe",
    "use",
    "where",
    "while",
    "abstract",
    "become",
    "box",
    "do",
    "final",
    "macro",
    "override",
    "priv",
    "proc_macro",
    "try",
    "typeof",
    "unsized",
    "virtual",
    "yield",
];

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Exit, Problem> {
    let name = &arguments.name;
    nameable(name)?;
    let sdk = sdk(arguments.sdk.as_deref())?;
    let folder = Path::new(name);
    let refused = |path: &Path, error: &std::io::Error| {
        Problem::usage(format!("{} cannot be made: {error}", path.display()))
    };
    if folder.exists() {
        let text = format!("{name} is there already and was left as it is");
        return Err(Problem::Usage(text, Some("choose another name, or another folder to be in".to_owned())));
    }
    let quoted = json!(sdk).to_string();
    for (file, text) in FILES {
        let path = folder.join(file);
        let text = text.replace("{{name}}", name).replace("{{sdk}}", &quoted);
        let made = fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| fs::write(&path, text));
        made.map_err(|error| refused(&path, &error))?;
    }
    if output.json {
        let files: Vec<PathBuf> = FILES.iter().map(|(file, _)| folder.join(file)).collect();
        output
            .data(String::new, || json!({ "plugin": name, "folder": folder, "files": files, "sdk": sdk }))?;
    }
    output.note(&format!("wrote the plugin {name} into the folder {name}"));
    output.note("next:");
    output.note(&format!("  1. `(cd {name} && cargo test)` runs its tests"));
    output.note(&format!("  2. `airlock build {name}` builds it, and puts it into the folder of plugins"));
    output.note(&format!("  3. `airlock call {name}.greet '{{\"name\":\"Ada\"}}'` calls it"));
    output.note(&format!("  4. write tools of your own in {name}/src/lib.rs"));
    Ok(Exit::Done)
}

/// Whether a plugin, a package and a folder can have this name.
fn nameable(name: &str) -> Result<(), Problem> {
    let wrong = |why: &str| {
        let hint = "give a name such as greeter or order_desk".to_owned();
        Err(Problem::Usage(format!("no plugin can have this name, for {why}: {name}"), Some(hint)))
    };
    match name {
        _ if !is_name(name) => wrong(
            "one begins with a small letter, and has small letters, digits and single _ alone, at most 64",
        ),
        "airlock" | "airlock_sdk" => wrong("it is that of the host's own"),
        _ if KEPT.contains(&name) => wrong("it means something else in Rust"),
        _ => Ok(()),
    }
}

/// Where the SDK lies: where it is said to, or beside what this program was built from.
fn sdk(named: Option<&Path>) -> Result<PathBuf, Problem> {
    let is_sdk =
        |folder: &Path| folder.join("src/lib.rs").is_file() && folder.join("../wit/plugin.wit").is_file();
    let hint = || {
        Some("it comes with airlock's source: say `--sdk FOLDER`, where FOLDER is its plugin-sdk".to_owned())
    };
    let found = match named {
        Some(named) if is_sdk(named) => Some(named.to_owned()),
        Some(named) => {
            return Err(Problem::Usage(format!("the SDK is not there: {}", named.display()), hint()));
        }
        None => {
            let program = std::env::current_exe().unwrap_or_default();
            program.ancestors().map(|folder| folder.join("plugin-sdk")).find(|folder| is_sdk(folder))
        }
    };
    let found =
        found.ok_or_else(|| Problem::Usage("the SDK does not lie beside this program".to_owned(), hint()))?;
    fs::canonicalize(&found)
        .map_err(|error| Problem::usage(format!("{} cannot be read: {error}", found.display())))
}
