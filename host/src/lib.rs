//! Airlock: runs the tools that an AI agent calls, in sandboxes, and knows what happened.
//!
//! The modules in reading order; each imports only from those before it.
//!
//! The path of one call, [`call::execute`]:
//!
//! ```text
//! request ─ resolve ─ authorize ─ recall ─ validate ─ admit ─ reserve ─ checkpoint ─ attempt ─ classify ─ settle ─ shape ─ reply
//!              │          │          │         │         │        │                     │                   │
//!           no such   not allowed  stored   faults of  no place  another has       a fresh instance;   one transaction:
//!            tool                  result   the input            the key: back     effects journaled   the end is durable
//!                                                                to recall         before they leave
//! ```

pub mod call;
pub mod config;
pub mod front;
pub mod host;
pub mod model;
pub mod plugin;
pub mod sandbox;
pub mod store;
