//! Why a file is no plugin, in words, each with what to do about it.

use bytesize::ByteSize;
use humantime::format_duration;

use super::compile::CompileFailure;
use crate::sandbox::engine::Refusal;

/// What is wrong with a file, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) faults: Vec<String>,
    pub(super) remedy: String,
    /// Whether it is so for these bytes under these limits, whenever they are looked at.
    pub(super) lasting: bool,
}

fn fault(faults: Vec<String>, remedy: impl Into<String>, lasting: bool) -> Fault {
    Fault { faults, remedy: remedy.into(), lasting }
}

/// The file itself is the trouble.
pub(super) fn unread(text: String) -> Fault {
    fault(vec![text], "look at the file and its permissions", false)
}

/// Somebody is writing it.
pub(super) fn unfinished() -> Fault {
    let text = "it was written to while it was read".to_owned();
    fault(vec![text], "wait until the copy has ended; better, copy it aside and rename it", false)
}

/// Somebody began to write it and has not ended, where a plugin lay before.
pub(super) fn cut_short() -> Fault {
    let text = "it is cut short, so the plugin that was read before holds".to_owned();
    fault(
        vec![text],
        "wait until the copy has ended, or copy it again; better, copy it aside and rename it",
        false,
    )
}

pub(super) fn faulty(faults: Vec<String>) -> Fault {
    fault(faults, "mend the manifest and build the plugin again", false)
}

/// It said something else when it was asked again.
pub(super) fn fickle() -> Fault {
    let text = "it declares something else each time that it is asked".to_owned();
    fault(
        vec![text],
        "let `describe` give the same answer every time: without clocks and random numbers",
        true,
    )
}

/// It could not say what it is.
pub(super) fn silent(text: &str) -> Fault {
    let lines = text.lines().map(str::to_owned).collect();
    fault(lines, "mend the plugin's `describe` and build it again; a limit that is named can be raised", true)
}

/// The host is at fault, or the machine.
pub(super) fn unusable(text: &str) -> Fault {
    let text = format!("its compiled code cannot be used: {text}");
    fault(vec![text], "look at the memory of this machine and at the state folder, and try again", false)
}

pub(super) fn uncompiled(failure: CompileFailure) -> Fault {
    let again = "it is not tried again before these limits change, or `airlock check FILE` asks for it";
    match failure {
        CompileFailure::Refused(text) => fault(
            vec![format!("it cannot be compiled: {}", text.lines().next().unwrap_or_default())],
            "copy the file again if it is cut short; else build it without options that the host leaves out",
            true,
        ),
        CompileFailure::Time(time) => fault(
            vec![format!("compiling it took longer than {} ([compile] time)", format_duration(time))],
            format!("raise the limit if the plugin is meant to be so large; {again}"),
            true,
        ),
        CompileFailure::Died(memory, how) => fault(
            vec![format!(
                "the compiler died of it, within {} of memory ([compile] memory): {how}",
                ByteSize::b(memory).display().iec()
            )],
            format!("raise the limit if the plugin is meant to be so large; {again}"),
            true,
        ),
        CompileFailure::Unavailable(text) => fault(
            vec![format!("it was not compiled: {text}")],
            "look at the memory and the processes of this machine, and try again",
            false,
        ),
    }
}

