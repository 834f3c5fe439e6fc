//! What `wit/plugin.wit` becomes in Rust.

/// The imports, and the export that every plugin has.
pub mod reader {
    wit_bindgen::generate!({
        world: "reader",
        path: "../wit",
        pub_export_macro: true,
        export_macro_name: "export_reader",
    });
}

/// What a writer exports beside it. A world of its own, so that the two share one set of types;
/// the linker joins them.
pub mod way_back {
    wit_bindgen::generate!({
        inline: "
            package airlock:sdk;

            world way-back {
                export airlock:plugin/preview@0.1.0;
                export airlock:plugin/rollback@0.1.0;
            }
        ",
        path: "../wit",
        with: { "airlock:plugin/types@0.1.0": super::reader::airlock::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export_way_back",
    });
}
