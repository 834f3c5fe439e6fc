//! Plain values and pure decisions: what the other layers talk about. No input or output happens here.

pub mod caller;
pub mod canonical;
pub mod classify;
pub mod clock;
pub mod code;
pub mod effect;
pub mod failure;
pub mod id;
pub mod key;
pub mod limits;
pub mod manifest;
pub mod nearest;
pub mod origin;
pub mod reply;
pub mod run;
pub mod secret;
pub mod state;