pub(super) fn refused(refusal: Refusal) -> Fault {
    let one = |text: String, remedy: &str| fault(vec![text], remedy, true);
    match refusal {
        Refusal::MachineCode => one(
            "it is compiled code (.cwasm), which is never taken from outside".to_owned(),
            "put the component itself there; the host compiles it",
        ),
        Refusal::Module => one(
            "it is a core WebAssembly module and no component".to_owned(),
            "build for wasm32-wasip2, or wrap it with `wasm-tools component new`",
        ),
        Refusal::NotWasm(text) => {
            one(format!("it is no WebAssembly: {text}"), "put a component there, or remove the file")
        }
        Refusal::Imports(missing) => fault(
            missing
                .into_iter()
                .map(|name| format!("it imports {name}, which this host does not have"))
                .collect(),
            "build the plugin against the contract that this host has (wit/plugin.wit), without that import",
            true,
        ),
        Refusal::Contract(Some(other)) => one(
            format!("it exports {other}, and this host knows airlock:plugin/tools@0.1.0"),
            "build the plugin against the contract that this host has (wit/plugin.wit)",
        ),
        Refusal::Contract(None) => one(
            "it does not export airlock:plugin/tools@0.1.0".to_owned(),
            "export `describe` and `call` as wit/plugin.wit says",
        ),
        Refusal::Exports(text) => one(
            format!(
                "what it exports is not airlock:plugin/tools@0.1.0: {}",
                text.lines().next().unwrap_or_default()
            ),
            "export `describe` and `call` as wit/plugin.wit says",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_reason_why_a_file_is_no_plugin_is_told_with_what_to_do() {
        let text = || "why\nwhere".to_owned();
        let all = [
            unread("it cannot be read".to_owned()),
            unfinished(),
            faulty(vec!["the plugin: it declares no tools".to_owned()]),
            fickle(),
            silent("trap: unreachable\nat describe"),
            unusable("no memory"),
            uncompiled(CompileFailure::Refused(text())),
            uncompiled(CompileFailure::Time(Duration::from_secs(60))),
            uncompiled(CompileFailure::Died(1 << 30, "signal 9".to_owned())),
            uncompiled(CompileFailure::Unavailable("no process can be started".to_owned())),
            refused(Refusal::MachineCode),
            refused(Refusal::Module),
            refused(Refusal::NotWasm("it does not begin as WebAssembly does".to_owned())),
            refused(Refusal::Imports(vec!["wasi:nn/graph".to_owned(), "env".to_owned()])),
            refused(Refusal::Contract(Some("airlock:plugin/tools@9.0.0".to_owned()))),
            refused(Refusal::Contract(None)),
            refused(Refusal::Exports(text())),
        ];
        let told = all.iter().map(|Fault { faults, remedy, lasting }| {
            let kept = if *lasting { "" } else { " (looked at again)" };
            format!("{}{kept}\n  {remedy}", faults.join("; "))
        });
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
        it cannot be read (looked at again)
          look at the file and its permissions
        it was written to while it was read (looked at again)
          wait until the copy has ended; better, copy it aside and rename it
        the plugin: it declares no tools (looked at again)
          mend the manifest and build the plugin again
        it declares something else each time that it is asked
          let `describe` give the same answer every time: without clocks and random numbers
        trap: unreachable; at describe
          mend the plugin's `describe` and build it again; a limit that is named can be raised
        its compiled code cannot be used: no memory (looked at again)
          look at the memory of this machine and at the state folder, and try again
        it cannot be compiled: why
          copy the file again if it is cut short; else build it without options that the host leaves out
        compiling it took longer than 1m ([compile] time)
          raise the limit if the plugin is meant to be so large; it is not tried again before these limits change, or `airlock check FILE` asks for it
        the compiler died of it, within 1.0 GiB of memory ([compile] memory): signal 9
          raise the limit if the plugin is meant to be so large; it is not tried again before these limits change, or `airlock check FILE` asks for it
        it was not compiled: no process can be started (looked at again)
          look at the memory and the processes of this machine, and try again
        it is compiled code (.cwasm), which is never taken from outside
          put the component itself there; the host compiles it
        it is a core WebAssembly module and no component
          build for wasm32-wasip2, or wrap it with `wasm-tools component new`
        it is no WebAssembly: it does not begin as WebAssembly does
          put a component there, or remove the file
        it imports wasi:nn/graph, which this host does not have; it imports env, which this host does not have
          build the plugin against the contract that this host has (wit/plugin.wit), without that import
        it exports airlock:plugin/tools@9.0.0, and this host knows airlock:plugin/tools@0.1.0
          build the plugin against the contract that this host has (wit/plugin.wit)
        it does not export airlock:plugin/tools@0.1.0
          export `describe` and `call` as wit/plugin.wit says
        what it exports is not airlock:plugin/tools@0.1.0: why
          export `describe` and `call` as wit/plugin.wit says
        ");
    }
}
