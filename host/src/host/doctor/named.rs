//! What plugins declare, and whether the configuration grants it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::Found;
use crate::config::{Config, Pinning};
use crate::host::Host;
use crate::model::manifest::{Manifest, Need, Tool};
use crate::plugin::granted::{Granted, beside, lines, named};
use crate::plugin::lock::Lock;
use crate::plugin::survey::{Declared, Surveyed};
use crate::sandbox::capability::http::ungranted;

/// What plugins declare, and why some cannot be used.
pub(super) struct Asked {
    pub(super) declared: Declared,
    pub(super) faults: Vec<Found>,
}

/// What the files of the folder declare: by the lock file, or else by asking them, which leaves nothing behind.
pub(super) async fn ask(config: &Config, surveyed: &[Surveyed]) -> Asked {
    // One that is damaged is told elsewhere.
    let lock = Lock::read(&Lock::file(&config.file)).ok();
    let mut declared = lock.as_ref().map(|lock| Declared::by(lock, surveyed)).unwrap_or_default();
    if lock.is_none() {
        declared.unknown = surveyed.iter().map(|one| one.file.clone()).collect();
    }
    let mut faults = Vec::new();
    let readable = |file: &PathBuf| surveyed.iter().any(|one| one.file == *file && one.digest.is_ok());
    let (files, unread) = std::mem::take(&mut declared.unknown).into_iter().partition(readable);
    declared.unknown = unread;
    match aside(config, files).await {
        Ok(checked) => {
            for (file, checked) in checked {
                match checked {
                    Ok(manifest) => {
                        let seen = lock.as_ref().is_some_and(|lock| lock.pin(&manifest.name).is_some());
                        if seen || config.pinning == Pinning::Strict {
                            declared.waits.insert(manifest.name.clone());
                        }
                        declared.manifests.push(manifest);
                    }
                    Err((text, mend)) => {
                        faults.push(Found::doubtful("plugins", text, mend));
                        declared.unknown.push(file);
                    }
                }
            }
        }
        Err(found) => faults.push(found),
    }
    faults.extend(alike(&declared));
    Asked { declared, faults }
}

/// What a file declares, or why it is no plugin and what to do.
type Checked = Result<Manifest, (String, String)>;

async fn aside(config: &Config, files: Vec<PathBuf>) -> Result<Vec<(PathBuf, Checked)>, Found> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |text: String| {
        let mend = "mend what it says, and ask again";
        Found::doubtful("plugins", format!("plugins could not be asked what they declare: {text}"), mend)
    };
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let config = Config { state: folder.path().join("state"), ..config.clone() };
    let host = Host::open(config).await.map_err(|error| failed(error.to_string()))?;
    let mut all = Vec::new();
    for file in files {
        let checked = host.check(&file).await;
        let why = || {
            let text = format!("{} cannot be used: {}", file.display(), checked.faults.join("; "));
            (text, checked.remedy.clone().unwrap_or_default())
        };
        let manifest = checked.manifest.clone().ok_or_else(why);
        all.push((file, manifest));
    }
    host.close().await;
    Ok(all)
}

/// Plugins of one name, of which none can be used.
fn alike(declared: &Declared) -> Vec<Found> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for manifest in &declared.manifests {
        *named.entry(&manifest.name).or_default() += 1;
    }
    let told = |(name, count): (&str, usize)| {
        let text = format!("{count} files are a plugin `{name}`, and none of them can be used");
        Found::doubtful("plugins", text, "`airlock tools` says which files; remove those that are not meant")
    };
    named.into_iter().filter(|(_, count)| *count > 1).map(told).collect()
}

/// Plugins that are not granted all that their tools declare, each with the lines that grant the rest.
pub(super) fn grants(config: &Config, declared: &Declared) -> Vec<Found> {
    let plugins = declared.manifests.iter().filter(|manifest| !declared.waits.contains(&manifest.name));
    plugins.filter_map(|manifest| lacking(config, manifest)).collect()
}

/// Grants of requests to places that are not of the public network, which are refused for they are not granted by address.
pub(super) fn addresses(config: &Config) -> Vec<Found> {
    let mut found = Vec::new();
    for (plugin, grants) in &config.grants {
        for grant in &grants.http {
            let lacking: Vec<String> =
                ungranted(&grant.origin, &grant.addresses).iter().map(ToString::to_string).collect();
            if lacking.is_empty() {
                continue;
            }
            let (origin, shown) = (&grant.origin, lacking.join(" and "));
            let be = if lacking.len() == 1 { "is" } else { "are" };
            let text = format!(
                "requests of {plugin} to {origin} are refused: {shown} {be} not of the public network, nor granted"
            );
            let mend = format!("add to this [[plugin.{plugin}.http]]: addresses = {}", json!(lacking));
            found.push(Found::doubtful("grants", text, mend));
        }
    }
    found
}

/// What a tool declares and is not granted, each once.
fn lacks(plugin: &str, tool: &Tool, config: &Config) -> Vec<String> {
    let mut lacks: Vec<String> = Vec::new();
    for one in beside(plugin, std::slice::from_ref(tool), config) {
        let lack = match (&one.granted, &one.need) {
            (Granted::Whole(_), _) => continue,
            (Granted::Part(_, missing), Need::Directory(..)) => {
                format!("{} for {}", named(&one.need), missing.join(" and "))
            }
            (Granted::Part(given, missing), _) => {
                format!("http {} (granted is {given})", missing.join(" and "))
            }
            (Granted::Nothing, need) => named(need),
        };
        if !lacks.contains(&lack) {
            lacks.push(lack);
        }
    }
    lacks
}

fn lacking(config: &Config, manifest: &Manifest) -> Option<Found> {
    let Manifest { name, tools, .. } = manifest;
    // Tools that lack the same are told together.
    let mut told: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for tool in tools {
        let lacks = lacks(name, tool, config);
        let tool = format!("{name}.{}", tool.name);
        match told.iter_mut().find(|(told, _)| *told == lacks) {
            _ if lacks.is_empty() => {}
            Some((_, tools)) => tools.push(tool),
            None => told.push((lacks, vec![tool])),
        }
    }
    if told.is_empty() {
        return None;
    }
    let lack = |tools: &[String]| if tools.len() == 1 { "lacks" } else { "lack" };
    let told = told
        .iter()
        .map(|(lacks, tools)| format!("{} {} {}", tools.join(", "), lack(tools), lacks.join(", ")));
    let told: Vec<String> = told.collect();
    let lines = lines(name, tools, config).unwrap_or_default();
    let mend = format!("write into {}:\n{lines}", config.file.display());
    Some(Found::doubtful("grants", told.join("; "), mend))
}
