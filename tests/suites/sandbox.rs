//! The sandbox from outside: what is never there, what is fresh each time, and whose turn it is.

mod fairness;
mod fresh;
mod room;
mod shut;
mod slots;
