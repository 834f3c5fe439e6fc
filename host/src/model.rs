//! Plain values and pure decisions: what the other layers talk about. No input or output happens here.

pub mod attachment;
pub mod caller;
pub mod canonical;
pub mod change;
pub mod classify;
pub mod clock;
pub mod code;
pub mod effect;
pub mod failure;
pub mod id;
pub mod key;
pub mod limits;
pub mod manifest;
pub mod method;
pub mod nearest;
pub mod origin;
pub mod past;
pub mod pointer;
pub mod reply;
pub mod run;
pub mod secret;
pub mod staged;
pub mod state;
pub mod unseen;
