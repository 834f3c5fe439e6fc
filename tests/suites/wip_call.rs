//! A suite while it is being written.

#[cfg(test)]
mod call;
#[cfg(test)]
mod store;
