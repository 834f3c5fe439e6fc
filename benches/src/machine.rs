//! Where the figures come from: machine, load, versions and file system.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Prints all that a figure depends on beside the code.
pub fn print(state: &Path) {
    println!("machine      {}", processor());
    println!("cores        {}", std::thread::available_parallelism().map_or(0, usize::from));
    println!("memory       {}", memory());
    println!("load         {} (1, 5 and 15 minutes, before the run)", load());
    println!("kernel       {}", line("/proc/sys/kernel/osrelease"));
    println!("rustc        {}", rustc());
    println!("profile      release{}", if cfg!(debug_assertions) { " with debug assertions" } else { "" });
    println!("wasmtime     {}", locked("wasmtime"));
    println!("SQLite       {}", rusqlite::version());
    println!("state folder {}", file_system(state));
}

/// What the processors had done when it was made.
#[derive(Debug)]
pub struct Neighbours {
    all: u64,
    busy: u64,
    own: u64,
}

impl Neighbours {
    /// Begins to watch who else uses the processors.
    pub fn watch() -> Self {
        let numbers =
            |text: &str| -> Vec<u64> { text.split(' ').filter_map(|word| word.parse().ok()).collect() };
        // user nice system idle iowait irq softirq steal
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let all: Vec<u64> = numbers(stat.lines().next().unwrap_or_default()).into_iter().take(8).collect();
        let idle: u64 = all.iter().skip(3).take(2).sum();
        // Four fields are the times of this process and of the children that it has waited for.
        let own = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let own: u64 = own.rsplit(") ").next().map_or(0, |rest| {
            rest.split(' ').skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum()
        });
        Self { all: all.iter().sum(), busy: all.iter().sum::<u64>() - idle, own }
    }

    /// The share of the processors that others used meanwhile.
    pub fn share(&self) -> f64 {
        let now = Self::watch();
        let ticks =
            |from: u64, to: u64| f64::from(u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX));
        (ticks(self.busy, now.busy) - ticks(self.own, now.own)).max(0.0) / ticks(self.all, now.all).max(1.0)
    }
}

/// The load averages.
pub fn load() -> String {
    line("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn processor() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpus.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown".to_owned());
    let numbers = ["cpu family", "model\t", "cpu MHz"].map(|name| field(name).unwrap_or_default());
    let virtual_machine = if cpus.contains(" hypervisor") { ", in a virtual machine" } else { "" };
    format!("{model} (family {}, model {}, {} MHz{virtual_machine})", numbers[0], numbers[1], numbers[2])
}

fn memory() -> String {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    memory
        .lines()
        .next()
        .and_then(|line| line.split_once(':'))
        .map_or("unknown", |(_, size)| size.trim())
        .to_owned()
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or("unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The version of a crate in the lock file of the workspace.
fn locked(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let after = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default()
}

/// The type and the device of the file system that a folder is on.
fn file_system(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of_folder = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            Some((fields.next()?, fields.next()?, fields.next()?))
        })
        .filter(|(_, place, _)| folder.starts_with(place))
        .max_by_key(|(_, place, _)| place.len());
    of_folder.map_or("unknown".to_owned(), |(device, _, kind)| format!("{kind} on {device}"))
}

fn line(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}
