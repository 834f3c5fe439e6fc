//! One binary for all suites, each a module.
//!
//! The modules are marked as test code, so that clippy lets their helpers unwrap as it lets the tests themselves.

#[cfg(test)]
mod attack;
#[cfg(test)]
mod backend;
#[cfg(test)]
mod background;
#[cfg(test)]
mod breaker;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod calc;
#[cfg(test)]
mod call;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod fallback;
#[cfg(test)]
mod files;
#[cfg(test)]
mod files_plugin;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod host_functions;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod netns;
#[cfg(test)]
mod past;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod power_loss;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod source;
#[cfg(test)]
mod store;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod web;
