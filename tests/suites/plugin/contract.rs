//! Plugins that were built against another contract than this host's, or keep it in part.

use airlock_tests::assembled::{CONTRACT, plugin_of};
use insta::assert_snapshot;

use super::beside_echo;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_another_contract_is_named_with_it() {
    let module = |version: &str, describe: &str| {
        format!(
            r#"(module
              (memory (export "memory") 1)
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
              {describe}
              (func (export "airlock:plugin/tools@{version}#call") (param i32) (result i32) unreachable))"#
        )
    };
    let describe = |version: &str| {
        format!(r#"(func (export "airlock:plugin/tools@{version}#describe") (result i32) unreachable)"#)
    };
    let later = CONTRACT.replace("@0.1.0", "@7.0.0");
    let later = plugin_of(&later, &module("7.0.0", &describe("7.0.0")));
    let says_another = CONTRACT.replace("describe: func() -> manifest;", "describe: func() -> string;");
    let says_another = plugin_of(&says_another, &module("0.1.0", &describe("0.1.0")));
    let says_nothing = CONTRACT.replace("describe: func() -> manifest;", "");
    let says_nothing = plugin_of(&says_nothing, &module("0.1.0", ""));
    let files: &[(&str, &[u8])] = &[
        ("a_later.wasm", &later),
        ("b_says_another.wasm", &says_another),
        ("c_says_nothing.wasm", &says_nothing),
    ];
    assert_snapshot!(beside_echo(files).await, @r"
    WORLD/plugins/a_later.wasm
      - it exports airlock:plugin/tools@7.0.0, and this host knows airlock:plugin/tools@0.1.0
      = build the plugin against the contract that this host has (wit/plugin.wit)
    WORLD/plugins/b_says_another.wasm
      - it cannot describe itself: failed to convert function to given type: type mismatch with results: expected `record` found `string`
      = mend the plugin's `describe` and build it again; a limit that is named can be raised
    WORLD/plugins/c_says_nothing.wasm
      - what it exports is not airlock:plugin/tools@0.1.0: instance export `airlock:plugin/tools@0.1.0` does not have export `describe`
      = export `describe` and `call` as wit/plugin.wit says
    ");
}
