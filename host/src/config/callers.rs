//! Callers, their users and their scenes, from what was written to what holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;

use super::budgets;
use super::faults::Fault;
use super::read::Named;
use super::resolve::{value, values};
use super::written;
use crate::model::caller::{Caller, Scenes};
use crate::model::id::{CallerName, SceneName, UserName};
use crate::model::nearest::nearest;

/// The name under which stands what all other users are permitted.
const OTHERS: &str = "*";

/// Resolves `[scenes]`.
pub(super) fn scenes(written: Named<SceneName, written::Scene>, faults: &mut Vec<Fault>) -> Scenes {
    let faulty = written.faulty.into_iter().map(|name| (name, Arc::default()));
    let mut scenes: Scenes = faulty.collect();
    for (name, scene) in written.entries {
        let (place, name, scene) = (name.span(), name.into_inner(), scene.into_inner());
        if !scene.keys.iter().any(|key| key == "tools") {
            let fault = Fault::at(place, format!("`scenes.{name}` lacks `tools`")).expected("needs `tools`");
            faults.push(fault.help("tools = [\"desk.find_order\", \"mail.*\"]"));
        }
        scenes.insert(name, values(scene.tools).collect());
    }
    scenes
}

/// Resolves `[callers]`.
pub(super) fn callers(
    written: Named<CallerName, written::Caller>,
    scenes: &Scenes,
    faults: &mut Vec<Fault>,
) -> BTreeMap<CallerName, Arc<Caller>> {
    // What is written of `mcp` holds instead; of `local` nothing can be.
    let built_in = [Caller::local(), Caller::mcp()];
    let written = written.entries.into_iter().map(|(name, written)| {
        let mut caller = Caller::reader(name.into_inner());
        resolve(&mut caller, written.into_inner(), scenes, faults);
        caller
    });
    let all = built_in.into_iter().chain(written);
    all.map(|caller| (caller.name.clone(), Arc::new(caller))).collect()
}

fn resolve(caller: &mut Caller, written: written::Caller, scenes: &Scenes, faults: &mut Vec<Fault>) {
    let permissions: BTreeSet<String> = values(written.permissions).collect();
    caller.budgets.own = budgets::allowance(written.budget);
    for (user, entry) in value(written.users).entries {
        let written::User { permissions: own, budget, keys } = entry.into_inner();
        let allowance = budgets::allowance(budget);
        match user.get_ref() {
            others if others.as_str() == OTHERS => caller.budgets.others = allowance,
            user => {
                caller.budgets.users.insert(user.clone(), allowance);
            }
        }
        // Where only a budget is written, nothing is said of permissions.
        if own.is_none() && !keys.is_empty() {
            continue;
        }
        let own = value(own);
        faults.extend(own.iter().filter_map(|one| beyond(one, &caller.name, user.get_ref(), &permissions)));
        let own = own.into_iter().map(Spanned::into_inner).collect();
        match user.into_inner() {
            others if others.as_str() == OTHERS => caller.other_users = Some(own),
            user => {
                caller.users.insert(user, own);
            }
        }
    }
    caller.permissions = Some(permissions);
    if let Some(risk) = written.max_risk {
        caller.max_risk = risk.into_inner();
    }
    if let Some(tools) = written.tools {
        caller.tools = values(Some(tools)).collect();
    }
    if let Some(own) = written.scenes {
        faults.extend(own.get_ref().iter().filter_map(|name| nowhere(name, scenes)));
        caller.scenes = Some(values(Some(own)).collect());
    }
    let confirm = value(written.confirm).entries.into_iter();
    caller.confirm = confirm.map(|(tool, confirm)| (tool.into_inner(), confirm.into_inner())).collect();
}

/// The fault that a user is permitted what its caller is not: users narrow, and never widen.
fn beyond(
    permission: &Spanned<String>,
    caller: &CallerName,
    user: &UserName,
    held: &BTreeSet<String>,
) -> Option<Fault> {
    let name = permission.get_ref();
    if held.contains(name) {
        return None;
    }
    let text = format!("the user {user} cannot be permitted what the caller {caller} is not: {name}");
    let fault = Fault::at(permission.span(), text).expected("a permission of the caller");
    Some(fault.help(match nearest(name, held.iter().map(String::as_str)).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("add it to `permissions` of [callers.{caller}]; a user has at most what the caller has")
        }
    }))
}

/// The fault that a scene is named that there is not.
fn nowhere(name: &Spanned<SceneName>, scenes: &Scenes) -> Option<Fault> {
    let scene = name.get_ref();
    if scenes.contains_key(scene) {
        return None;
    }
    let fault =
        Fault::at(name.span(), format!("there is no scene `{scene}`")).expected("a name under [scenes]");
    Some(fault.help(match nearest(scene.as_ref(), scenes.keys().map(AsRef::as_ref)).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write: [scenes.{scene}], and below it tools = [\"desk.find_order\"]"),
    }))
}
