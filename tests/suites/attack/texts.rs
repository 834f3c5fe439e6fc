//! Guests that hand over bytes that are no UTF-8 where the contract asks for a text.

use airlock_tests::assembled::plugin;
use airlock_tests::world::{World, body, code, request};
use insta::assert_snapshot;
use serde_json::json;

use super::open_world;

/// No text in UTF-8: the half of a letter.
const BAIT: &[u8] = b"half \xc3";

/// The same, whole.
const TWIN: &[u8] = b"whole \xc3\xa9";

/// Where the memory begins that is written from here; below it stands what the host hands over.
const BASE: u32 = 1 << 16;

/// The memory of a plugin: texts, and records of 32-bit words that point to them, laid out as the canonical ABI has it.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Memory {
    /// Puts bytes there, and says where they stand.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let place = BASE + u32::try_from(self.0.len()).unwrap();
        self.0.extend_from_slice(bytes);
        place
    }

    /// A text, by its place and length.
    fn text(&mut self, bytes: &[u8]) -> [u32; 2] {
        [self.put(bytes), u32::try_from(bytes.len()).unwrap()]
    }

    fn record(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }

    /// `result<reply, tool-error>`: a reply that has this at a place in it.
    fn reply(&mut self, place: &str, text: &[u8]) -> u32 {
        let at = |memory: &mut Self, this: &str, usual: &[u8]| {
            memory.text(if this == place { text } else { usual })
        };
        let quoted = [&b"{\"text\":\""[..], text, b"\"}"].concat();
        let data = self.text(if place == "data" { &quoted } else { b"{}" });
        let name = at(self, "name", b"plan.txt");
        let media_type = at(self, "media_type", b"text/plain");
        let attachment = self.record(&[name, media_type, [BASE, 0]].concat());
        let fingerprint = at(self, "fingerprint", b"1");
        let tail = [1, fingerprint[0], fingerprint[1], 0, 0, 0, 0, 0, 0];
        self.record(&[&[0][..], &data, &[attachment, 1], &tail].concat())
    }

    /// The same for an error.
    fn error(&mut self, place: &str, text: &[u8]) -> u32 {
        let at = |memory: &mut Self, this: &str, usual: &[u8]| {
            memory.text(if this == place { text } else { usual })
        };
        let code = at(self, "code", b"NO");
        let message = at(self, "message", b"no");
        let user_message = at(self, "user_message", b"sorry");
        let quoted = [&b"\""[..], text, b"\""].concat();
        let details = self.text(if place == "details" { &quoted } else { b"{}" });
        let rejected = 1;
        self.record(
            &[&[1, rejected][..], &code, &message, &[1], &user_message, &[0, 0, 1], &details].concat(),
        )
    }

    /// The manifest of a plugin of one tool, `say`.
    fn manifest(&mut self, name: &str, description: &[u8]) -> u32 {
        let words: [&[u8]; 4] = [b"say", b"Say", b"Says it.", b"{\"type\":\"object\"}"];
        let [own, title, about, schema] = words.map(|text| self.text(text));
        let reads_and_leaves_nothing = [0];
        let lists = [BASE, 0].repeat(5);
        let tool = [
            &[own, title, about, schema].concat()[..],
            &[1],
            &schema,
            &reads_and_leaves_nothing,
            &lists,
            &[0; 8],
        ];
        let tool = self.record(&tool.concat());
        let [name, version, description] =
            [name.as_bytes(), b"1.0.0", description].map(|text| self.text(text));
        self.record(&[&name[..], &version, &description, &[tool, 1]].concat())
    }
}

/// A plugin that is described so. Its input is an object whose first field is a letter, which says which of the answers
/// it gives: a line that it logs, with its fields, and what it then returns.
fn assembled(mut memory: Memory, manifest: u32, answers: &[[u32; 5]]) -> Vec<u8> {
    let table = memory.record(answers.as_flattened());
    let image: String = memory.0.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
          (import "airlock:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
          (memory (export "memory") 2)
          (data (i32.const {BASE}) "{image}")
          (global $free (mut i32) (i32.const 1024))
          (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32)
            (global.set $free (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
            (global.get $free)
            (global.set $free (i32.add (global.get $free) (local.get $size))))
          (func (export "airlock:plugin/tools@0.1.0#describe") (result i32) (i32.const {manifest}))
          (func (export "airlock:plugin/tools@0.1.0#call") (param $arguments i32) (result i32)
            (local $answer i32)
            (local.set $answer (i32.add (i32.const {table}) (i32.mul (i32.const 20)
              (i32.sub (i32.load8_u offset=2 (i32.load offset=8 (local.get $arguments))) (i32.const 97)))))
            (call $log (i32.const 1)
              (i32.load (local.get $answer)) (i32.load offset=4 (local.get $answer))
              (i32.load offset=8 (local.get $answer)) (i32.load offset=12 (local.get $answer)))
            (i32.load offset=16 (local.get $answer))))"#
    );
    plugin(&text)
}

