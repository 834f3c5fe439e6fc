//! Plugins in WebAssembly's own text: a module whose exports are what the contract asks of one.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The contract.
pub const CONTRACT: &str = include_str!("../../wit/plugin.wit");

/// The component of a module that exports the contract's functions by their canonical names, and its memory.
///
/// # Panics
/// Where it does not.
pub fn plugin(text: &str) -> Vec<u8> {
    plugin_of(CONTRACT, text)
}

/// The same under another contract.
///
/// # Panics
/// Where it does not.
pub fn plugin_of(contract: &str, text: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).expect("the text is a module");
    let mut types = Resolve::default();
    let package = types.push_str("plugin.wit", contract).expect("the contract can be read");
    let world = types.select_world(&[package], Some("reader")).expect("the contract has this world");
    embed_component_metadata(&mut module, &types, world, StringEncoding::UTF8, false)
        .expect("the module takes its types");
    let mut encoder = ComponentEncoder::default();
    let encoder = encoder.validate(true).module(&module).expect("the module is what the world asks for");
    encoder.encode().expect("the module becomes a component")
}
