//! The values that a plugin keeps under keys of its own: read as they are, changed when the call succeeds.

use super::staging::{Change, Inner, OVER, Staging, Told};
use crate::sandbox::grants::{Grants, KeyValue, READS_ONLY};

/// The longest key, in bytes.
const KEY: usize = 512;

/// The longest value, in bytes.
const VALUE: usize = 64 << 10;

/// The most keys that are given at once.
const KEYS: usize = 1000;

/// How much one call may change, in bytes of keys and values: they are held in memory, and written in one transaction
/// that all others wait for.
const CHANGED: u64 = 4 << 20;

/// What the host needs to hold a change beside its key and value.
const ENTRY: u64 = 128;

/// Whether a tool may use its plugin's store; a refusal's text is for the guest, and its remedy for the operator.
pub(crate) fn allowed(grants: &Grants) -> Result<(), (String, String)> {
    match grants.key_value {
        KeyValue::Granted => Ok(()),
        KeyValue::Ungranted => Err((
            "the key-value store is not granted to this plugin".to_owned(),
            format!("[plugin.{}] key_value = true would allow it", grants.plugin),
        )),
        KeyValue::Undeclared => Err((
            "the tool does not declare that it needs the key-value store".to_owned(),
            "only its author can change that".to_owned(),
        )),
    }
}

/// Whether a tool may change what is in it; a refusal is as for [`allowed`].
pub(crate) fn changeable(grants: &Grants) -> Result<(), (String, String)> {
    if grants.reads_only {
        return Err((READS_ONLY.to_owned(), "a call may change it".to_owned()));
    }
    allowed(grants)
}

impl Staging {
    /// The value of a key, as this call sees it.
    pub(crate) async fn get(&self, key: String) -> Told<Option<Vec<u8>>> {
        if let Err(refusal) = within(&key) {
            return Ok(Err(refusal));
        }
        if let Some(change) = self.lock().changes.get(&key) {
            return Ok(Ok(change.value.clone()));
        }
        let plugin = self.bounds.plugin.clone();
        Ok(Ok(self.read(move |store| store.value(&plugin, &key)).await?))
    }

    /// Sets a value, once the call succeeds.
    pub(crate) async fn set(&self, key: String, value: Vec<u8>) -> Told<()> {
        if value.len() > VALUE {
            return Ok(Err(format!("a value has at most {VALUE} bytes, and this one has {}", value.len())));
        }
        self.change(key, Some(value)).await
    }

    /// Removes a key, once the call succeeds.
    pub(crate) async fn delete(&self, key: String) -> Told<()> {
        self.change(key, None).await
    }

    async fn change(&self, key: String, value: Option<Vec<u8>>) -> Told<()> {
        if let Err(refusal) = within(&key) {
            return Ok(Err(refusal));
        }
        let (plugin, asked) = (self.bounds.plugin.clone(), key.clone());
        let room = self.read(move |store| store.room(&plugin, &asked)).await?;
        let before = room.entry;
        Ok(self.lock().change(key, Change { value, before }, room.all, self.bounds.room))
    }

    /// Keys that begin so, in order, as this call sees them.
    pub(crate) async fn keys(&self, prefix: String, after: Option<String>) -> Told<Vec<String>> {
        if let Err(refusal) = within(&prefix).and_then(|()| within(after.as_deref().unwrap_or_default())) {
            return Ok(Err(refusal));
        }
        let meant = |key: &str| key.starts_with(&prefix) && after.as_deref().is_none_or(|after| key > after);
        let gone = self.lock().changes.values().filter(|change| change.value.is_none()).count();
        // Beyond those that this call removes, so that enough are left.
        let (plugin, begin, from) = (self.bounds.plugin.clone(), prefix.clone(), after.clone());
        let kept =
            self.read(move |store| store.value_keys(&plugin, &begin, from.as_deref(), KEYS + gone)).await?;
        let mut keys: std::collections::BTreeSet<String> = kept.into_iter().collect();
        for (key, change) in self.lock().changes.iter().filter(|(key, _)| meant(key)) {
            if change.value.is_some() {
                keys.insert(key.clone());
            } else {
                keys.remove(key);
            }
        }
        Ok(Ok(keys.into_iter().take(KEYS).collect()))
    }
}

impl Inner {
    /// Takes a change in; `all` is what the plugin keeps by now, and `room` what it may keep.
    fn change(&mut self, key: String, change: Change, all: u64, room: u64) -> Result<(), String> {
        if self.closed {
            return Err(OVER.to_owned());
        }
        let size = |change: &Change| change.value.as_ref().map_or(0, |value| bytes(key.len() + value.len()));
        let held = |change: &Change| ENTRY + bytes(key.len() + change.value.as_ref().map_or(0, Vec::len));
        let old = self.changes.get(&key);
        let changed = self.changed - old.map_or(0, held) + held(&change);
        let after = self.after - old.map_or(0, size) + size(&change);
        let before = self.before - old.map_or(0, |old| old.before) + change.before;
        if changed > CHANGED {
            return Err(format!("one call changes at most {CHANGED} bytes of keys and values"));
        }
        if change.value.is_some() && all.saturating_sub(before).saturating_add(after) > room {
            return Err(format!(
                "a plugin keeps at most {room} bytes of keys and values ([limits] key_value)"
            ));
        }
        (self.changed, self.after, self.before) = (changed, after, before);
        self.changes.insert(key, change);
        Ok(())
    }
}

fn within(key: &str) -> Result<(), String> {
    if key.len() > KEY {
        return Err(format!("a key has at most {KEY} bytes, and this one has {}", key.len()));
    }
    Ok(())
}

fn bytes(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A change of one of a few keys to a value of this size, or away.
    fn change() -> impl Strategy<Value = (u8, Option<usize>)> {
        (0..4_u8, prop::option::of(0..40_usize))
    }

    proptest! {
        #[test]
        fn what_is_kept_stays_within_its_room(changes in prop::collection::vec(change(), 0..40), kept in prop::collection::btree_map(0..4_u8, 0..40_u64, 0..4)) {
            let (room, mut inner) = (100, Inner::default());
            let all: u64 = kept.values().map(|size| size + 1).sum();
            let mut sizes = kept.clone();
            for (key, value) in changes {
                let before = kept.get(&key).map_or(0, |size| size + 1);
                let change = Change { value: value.map(|size| vec![0; size]), before };
                if inner.change(key.to_string(), change, all, room).is_ok() {
                    match value {
                        Some(size) => sizes.insert(key, bytes(size)),
                        None => sizes.remove(&key),
                    };
                    let sum: u64 = sizes.values().map(|size| size + 1).sum();
                    prop_assert!(value.is_none() || sum <= room);
                }
                let held = |change: &Change| ENTRY + 1 + bytes(change.value.as_ref().map_or(0, Vec::len));
                let held: u64 = inner.changes.values().map(held).sum();
                prop_assert_eq!(inner.changed, held);
            }
        }
    }

    #[test]
    fn one_call_changes_only_so_much_whatever_is_left_of_the_room() {
        let mut inner = Inner::default();
        let mut set = |n: u32| {
            let change = Change { value: Some(vec![0; VALUE]), before: 0 };
            inner.change(n.to_string(), change, 0, u64::MAX)
        };
        assert!((0..63).all(|n| set(n).is_ok()));
        assert_eq!(set(63), Err("one call changes at most 4194304 bytes of keys and values".to_owned()));
    }
}
