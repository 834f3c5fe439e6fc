//! Components made to exhaust whoever compiles them.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use airlock::host::Host;
use airlock_tests::guests::ECHO;
use airlock_tests::world::{World, body, compiler, request};
use serde_json::json;

use super::{Counting, faults};

/// A number as WebAssembly writes it.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return bytes;
        }
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &number(content.len()), content].concat()
}

/// A component that holds one core module with these bodies of functions without parameters.
fn component(bodies: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let bodies: Vec<Vec<u8>> = bodies.collect();
    let count = number(bodies.len());
    let sized = bodies.iter().flat_map(|body| [number(body.len()), body.clone()].concat());
    let code: Vec<u8> = count.iter().copied().chain(sized).collect();
    let functions: Vec<u8> = count.iter().copied().chain(bodies.iter().map(|_| 0)).collect();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(3, &functions),
        section(10, &code),
    ]
    .concat();
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
}

/// A body: one local number, these instructions, the end.
fn function(instructions: &[u8]) -> Vec<u8> {
    [&[1, 1, 0x7f][..], instructions, &[0x0b]].concat()
}

/// So many functions, each with a little to do.
fn many_functions(count: usize) -> Vec<u8> {
    let body = function(&[0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(4));
    component((0..count).map(|_| body.clone()))
}

/// One function with as much to do as a function may have.
fn one_long_function() -> Vec<u8> {
    component([function(&[0x20, 0, 0x41, 1, 0x6a, 0x21, 0].repeat(1_000_000))].into_iter())
}

/// Blocks within blocks.
fn deep_blocks() -> Vec<u8> {
    let deep = 1_500_000;
    component([function(&[[0x02, 0x40].repeat(deep), [0x0b].repeat(deep)].concat())].into_iter())
}

/// Jumps by tables that are as long as they may be.
fn long_tables() -> Vec<u8> {
    let targets = 65_000;
    let jump = [&[0x02, 0x40, 0x20, 0, 0x0e][..], &number(targets), &vec![0; targets + 1], &[0x0b]].concat();
    component((0..8).map(|_| function(&jump.repeat(100))))
}

/// Components within components.
fn nested_components(deep: usize) -> Vec<u8> {
    (0..deep).fold(b"\0asm\x0d\0\x01\0".to_vec(), |inner, _| {
        [b"\0asm\x0d\0\x01\0".to_vec(), section(4, &inner)].concat()
    })
}

async fn echoes(host: &Host) {
    let said = host.call(request("echo.echo", &json!({ "text": "here" }))).await;
    assert_eq!(body(&said), json!({ "text": "here" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn bombs_end_by_a_limit_are_told_and_are_not_compiled_again() {
    let bombs: [(&str, Vec<u8>); 6] = [
        ("a_functions", many_functions(900_000)),
        ("b_long", one_long_function()),
        ("c_blocks", deep_blocks()),
        ("d_tables", long_tables()),
        ("e_nested", nested_components(1000)),
        ("f_nested", nested_components(5000)),
    ];
    let world =
        World::new().with_plugins(&[ECHO]).with_config("[compile]\ntime = \"20s\"\nmemory = \"128 MiB\"");
    for (name, bytes) in &bombs {
        assert!(bytes.len() < 64 << 20, "{name} has {} bytes", bytes.len());
        fs::write(world.plugins().join(format!("{name}.wasm")), bytes).unwrap();
    }
    let compiler = Counting::in_folder(world.folder());
    let host = compiler.open(&world).await;
    echoes(&host).await;
    let told = faults(&host, &world);
    assert_eq!(host.faults().len(), bombs.len(), "{told}");
    for fault in host.faults() {
        let text = &fault.faults[0];
        let known = ["took longer than", "the compiler died of it", "does not export"];
        assert!(known.iter().any(|known| text.contains(known)), "{told}");
    }
    assert!(told.contains("within 128.0 MiB of memory ([compile] memory)"), "{told}");
    let calls = compiler.calls();
    assert_eq!(calls, bombs.len() + 1);

    let again = compiler.open(&world).await;
    echoes(&again).await;
    assert_eq!(faults(&again, &world), told);
    assert_eq!(compiler.calls(), calls, "what failed is not tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_by_a_limit_is_tried_again_under_another() {
    let world = World::new().with_config("[compile]\ntime = \"1s\"");
    fs::write(world.plugins().join("large.wasm"), many_functions(150_000)).unwrap();
    let compiler = Counting::in_folder(world.folder());
    let host = compiler.open(&world).await;
    assert!(faults(&host, &world).contains("took longer than 1s"), "{}", faults(&host, &world));
    let world = world.with_config("memory = \"3 GiB\"");
    drop(compiler.open(&world).await);
    assert_eq!(compiler.calls(), 2);
    let checked = host.check(&world.plugins().join("large.wasm")).await;
    assert_eq!((checked.faults.len(), compiler.calls()), (1, 3), "who checks a file has it tried again");
}

#[test]
fn a_compiler_ends_with_whoever_started_it() {
    let mut compiler = Command::new(compiler())
        .args(["compile-plugin", "4294967296"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (bomb, mut input) = (many_functions(900_000), compiler.stdin.take().unwrap());
    input.write_all(&u64::try_from(bomb.len()).unwrap().to_le_bytes()).unwrap();
    input.write_all(&bomb).unwrap();
    // The system closes what a process had open when it dies.
    drop(input);
    assert_eq!(compiler.wait().unwrap().signal(), Some(6), "it did not go on to its end");
}
