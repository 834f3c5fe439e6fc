//! Keeps values, saves and spends, as it is told to.

mod pages;

use pages::{Bare, Priced, Read, Write};

airlock_sdk::export!(reader notebook: Write, Read, Bare, Priced);
