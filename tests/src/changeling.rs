//! Plugins made to order: one component, with another text written over what it says of itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::guests;

/// What stands in front of the text.
const MARK: &[u8] = b"CHANGELING{";

/// What the component is as it was built.
pub fn nature() -> Value {
    json!({
        "name": "changeling",
        "version": "1.0.0",
        "description": "Is what it is.",
        "tool": {
            "name": "turn",
            "description": "Turns.",
            "input": { "type": "object" },
            "risk": 1,
            "origins": [],
        },
        "word": "first",
    })
}

/// The component that is this.
///
/// # Panics
/// Where it was not built, or the text is longer than there is room.
pub fn component(nature: &Value) -> Vec<u8> {
    let mut component = std::fs::read(guests::CHANGELING).expect("the component was built");
    let found = component.windows(MARK.len()).position(|window| window == MARK);
    let start = found.expect("the text is there") + MARK.len() - 1;
    let text = nature.to_string();
    let room = component[start..].windows(2).position(|window| window == b"} ").expect("it ends") + 1;
    let free = component[start + room..].iter().take_while(|byte| **byte == b' ').count();
    assert!(text.len() <= room + free, "there is room for {} bytes", room + free);
    component[start..start + room + free].fill(b' ');
    component[start..start + text.len()].copy_from_slice(text.as_bytes());
    component
}

/// Puts the component that is this into a folder, at once, and gives its path.
///
/// # Panics
/// Where the folder cannot be written.
pub fn put(folder: &Path, file: &str, nature: &Value) -> PathBuf {
    put_bytes(folder, file, &component(nature))
}

/// Puts a file into a folder, at once, and gives its path.
///
/// # Panics
/// Where the folder cannot be written.
pub fn put_bytes(folder: &Path, file: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(file);
    let aside = folder.join(format!(".{file}"));
    std::fs::write(&aside, bytes).expect("the folder can be written");
    std::fs::rename(&aside, &path).expect("the folder can be written");
    path
}