const PLACES: [&str; 10] = [
    "data",
    "name",
    "media_type",
    "fingerprint",
    "code",
    "message",
    "user_message",
    "details",
    "log",
    "fields",
];

/// A plugin that gives bait and twin at each place in turn: the first letter stands for the bait at the first.
fn baits() -> Vec<u8> {
    let mut memory = Memory::default();
    let manifest = memory.manifest("baits", TWIN);
    let mut answers = Vec::new();
    for place in PLACES {
        for text in [BAIT, TWIN] {
            let is_an_error = ["code", "message", "user_message", "details"].contains(&place);
            let given = if is_an_error { memory.error(place, text) } else { memory.reply(place, text) };
            let line = memory.text(if place == "log" { text } else { b"a line" });
            let quoted = [&b"{\"text\":\""[..], text, b"\"}"].concat();
            let fields = memory.text(if place == "fields" { &quoted } else { b"{}" });
            answers.push([line[0], line[1], fields[0], fields[1], given]);
        }
    }
    assembled(memory, manifest, &answers)
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_end_the_call_wherever_they_stand() {
    let world = World::new();
    std::fs::write(world.plugins().join("baits.wasm"), baits()).unwrap();
    let open = open_world(world).await;
    let mut told = Vec::new();
    for (number, letter) in ('a'..).take(2 * PLACES.len()).enumerate() {
        let reply = open.call("baits.say", json!({ letter.to_string(): 0 })).await;
        let what = if number.is_multiple_of(2) { "bait" } else { "twin" };
        told.push(format!("{what} {}: {}", PLACES[number / 2], code(&reply)));
        if number.is_multiple_of(2) {
            assert!(!body(&reply).to_string().contains("half"), "{}", body(&reply));
            assert!(open.log(&reply).await.contains("that is no UTF-8"), "{}", open.log(&reply).await);
        }
    }
    // The twins of a code and of a media type are read, and are no such things.
    assert_snapshot!(told.join("\n"), @r#"
    bait data: INTERNAL
    twin data: ok
    bait name: INTERNAL
    twin name: ok
    bait media_type: INTERNAL
    twin media_type: INVALID_OUTPUT
    bait fingerprint: INTERNAL
    twin fingerprint: ok
    bait code: INTERNAL
    twin code: INVALID_OUTPUT
    bait message: INTERNAL
    twin message: NO
    bait user_message: INTERNAL
    twin user_message: NO
    bait details: INTERNAL
    twin details: NO
    bait log: INTERNAL
    twin log: ok
    bait fields: INTERNAL
    twin fields: ok
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_describes_itself_in_no_text_is_none() {
    let world = World::new();
    for (name, description) in [("bait", BAIT), ("twin", TWIN)] {
        let mut memory = Memory::default();
        let manifest = memory.manifest(name, description);
        let line = memory.text(b"a line");
        let fields = memory.text(b"{}");
        let reply = memory.reply("data", TWIN);
        let component = assembled(memory, manifest, &[[line[0], line[1], fields[0], fields[1], reply]]);
        std::fs::write(world.plugins().join(format!("{name}.wasm")), component).unwrap();
    }
    let host = world.open().await;
    let [fault] = &host.faults()[..] else { panic!("{:?}", host.faults()) };
    assert!(fault.file.ends_with("bait.wasm"), "{fault:?}");
    assert_snapshot!(format!("{}\n= {}", fault.faults.join("\n"), fault.remedy), @r#"
    it cannot describe itself: incomplete utf-8 byte sequence from index 5
    = mend the plugin's `describe` and build it again; a limit that is named can be raised
    "#);
    let said = host.call(request("twin.say", &json!({ "a": 0 }))).await;
    assert_eq!(body(&said), json!({ "text": "whole é" }));
}
