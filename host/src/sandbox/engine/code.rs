//! Machine code is run only if its authentication code says that this host made it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsRawFd as _;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use wasmtime::component::Component;

use super::{Compiled, Engine};

/// What is read of a file at a time.
const PIECE: usize = 256 << 10;

/// A file of machine code that was checked.
#[derive(Debug)]
pub struct Authentic {
    file: File,
}

impl Authentic {
    /// The authentication code of a file: under this key, for this purpose, over every byte.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn seal(key: &[u8; 32], purpose: &[u8], file: &mut File) -> io::Result<[u8; 32]> {
        Ok(authenticate(key, purpose, file)?.finalize().into_bytes().into())
    }

    /// Checks the authentication code of a file; none where it is not right.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn check(
        key: &[u8; 32],
        purpose: &[u8],
        code: &[u8; 32],
        mut file: File,
    ) -> io::Result<Option<Self>> {
        let right = authenticate(key, purpose, &mut file)?.verify_slice(code).is_ok();
        Ok(right.then_some(Self { file }))
    }
}

fn authenticate(key: &[u8; 32], purpose: &[u8], file: &mut File) -> io::Result<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(io::Error::other)?;
    mac.update(&u64::try_from(purpose.len()).unwrap_or(u64::MAX).to_be_bytes());
    mac.update(purpose);
    file.rewind()?;
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(mac),
            read => mac.update(&piece[..read]),
        }
    }
}

impl Engine {
    /// Makes compiled code ready to be instantiated.
    ///
    /// # Errors
    /// Where it was compiled for another engine.
    pub fn load(&self, code: &Authentic) -> wasmtime::Result<Compiled> {
        Ok(Compiled { component: map(&self.engine, code)? })
    }
}

/// Maps the very file that was checked: it is reached through its descriptor, whatever its name stands for by now.
#[expect(unsafe_code, reason = "machine code can only be trusted, and this code is this host's own")]
fn map(engine: &wasmtime::Engine, code: &Authentic) -> wasmtime::Result<Component> {
    let path = format!("/proc/self/fd/{}", code.file.as_raw_fd());
    // SAFETY: the bytes are what `precompile` gave: an `Authentic` exists only where the authentication code over all of
    // them was right under a key that never leaves this host. They lie in a file that is written once, aside, before it
    // has a name, in a folder that only this user can enter.
    unsafe { Component::deserialize_file(engine, path) }
}
