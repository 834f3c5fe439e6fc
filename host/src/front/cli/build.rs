//! `airlock build`: a plugin from its source, put into the folder of plugins and accepted there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use super::check::{Examined, examine};
use super::clean::clean;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::toolchain::{BRING, TARGET, has_target};
use super::{progress, tool};
use crate::host::{Config, Host};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::Digest;
use crate::model::manifest::Manifest;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the plugin's source
    #[arg(default_value = ".")]
    folder: PathBuf,

    /// Put the component into this folder, and do not accept it anywhere
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) async fn run(
    arguments: &Arguments,
    named: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    // Said before anything is built.
    let config = match arguments.out {
        Some(_) => None,
        None => Some(Config::load_to_look(named)?),
    };
    let into = match (&arguments.out, &config) {
        (Some(out), _) => out.clone(),
        (None, Some(config)) => config.plugins.clone(),
        (None, None) => PathBuf::new(),
    };
    let component = component(&arguments.folder)?;
    let examined = examine(&component, named, output).await?;
    let (Some(manifest), Some(digest)) = (&examined.checked.manifest, examined.checked.digest) else {
        return examined.told(&component, output);
    };
    let file = into.join(format!("{}.wasm", manifest.name));
    put(&component, &file)
        .map_err(|error| Problem::usage(format!("{} cannot be written: {error}", file.display())))?;
    if let Some(config) = config {
        accept(config, manifest, &file, digest).await?;
    }
    let document = || {
        json!({
            "plugin": manifest.name,
            "version": manifest.version,
            "file": file.display().to_string(),
            "digest": digest.to_string(),
            "accepted": arguments.out.is_none(),
            "lines": examined.lines,
            "doubts": examined.checked.doubts,
        })
    };
    output.data(|| built(manifest, &file, &examined), document)?;
    Ok(Exit::Done)
}

fn built(manifest: &Manifest, file: &Path, examined: &Examined) -> String {
    let mut text =
        format!("{} {} is in {}", manifest.name, clean(&manifest.version), clean(&file.to_string_lossy()));
    for doubt in &examined.checked.doubts {
        text.push_str(&format!("\nlook twice: {}", clean(doubt)));
    }
    if let Some(lines) = &examined.lines {
        text.push_str(&format!("\n{}", tool::to_add(lines)));
    }
    text
}

/// Builds what lies in the folder; gives the component's file.
fn component(folder: &Path) -> Result<PathBuf, Problem> {
    let manifest = folder.join("Cargo.toml");
    let Ok(manifest) = fs::canonicalize(&manifest) else {
        let hint = "`airlock new NAME` begins a plugin; `airlock build FOLDER` names its folder".to_owned();
        return Err(Problem::Usage(format!("there is no {}", manifest.display()), Some(hint)));
    };
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(folder)
        .args(["build", "--profile", "plugin", "--target", TARGET])
        .args(["--config", "profile.plugin.inherits=\"release\""])
        .args(["--message-format", "json-render-diagnostics"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = targeted(&mut cargo)?;
    let messages = String::from_utf8_lossy(&output);
    let made = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let made = made.filter(|message| message["manifest_path"].as_str().map(Path::new) == Some(&manifest));
    let files = made.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let mut files = files.filter_map(|file| file.as_str().map(PathBuf::from));
    files.find(|file| file.extension().is_some_and(|extension| extension == "wasm")).ok_or_else(|| {
        let hint = "write into its Cargo.toml: [lib] crate-type = [\"cdylib\"]".to_owned();
        Problem::Usage("what was built is no component".to_owned(), Some(hint))
    })
}

/// Runs cargo, where the target is there.
fn targeted(cargo: &mut Command) -> Result<Vec<u8>, Problem> {
    let absent = |text: String, hint: &str| Problem::Usage(text, Some(hint.to_owned()));
    if !has_target() {
        let runs =
            Command::new("cargo").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        return Err(match runs {
            Ok(_) => absent(format!("the target {TARGET} is not there"), &format!("bring it: {BRING}")),
            Err(error) => absent(format!("cargo does not run: {error}"), "install Rust: https://rustup.rs"),
        });
    }
    let ran = cargo.output().map_err(|error| Problem::usage(format!("cargo does not run: {error}")))?;
    if !ran.status.success() {
        let text = "the plugin does not build; what cargo says stands above";
        return Err(Failure::new(Kind::InvalidInput, code::FAULTS_FOUND, text).into());
    }
    Ok(ran.stdout)
}

/// Puts a file into its place at once: whoever looks there sees all of it or none.
fn put(component: &Path, file: &Path) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut aside = tempfile::Builder::new().prefix(".").tempfile_in(folder)?;
    std::io::copy(&mut fs::File::open(component)?, &mut aside)?;
    aside.persist(file)?;
    Ok(())
}

/// Accepts what was just built, where it is not the one that was accepted before.
async fn accept(config: Config, manifest: &Manifest, file: &Path, digest: Digest) -> Result<(), Problem> {
    let host = Host::open(config).await?;
    progress::loaded(&host).await;
    let waits = host.waiting().iter().any(|one| one.plugin == manifest.name && one.digest == digest);
    let accepted = if waits { host.trust(&manifest.name, digest).await } else { Ok(()) };
    let fault = host.faults().into_iter().find(|fault| fault.file == file);
    host.close().await;
    accepted?;
    match fault {
        None => Ok(()),
        Some(fault) => {
            let text =
                format!("{} cannot be used: {}; {}", file.display(), fault.faults.join("; "), fault.remedy);
            Err(Failure::new(Kind::InvalidInput, code::FAULTS_FOUND, text).into())
        }
    }
}
