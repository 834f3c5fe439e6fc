//! Airlock: runs the tools that an AI agent calls, in sandboxes, and knows what happened.
//!
//! The modules in reading order; each imports only from those before it.
//!
//! The path of one call, [`call::execute`]:
//!
//! ```text
//! request ─ resolve ─ authorize ─ recall ─ validate ─ admit ─ breaker ─ reserve ─ checkpoint ─ attempt ─ classify ─ retry ─ settle ─ shape ─ reply
//!              │          │          │         │         │        │         │          ▲          │                  │       │
//!           no such   not allowed  stored   faults of  no place   │    another has    │   a fresh instance;        │   one transaction:
//!            tool                  result   the input         a backend  the key:     │   effects journaled        │   the end is durable
//!                                                              is left   back to      │   before they leave        │
//!                                                               alone    recall       └──────── a pause ───────────┘
//! ```

pub mod call;
pub mod config;
pub mod front;
pub mod host;
pub mod model;
pub mod plugin;
pub mod sandbox;
pub mod store;
