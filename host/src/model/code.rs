//! The host's stable codes, and what each means.

use super::failure::Kind;

/// A code and its page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
    /// What to do, for the caller and for the operator.
    pub remedy: &'static str,
}

macro_rules! codes {
    ($($code:ident $kind:ident $meaning:literal $remedy:literal)*) => {
        $(#[doc = $meaning] pub const $code: &str = stringify!($code);)*

        /// Every code of the host, in the order of their kinds.
        pub const PAGES: &[Page] = &[
            $(Page { code: $code, kind: Kind::$kind, meaning: $meaning, remedy: $remedy },)*
        ];
    };
}

codes! {
    INVALID_INPUT InvalidInput
        "The input does not satisfy the tool's schema, or is no clean JSON."
        "Mend every fault that `details.faults` lists and call again. `airlock tools NAME` shows the schema."
    INVALID_KEY InvalidInput
        "The idempotency key cannot be used."
        "Give a key of 1 to 255 visible ASCII characters without spaces, or none."
    UNKNOWN_TOOL InvalidInput
        "There is no such tool for this caller. A tool outside a caller's patterns or its scene, or above its highest risk, is not there for it."
        "Use a name that `airlock tools` lists. Operators: look at `[callers.NAME]`, at `[scenes.NAME]` and at the faults of plugins that `airlock tools` reports."
    KEY_REUSED InvalidInput
        "The key was used before for another tool or another input. Nothing was run."
        "Use one key for one action: take a fresh key for this call, or repeat the first call exactly."
    KEY_EXPIRED InvalidInput
        "The key's result is no longer kept, and the tool would do its work a second time. Nothing was run."
        "Find out whether the first call did its work (`airlock runs`). For a second execution take a fresh key."
    INVALID_CONFIGURATION InvalidInput
        "The configuration has faults, so nothing was started."
        "Mend every fault that is shown with its line. `airlock init` writes a file in which every setting stands, with its default."
    INVALID_USAGE InvalidInput
        "The command line cannot be understood, or names something that does not exist."
        "`airlock help` lists the commands, `airlock COMMAND --help` what each takes."
    FAULTS_FOUND InvalidInput
        "What was examined has faults. Nothing was changed."
        "Mend each of `details`, with the line that stands beside it, and ask again: `airlock doctor`, `airlock check FILE`."
    PERMISSION_DENIED Denied
        "The caller, or the user that it asks for, lacks a permission that the tool asks for; the caller or its scene is not known; or the tool's plugin changed since it was accepted (`details.suspended` names it), and waits for its operator. Nothing was run."
        "Operators: add the permission that the message names to `permissions` of `[callers.NAME]`, and of its user where one lacks it. Of a plugin that changed, `airlock trust NAME` shows what did, and accepts it."
    NEEDS_PERSON Denied
        "The tool's risk, or a rule of the operator's, asks for a person's yes, and nobody can be asked here. Nothing was run."
        "Operators: where this tool may run unasked, write `confirm = \"none\"` under `[tools.\"plugin.tool\"]`; where one caller may call it unasked, `confirm = { \"plugin.tool\" = \"none\" }` under `[callers.NAME]`."
    OVERLOADED Throttled
        "Every place is taken and the queue is full, or the sandboxes that run leave no memory for another. Nothing was run."
        "Call again after `retry_after_ms`. Operators: `[limits] at_once` and `waiting`. A plugin composed of many memories takes the room of several: the attempt's log says so."
    STORE_UNAVAILABLE Transient
        "The host cannot write down what it is about to do, so it does not do it. Nothing was run."
        "Call again later with the same key. Operators: the log names the cause (disk full, permissions, a damaged file)."
    INTERRUPTED Transient
        "The process that ran the call ended before the call did, or its caller withdrew it; nothing was left behind."
        "Call again with the key in `details.key`; the same run goes on."
    OUTCOME_UNKNOWN UnknownOutcome
        "The action may have happened and may not; no answer tells."
        "Do not repeat it under a fresh key. Where `details.key` is given, the same key is safe. Else a person looks at the backend and then says `airlock decide RUN happened`, `did-not` or `again`."
    PARTLY_DONE Partial
        "The call failed after part of its work was done; `details.done` lists it. Changes of folders are put back, but for those that somebody else changed since and those of a call that also did something else."
        "Do not repeat it under a fresh key. Where `details.key` is given, the same key is safe. Else a person looks at `airlock runs RUN` and then says `airlock decide RUN happened` or `again`."
    STILL_RUNNING Waiting
        "The call is still running; it goes on without the caller."
        "Ask for its result: over MCP with `airlock__result` and the run in `details.run`, else by calling again with the same key. Without a key, do not call again. `airlock runs RUN` shows how far it is. Operators: `[limits] wait` says how long callers wait."
    TIME_LIMIT Limit
        "The attempt took longer than it may."
        "Operators: `[limits] attempt`, or `timeout` under `[tools.\"plugin.tool\"]`. A tool may declare its own `timeout-ms`."
    FUEL_LIMIT Limit
        "The tool computed more than a call may."
        "Operators: `[limits] fuel`."
    MEMORY_LIMIT Limit
        "The tool asked for more memory, or for more of the host's, than a call may have."
        "Operators: `[limits] memory`. The numbers of resources, handles and random bytes are fixed; tool authors: let go of what is no longer needed."
    OUTPUT_LIMIT Limit
        "The tool gave more output, or larger attachments, than a call may."
        "Operators: `[limits] output` and `[limits] attachments`, and for what is handed to the host in one piece `[limits] body`. Tool authors: give less at a time."
    REQUEST_LIMIT Limit
        "The tool sent more requests, or changed more files, than a call may."
        "Operators: `[limits] requests`."
    INTERNAL Internal
        "The tool or the host failed inside. The caller gets no more than this; the text is in the log, under the trace id."
        "Operators: `airlock runs RUN` shows the attempt's log."
    INVALID_OUTPUT Internal
        "The tool's output is no JSON object, or does not satisfy the schema that the tool declares for it."
        "Tool authors: mend the tool or its output schema; the attempt's log has the faults."
}

/// The page of a code, however it is capitalised.
pub fn page(code: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.code.eq_ignore_ascii_case(code))
}
