//! Compiles the few C sources of the tests with `cc`, once for each content.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Compiles a C source and returns where the result lies: beside the test binaries, in the target folder.
///
/// # Errors
/// There is no C compiler, or it refuses the source; the text says which and why.
pub fn compile(name: &str, source: &str, flags: &[&str]) -> Result<PathBuf, String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().expect("no thread panics while it compiles");
    let folder = output_folder()?;
    let mut hasher = DefaultHasher::new();
    (source, flags).hash(&mut hasher);
    let result = folder.join(format!("{name}-{:016x}", hasher.finish()));
    if result.exists() {
        return Ok(result);
    }
    // Test processes run side by side: each compiles aside, and the last rename wins.
    let aside = folder.join(format!("{name}-{}", std::process::id()));
    let input = aside.with_extension("c");
    std::fs::write(&input, source).map_err(|error| format!("cannot write the source of {name}: {error}"))?;
    let compiled = run_compiler(&input, &aside, flags);
    // What stays behind is found by the next who looks at the folder, and harms nobody.
    let _ = std::fs::remove_file(&input);
    compiled?;
    std::fs::rename(&aside, &result).map_err(|error| format!("cannot keep {name}: {error}"))?;
    Ok(result)
}

fn run_compiler(input: &Path, output: &Path, flags: &[&str]) -> Result<(), String> {
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .args([output, input])
        .output()
        .map_err(|error| format!("cc does not run: {error}"))?;
    if compiled.status.success() {
        return Ok(());
    }
    Err(format!("cc refuses {}: {}", input.display(), String::from_utf8_lossy(&compiled.stderr)))
}

fn output_folder() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("the test binary does not know its place: {error}"))?;
    let folder = own.parent().ok_or("the test binary lies in no folder")?.join("native");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}
