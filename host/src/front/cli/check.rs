//! `airlock check`: what a file declares, imports and would be granted, before it is put into the folder of plugins.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::clean::clean;
use super::layout::table;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::watched;
use super::tool;
use crate::host::{Beside, Checked, Config, Explanation, Host};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::manifest::{Manifest, Tool};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The component, a .wasm file
    file: PathBuf,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let file = &arguments.file;
    if !file.is_file() {
        return Err(Problem::usage(format!("there is no such file: {}", file.display())));
    }
    examine(file, config, output).await?.told(file, output)
}

/// What was found in a file, and what the configuration grants of what it needs.
pub(super) struct Examined {
    pub(super) checked: Checked,
    pub(super) lines: Option<String>,
    beside: Vec<Beside>,
}

/// Examines a file as if it lay in the folder of plugins. What is compiled and kept on the way goes again.
pub(super) async fn examine(file: &Path, config: Option<&Path>, output: Output) -> Result<Examined, Problem> {
    let aside = tempfile::tempdir().map_err(|error| Problem::system("no folder can be made", &error))?;
    let (config, without) = configured(config, aside.path())?;
    without.iter().for_each(|why| output.note(why));
    let host = Host::open(config).await?;
    let checked = watched(&format!("compiling {}", file.display()), host.check(file)).await;
    let (beside, lines) = match &checked.manifest {
        Some(manifest) => {
            (host.beside(&manifest.name, &manifest.tools), host.lines(&manifest.name, &manifest.tools))
        }
        None => (Vec::new(), None),
    };
    host.close().await;
    Ok(Examined { checked, lines, beside })
}

impl Examined {
    /// Tells all of it.
    pub(super) fn told(&self, file: &Path, output: Output) -> Result<Exit, Problem> {
        let Self { checked, lines, beside } = self;
        let text = || match &checked.manifest {
            Some(manifest) => {
                let needs = tool::needs(beside, true);
                let needs = [needs, lines.as_deref().map(tool::to_add).unwrap_or_default()].join("\n");
                passed(file, manifest, checked, needs.trim_end())
            }
            None => failed(file, checked),
        };
        let imports = checked.imports.iter().map(|one| json!({ "import": one.import, "by": by(&one.by) }));
        let document = json!({
            "file": file.display().to_string(),
            "digest": checked.digest.map(|digest| digest.to_string()),
            "manifest": checked.manifest.as_ref().map(declared),
            "imports": imports.collect::<Value>(),
            "exports": checked.exports,
            "needs": tool::needs_document(beside),
            "lines": lines,
            "faults": checked.faults,
            "remedy": checked.remedy,
            "doubts": checked.doubts,
        });
        let summary = format!("{} cannot be used", file.display());
        let failure = || Failure::new(Kind::InvalidInput, code::FAULTS_FOUND, summary);
        output.found(text, document, checked.manifest.is_none().then(failure))
    }
}

/// The configuration to look with, its state elsewhere; and why it is not the one that was found, where it is not.
fn configured(named: Option<&Path>, aside: &Path) -> Result<(Config, Option<String>), Problem> {
    let (config, without) = match Config::load_to_look(named) {
        Ok(config) => (config, None),
        Err(faults) if named.is_some() => return Err(faults.into()),
        Err(_) => {
            let none = Config::parse("", &aside.join("airlock.toml"), &|_| None)?;
            let why = "note: there is no configuration that can be read, so nothing is granted; `airlock doctor` says why";
            (none, Some(why.to_owned()))
        }
    };
    Ok((Config { state: aside.join("state"), ..config }, without))
}

fn passed(file: &Path, manifest: &Manifest, checked: &Checked, needs: &str) -> String {
    let digest = checked.digest.map(|digest| digest.to_string()).unwrap_or_default();
    let tools = |tool: &Tool| {
        [
            tool.name.clone(),
            tool.risk.word().to_owned(),
            tool.repeat.word().to_owned(),
            tool.cleanup.word().to_owned(),
            tool.permissions.join(", "),
            tool.title.clone(),
        ]
    };
    let (inert, explained): (Vec<_>, Vec<_>) =
        checked.imports.iter().partition(|one| one.by == Explanation::Inert);
    let rows = explained.iter().map(|one| [one.import.clone(), by(&one.by)]).collect();
    let mut imports = table(["IMPORT", "EXPLAINED BY"], rows);
    if !inert.is_empty() {
        imports.push_str(&format!(
            "\nand {} that its language brings, and that give nothing; `--json` lists them",
            inert.len()
        ));
    }
    let mut parts = vec![
        format!("{} {}: {}", manifest.name, clean(&manifest.version), clean(&manifest.description)),
        format!("file     {}\nSHA-256  {digest}", clean(&file.to_string_lossy())),
        table(
            ["TOOL", "RISK", "REPEAT", "CLEANUP", "PERMISSIONS", "TITLE"],
            manifest.tools.iter().map(tools).collect(),
        ),
        needs.to_owned(),
        imports,
        format!("exports\n{}", listed(&checked.exports)),
    ];
    if !checked.doubts.is_empty() {
        parts.push(format!("look twice\n{}", listed(&checked.doubts)));
    }
    parts.join("\n\n")
}

fn failed(file: &Path, checked: &Checked) -> String {
    let remedy =
        checked.remedy.as_ref().map(|remedy| format!("\nhint: {}", clean(remedy))).unwrap_or_default();
    format!("{} cannot be used:\n{}{remedy}", clean(&file.to_string_lossy()), listed(&checked.faults))
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  - {}", clean(line))).collect::<Vec<_>>().join("\n")
}

fn by(explanation: &Explanation) -> String {
    match explanation {
        Explanation::Inert => "its language brings it; it gives nothing".to_owned(),
        Explanation::Every => "every call has it".to_owned(),
        Explanation::Tools(tools) => format!("needs of {}", tools.join(", ")),
        Explanation::Nothing => "no need of its tools".to_owned(),
    }
}

fn declared(manifest: &Manifest) -> Value {
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "tools": manifest.tools,
    })
}
