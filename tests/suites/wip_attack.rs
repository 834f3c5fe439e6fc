//! A suite while it is being written.

#[cfg(test)]
mod attack;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod sandbox;
