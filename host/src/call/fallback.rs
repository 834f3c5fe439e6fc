//! Another tool that may do instead: where the operator names one, and the caller may call it.

use super::authorize;
use super::resolve::Resolved;
use crate::model::code;
use crate::model::failure::Failure;
use crate::model::id::ToolName;

/// Names the tool that may do instead of one that failed, where what stopped it may pass.
pub(super) fn offer(resolved: &Resolved, failure: Failure) -> Failure {
    // A caller that withdrew wants nothing instead, and without its store the host does nothing at all.
    let no_tools = matches!(&*failure.code, code::INTERRUPTED | code::STORE_UNAVAILABLE);
    match named(resolved).filter(|_| failure.kind.retryable() && !no_tools) {
        Some(tool) => failure.with_fallback(tool),
        None => failure,
    }
}

fn named(resolved: &Resolved) -> Option<&ToolName> {
    let (setting, asker) = (resolved.setting(), resolved.asker());
    let name = setting.config.tools.get(&resolved.tool().name)?.fallback.as_ref()?;
    let entry = setting.registry.get(name)?;
    let may = asker.sees(name, entry.tool.risk)
        && asker.lacks(&entry.tool.permissions).is_none()
        && !authorize::confirm(asker, entry);
    may.then_some(name)
}
