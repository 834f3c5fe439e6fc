//! Builds the guests and the plugins for `wasm32-wasip2`, lays them into one folder under their plain
//! names, and writes `guests.rs`: a constant with the path of each.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-wasip2";

/// What the components are made from, from the root of the repository.
const SOURCES: [&str; 8] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "plugin-sdk/Cargo.toml",
    "plugin-sdk/src",
    "plugins",
    "tests/guests",
    "wit",
];

/// What cargo and clippy tell this script and a build for another target must not hear.
const NOT_INHERITED: [&str; 9] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CLIPPY_ARGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// A component to build.
struct Component {
    /// Its plain name, which is that of its folder: `echo`.
    name: String,
    package: String,
    /// The file that cargo makes.
    artifact: String,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    // Asked for now and not when this script was compiled: clones may share a target folder.
    let package = PathBuf::from(told("CARGO_MANIFEST_DIR")?);
    let root = package.parent().ok_or("the package is not in a workspace")?;
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let mut components = below(root, "plugins", |name| (format!("airlock-plugin-{name}"), name.to_owned()))?;
    components
        .extend(below(root, "tests/guests", |name| (format!("guest-{name}"), format!("guest_{name}")))?);
    let target = root.join("target/plugins");
    build(root, &target, &components)?;
    let folder = lay_out(&target, &components)?;
    let guests = Path::new(&told("OUT_DIR")?).join("guests.rs");
    fs::write(&guests, constants(&folder, &components)).map_err(|error| at(&guests, &error))
}

/// The packages in the folders below this one; a folder without a package is none of cargo's.
fn below(
    root: &Path,
    folder: &str,
    package_and_artifact: impl Fn(&str) -> (String, String),
) -> Result<Vec<Component>, String> {
    let folder = root.join(folder);
    let entries = fs::read_dir(&folder).map_err(|error| at(&folder, &error))?;
    let mut components: Vec<Component> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let (package, artifact) = package_and_artifact(&name);
            Component { artifact: format!("{artifact}.wasm"), name, package }
        })
        .collect();
    components.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(components)
}

fn build(root: &Path, target: &Path, components: &[Component]) -> Result<(), String> {
    let libraries =
        Command::new(told("RUSTC")?).args(["--print", "target-libdir", "--target", TARGET]).output();
    let libraries = libraries.map_err(|error| format!("rustc does not run: {error}"))?;
    if !Path::new(String::from_utf8_lossy(&libraries.stdout).trim()).is_dir() {
        return Err(format!("the target {TARGET} is not installed; run: make setup"));
    }
    let mut cargo = Command::new(told("CARGO")?);
    cargo
        .current_dir(root)
        .args(["build", "--profile", "plugin", "--target", TARGET, "--target-dir"])
        .arg(target);
    for component in components {
        cargo.args(["--package", &component.package]);
    }
    for name in NOT_INHERITED {
        cargo.env_remove(name);
    }
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the guests do not build; what cargo said stands above".to_owned()),
        Err(error) => Err(format!("cargo does not run: {error}")),
    }
}

/// Puts each component into one folder under its plain name, and takes out what is no longer built.
fn lay_out(target: &Path, components: &[Component]) -> Result<PathBuf, String> {
    let folder = target.join("components");
    fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    for entry in fs::read_dir(&folder).map_err(|error| at(&folder, &error))?.filter_map(Result::ok) {
        let path = entry.path();
        if !components.iter().any(|component| file(&folder, component) == path) {
            fs::remove_file(&path).map_err(|error| at(&path, &error))?;
        }
    }
    for component in components {
        let built = target.join(TARGET).join("plugin").join(&component.artifact);
        let bytes = fs::read(&built).map_err(|error| at(&built, &error))?;
        let laid = file(&folder, component);
        println!("cargo::rerun-if-changed={}", laid.display());
        // A test that runs meanwhile sees the whole old file or the whole new one.
        if fs::read(&laid).ok().as_ref() != Some(&bytes) {
            let partial = laid.with_extension("partial");
            fs::write(&partial, &bytes).map_err(|error| at(&partial, &error))?;
            fs::rename(&partial, &laid).map_err(|error| at(&laid, &error))?;
        }
    }
    Ok(folder)
}

fn constants(folder: &Path, components: &[Component]) -> String {
    let mut text = String::new();
    for component in components {
        let (name, path) = (&component.name, file(folder, component));
        let constant = name.to_uppercase().replace('-', "_");
        let _ = writeln!(text, "/// The component `{name}`.\npub const {constant}: &str = {path:?};");
    }
    text
}

fn file(folder: &Path, component: &Component) -> PathBuf {
    folder.join(format!("{}.wasm", component.name))
}

/// What cargo tells a build script.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything through its environment"
)]
fn told(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
