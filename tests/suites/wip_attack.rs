//! A suite while it is being written.
