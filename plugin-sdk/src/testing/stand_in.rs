//! What a tool calls natively in place of the host.

use std::cell::{RefCell, RefMut};

use super::{Host, State};

thread_local! {
    static CURRENT: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// What is said where a tool runs natively and no test stands in for the host.
const ALONE: &str = "no host is here: call the tool through airlock_sdk::testing::Host";

/// Puts a host in place of the one before, which is given.
pub(super) fn enter(host: Option<Host>) -> Option<Host> {
    CURRENT.with(|current| current.replace(host))
}

/// Puts the host of before back when it is dropped.
pub(super) struct Leave(pub(super) Option<Host>);

impl Drop for Leave {
    fn drop(&mut self) {
        drop(enter(self.0.take()));
    }
}

/// Does something with the host that stands here, if one does.
pub(super) fn with<R>(work: impl FnOnce(RefMut<'_, State>) -> R) -> Option<R> {
    let host = CURRENT.with(|current| current.borrow().clone());
    host.map(|host| work(host.change()))
}

fn refused<R>(work: impl FnOnce(RefMut<'_, State>) -> Result<R, String>) -> Result<R, String> {
    with(work).unwrap_or_else(|| Err(ALONE.to_owned()))
}

/// In place of the interface `host`.
pub(crate) mod host {
    use super::super::declared;
    use super::{refused, with};
    pub(crate) use crate::bindings::reader::airlock::plugin::host::Level;

    /// What one attempt may save.
    const SAVED: usize = 1 << 20;

    pub(crate) fn config(key: &str) -> Option<String> {
        with(|state| declared::reads(&state.needs, key).then(|| state.config.get(key).cloned()).flatten())
            .flatten()
    }

    pub(crate) fn log(level: Level, message: &str, fields: &str) {
        let fields = serde_json::from_str(fields).unwrap_or_default();
        let heard = with(|mut state| state.lines.push((level, message.to_owned(), fields)));
        if heard.is_none() {
            eprintln!("{level:?} {message}");
        }
    }

    pub(crate) fn progress(done: u32, total: Option<u32>, message: &str) {
        let heard = with(|mut state| state.told.push((done, total, message.to_owned())));
        if heard.is_none() {
            eprintln!("{done}: {message}");
        }
    }

    pub(crate) fn stop_asked() -> bool {
        with(|state| state.stop).unwrap_or(false)
    }

    pub(crate) fn save(bytes: &[u8]) -> Result<(), String> {
        if bytes.len() > SAVED {
            return Err(format!("what is saved has {} bytes and may have {SAVED}", bytes.len()));
        }
        refused(|mut state| {
            state.saved = Some(bytes.to_vec());
            Ok(())
        })
    }

    pub(crate) fn spend(micros: u64, what: &str) -> Result<(), String> {
        refused(|mut state| {
            state.spent.push((micros, what.to_owned()));
            Ok(())
        })
    }
}

/// In place of the interface `secrets`.
pub(crate) mod secrets {
    use super::super::declared;
    use super::refused;
    pub(crate) use crate::bindings::reader::airlock::plugin::secrets::Algorithm;

    fn granted(name: &str) -> Result<(), String> {
        refused(|state| match (declared::uses(&state.needs, name), state.secrets.contains(name)) {
            (false, _) => Err(format!("the tool does not declare the secret {name}")),
            (true, false) => Err(format!("the secret {name} is not granted")),
            (true, true) => Ok(()),
        })
    }

    pub(crate) fn placeholder(name: &str) -> Result<String, String> {
        granted(name).map(|()| format!("{{{{{name}}}}}"))
    }

    pub(crate) fn basic(user: &str, name: &str) -> Result<String, String> {
        granted(name).map(|()| format!("Basic {{{{{user}:{name}}}}}"))
    }

    pub(crate) fn sign(name: &str, algorithm: Algorithm, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let length = match algorithm {
            Algorithm::HmacSha256 => 32,
            Algorithm::HmacSha512 => 64,
        };
        // No signature, and equal for what is equal.
        let text = format!("{name} over {} bytes", bytes.len());
        let sum = bytes.iter().fold(7u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
        granted(name).map(|()| text.bytes().chain(std::iter::repeat(sum)).take(length).collect())
    }
}

/// In place of the interface `http`.
pub(crate) mod http {
    use super::super::{Lost, Sent, declared};
    use super::{ALONE, with};
    pub(crate) use crate::bindings::reader::airlock::plugin::http::{HttpError, Request, Response};

    pub(crate) fn send(request: &Request) -> Result<Response, HttpError> {
        let Request { method, url, headers, body, timeout_ms: _ } = request.clone();
        let answer = with(|mut state| {
            if !declared::sends(&state.needs, &state.config, &method, &url) {
                return Err(HttpError::Forbidden(format!("{method} {url} is not declared")));
            }
            let place = state.answers.iter().position(|(one, at, _)| *one == method && *at == url);
            state.requests.push(Sent { method: method.clone(), url: url.clone(), headers, body });
            Ok(place.and_then(|place| state.answers.remove(place)))
        });
        let answer = answer.unwrap_or_else(|| Err(HttpError::Forbidden(ALONE.to_owned())))?;
        let Some((_, _, answer)) = answer else { panic!("the test gave no answer to {method} {url}") };
        match answer.lost {
            None => Ok(Response { status: answer.status, headers: answer.headers, body: answer.body }),
            Some(Lost::NotSent) => Err(HttpError::NotSent("the test says so".to_owned())),
            Some(Lost::Broken) => Err(HttpError::Broken("the test says so".to_owned())),
            Some(Lost::TooLarge) => Err(HttpError::TooLarge),
        }
    }
}

/// In place of the interface `key-value`.
pub(crate) mod key_value {
    use super::super::{State, declared};
    use super::refused;

    const LONGEST_KEY: usize = 512;
    const LONGEST_VALUE: usize = 64 << 10;
    const MOST_KEYS: usize = 1000;

    fn allowed(state: &State, key: &str) -> Result<(), String> {
        if !declared::keeps(&state.needs) {
            return Err("the tool does not declare a store of its own".to_owned());
        }
        if key.len() > LONGEST_KEY {
            return Err(format!("a key has {LONGEST_KEY} bytes at most, and this one {}", key.len()));
        }
        Ok(())
    }

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, String> {
        refused(|state| {
            allowed(&state, key)?;
            Ok(state.staged.get(key).cloned().unwrap_or_else(|| state.kept.get(key).cloned()))
        })
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), String> {
        refused(|mut state| {
            allowed(&state, key)?;
            if value.len() > LONGEST_VALUE {
                return Err(format!(
                    "a value has {LONGEST_VALUE} bytes at most, and this one {}",
                    value.len()
                ));
            }
            state.staged.insert(key.to_owned(), Some(value.to_vec()));
            Ok(())
        })
    }

    pub(crate) fn delete(key: &str) -> Result<(), String> {
        refused(|mut state| {
            allowed(&state, key)?;
            state.staged.insert(key.to_owned(), None);
            Ok(())
        })
    }

    pub(crate) fn keys(prefix: &str, after: Option<&str>) -> Result<Vec<String>, String> {
        refused(|state| {
            allowed(&state, prefix)?;
            let mut all = state.kept.clone();
            for (key, value) in &state.staged {
                match value {
                    Some(value) => all.insert(key.clone(), value.clone()),
                    None => all.remove(key),
                };
            }
            let keys = all.into_keys().filter(|key| key.starts_with(prefix));
            Ok(keys.filter(|key| after.is_none_or(|after| key.as_str() > after)).take(MOST_KEYS).collect())
        })
    }
}
