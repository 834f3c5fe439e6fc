//! The stable codes of the host and of what it offers to plugins, and what each means.

use super::failure::Kind;

/// A code and its page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The code.
    pub code: &'static str,
    /// Who says it.
    pub whose: Whose,
    /// The kinds that it comes with.
    pub kinds: &'static [Kind],
    /// What it means.
    pub meaning: &'static str,
    /// What to do, for the caller and for the operator.
    pub remedy: &'static str,
}

/// Who says a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The host alone.
    Host,
    /// A plugin, in the words of its SDK, of what the host offers it; and the host, where it finds the same by itself.
    Sdk,
}

macro_rules! codes {
    ($($whose:ident { $($code:ident $($kind:ident)|+ $meaning:literal $remedy:literal)* })*) => {
        $($(#[doc = $meaning] pub const $code: &str = stringify!($code);)*)*

        /// Every code that has a page: those of the host in the order of their kinds, then those of the SDK.
        pub const PAGES: &[Page] = &[$($(
            Page { code: $code, whose: Whose::$whose, kinds: &[$(Kind::$kind),+], meaning: $meaning, remedy: $remedy },
        )*)*];
    };
}

codes! { Host {
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
        "The command line cannot be understood, or names a file, a folder, a caller or a scene that is not there."
        "`airlock help` lists the commands, `airlock COMMAND --help` what each takes."
    FAULTS_FOUND InvalidInput
        "What was examined has faults. Nothing was changed."
        "Mend each of `details`, with the line that stands beside it, and ask again: `airlock doctor`, `airlock check FILE`."
    PERMISSION_DENIED Denied
        "The caller, or the user that it asks for, lacks a permission that the tool asks for; the caller or its scene is not known; or the tool's plugin changed since it was accepted (`details.suspended` names it), and waits for its operator. Nothing was run."
        "Tell the user, and do not call it again as it is. Operators: add the permission that the message names to `permissions` of `[callers.NAME]`, and of its user where one lacks it. Of a plugin that changed, `airlock trust NAME` shows what did, and accepts it."
    NEEDS_PERSON Denied
        "The tool's risk, or a rule of the operator's, asks for a person's yes, and nobody can be asked here. Nothing was run."
        "Tell the user; a person can do it without you. Operators: where this tool may run unasked, write `confirm = \"none\"` under `[tools.\"plugin.tool\"]`; where one caller may call it unasked, `confirm = { \"plugin.tool\" = \"none\" }` under `[callers.NAME]`."
    BUDGET_EXCEEDED Denied
        "Too little is left of what may be spent today: by all callers, by this one, or by its user, as the message says. What a call may cost at most is held before it begins. Nothing was run."
        "Tell the user, or do what costs less. At midnight, UTC, the next day's budget begins: `retry_after_ms` says how long that is, and is 0 where the call may cost more than a whole day's budget. Operators: `airlock costs` shows what was spent and what is held; `day` and `call` under `[budgets]`, and under `budget` of `[callers.NAME]` and of its users, say how much may be."
    LOOP_DETECTED Denied
        "The agent calls the same in circles: the same tools with the same input, and the same reply each time. Nothing was run. The circle ends with another call, or with a reply that is another one."
        "Do something else: other input, another tool, or tell the user what is missing. Operators: `[loops] refuse` says in which round a circle ends, `warn` from which on the reply says so. Tool authors: a tool that is asked again and again until something changes declares `poll`."
    ROLLED_BACK Denied
        "A person has taken the call back: whatever it did is undone. Its key gives this from then on, and nothing is run."
        "Tell the user. Where it is to be done after all, a person says so, and it is asked for under a fresh key. `airlock runs RUN` shows what was undone, and who asked for it."
    OVERLOADED Throttled
        "Every place is taken and the queue is full, or holds as many calls of this caller or of this plugin as it may; or the sandboxes that run leave no memory for another. Nothing was run."
        "Call again after `retry_after_ms`. Operators: `[limits] at_once` and `waiting`. A plugin composed of many memories takes the room of several: the attempt's log says so."
    CIRCUIT_OPEN Transient
        "A backend that the tool needs failed again and again, so it is left alone for a while. Nothing was run; of a tool that goes to several, nothing was sent to that one."
        "Call again after `retry_after_ms`; where that is 0, an operator keeps it shut. Operators: `airlock breakers` shows which backend, since when and until when; `airlock breakers close TOOL` lets calls through all the same, `airlock breakers auto TOOL` leaves it to the host again. `[breaker]` says when it opens."
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
        "The call failed after part of its work was done; `details.done` lists it, and says in `left_because` of a change in a folder why that was not put back. Changes of folders are put back, but for those that somebody else changed since and those of a call that also did something else."
        "Do not repeat it under a fresh key. Where `details.key` is given, the same key is safe. Else a person looks at `airlock runs RUN` and then says `airlock decide RUN happened` or `again`."
    ALREADY_DONE Duplicate
        "The same call was made before in this conversation, and was done: `details.first` is its result, `details.run` its run. Nothing was run."
        "Use that result. Where it is to be done once more on purpose, make the same call with `airlock_repeat_of` and the run in `details.run`. Operators: `[limits] same_action` says for how long, and a tool's `same-action` fields which calls are the same. A call with a key of its own is never taken for another."
    ALREADY_RUNNING Duplicate
        "The same call was made before in this conversation, and is under way in the run of `details.run`. Nothing was run."
        "Wait for that one: over MCP ask for its result with `airlock__result`. Where it is to be done once more on purpose, make the same call with `airlock_repeat_of` and the run in `details.run`. Operators: `[limits] same_action`."
    STILL_RUNNING Waiting
        "The call is still running, or waits to be made in the background; it goes on without the caller."
        "Ask for its result: over MCP with `airlock__result` and the run in `details.run`, else by calling again with the same key. Without a key, do not call again. `airlock runs RUN` shows how far it is. Operators: `[limits] wait` says how long callers wait; calls in the background are made while `airlock serve` or `airlock mcp` runs."
    TIME_LIMIT Limit
        "An attempt took longer than it may, or all attempts of the call together did, or a call in the background was not done in its time: the message says which."
        "Stop, and ask for less at a time. Operators: `[limits] attempt`, or `timeout` under `[tools.\"plugin.tool\"]`, for one attempt; `[limits] run` for all together, `[limits] background` in the background, where time without a host counts too. A tool may declare its own `timeout-ms`. How long a request may take is `[limits] connect` and `read`, or `connect` and `read` of its grant."
    FUEL_LIMIT Limit
        "The tool computed more than a call may."
        "Stop, and ask for less at a time. Operators: `[limits] fuel`. Tool authors: compute less in one call."
    MEMORY_LIMIT Limit
        "The tool asked for more memory, or for more of the host's, than a call may have."
        "Stop, and ask for less at a time. Operators: `[limits] memory`. The numbers of resources, handles and random bytes are fixed; tool authors: let go of what is no longer needed."
    OUTPUT_LIMIT Limit
        "The tool gave more output, or larger attachments, than a call may."
        "Stop, and ask for less at a time. Operators: `[limits] output` and `[limits] attachments`, and for what is handed to the host in one piece `[limits] body`. Tool authors: give less at a time."
    REQUEST_LIMIT Limit
        "The tool sent more requests, or changed more files, than a call may."
        "Stop, and ask for less at a time. Operators: `[limits] requests`. Tool authors: send fewer requests in one call."
    INTERNAL Internal
        "The tool or the host failed inside. The caller gets no more than this; the text is in the log, under the trace id."
        "Stop, and tell the user. Operators: `airlock runs RUN` shows the attempt's log. Tool authors: say what failed in an error with a code of its own."
    INVALID_OUTPUT Internal
        "The tool's output is no JSON object, or does not satisfy the schema that the tool declares for it."
        "Stop, and tell the user. Operators: `airlock runs RUN` shows the attempt's log, which has the faults. Tool authors: mend the tool or its output schema."
} Sdk {
    NOT_CONFIGURED Fatal
        "The configuration does not set a value that the tool needs. Nothing more was done."
        "Stop, and tell the user. Operators: `airlock tools NAME` shows what the tool needs beside what it is granted, and the lines that grant the rest."
    NOT_OFFERED Fatal
        "The tool has none of what it was asked for beside a call: a preview, a rollback, a fingerprint or a probe. Nothing was done."
        "Do without: the tool can be called all the same. Operators: `airlock tools NAME` says what it does and how it is put right; what such a tool did is taken back by hand, and then `airlock decide RUN` says so. Tool authors: write that method of the tool, or do not declare what needs it."
    NO_TEXT Fatal
        "What the plugin keeps under a key is no text, and it asked for a text."
        "Stop, and tell the user. Tool authors: read bytes as bytes, and write under another key what has another form."
    REQUEST_REFUSED Denied
        "The host did not let a request leave: its origin, method, path or address is not declared, or not granted."
        "Stop, and tell the user. Operators: `airlock runs RUN` shows the line of configuration that would allow it, and `airlock tools NAME` all that the tool needs. Tool authors: declare each request."
    SECRET_REFUSED Denied
        "A secret was not given to the tool: it is not declared, not granted, or is not to be used so."
        "Stop, and tell the user. Operators: `airlock runs RUN` shows the rule, and the line that would allow it where one would. Tool authors: declare each secret, and where it goes."
    FILE_REFUSED Denied
        "The host did not touch a file: its folder is not lent, or only to be read, or the path leads out of it."
        "Give a path in a folder that is lent, or stop. Operators: `airlock runs RUN` shows the rule, and the line that would allow it where one would."
    KEY_VALUE_REFUSED Denied
        "The host did not read or keep a value of the plugin's own: no store is declared or granted, or what is there is as much as may be."
        "Stop, and tell the user. Operators: `key_value = true` under `[plugin.NAME]`; `[limits] key_value` says how much a plugin may keep."
    SAVE_REFUSED Denied
        "The host did not save something for the next attempt: it is longer than 1 MiB, or the attempt saved a hundred times."
        "Stop, and tell the user. Tool authors: save less, and less often."
    COST_REFUSED Denied
        "The host did not enter a cost: it is more than the tool declares or than the budget of a call allows, the tool declares none where what is spent is bounded, or it spends on too many things."
        "Stop, and tell the user. Operators: `call` under `[budgets]`, and under `budget` of `[callers.NAME]` and of its users. Tool authors: declare the highest cost of a call, and sum up what is spent on one thing."
    BACKEND_DENIED Denied
        "The backend refuses the credentials that the tool sent (401 or 403)."
        "Stop, and tell the user. Operators: look at the secret that the tool uses, and at what it may do at the backend. `airlock runs RUN` shows the status."
    NOT_FOUND Rejected
        "What was asked for is not there: the backend answered 404, or the tool knows of no such thing."
        "Look at what was asked for; the message says more. `airlock runs RUN` shows what was sent."
    BACKEND_REJECTED Rejected
        "The backend refuses the request (another 4xx): nothing was done."
        "Look at what was asked for. `airlock runs RUN` shows the request and its status."
    FILE_NOT_FOUND Rejected
        "There is no such file or folder in what is lent to the plugin."
        "Give a path that is there, relative to the folder that is lent."
    FILE_EXISTS Rejected
        "There is something of that name already, and it was left as it is."
        "Give another name, or take away first what is there."
    FILE_TOO_LARGE Rejected
        "That is more than may be read or written at once."
        "Give less at a time. Operators: `[limits] body`."
    FILE_CHANGED Transient
        "Somebody else has changed a file or a folder since the tool read it, or is changing it: nothing was done."
        "Call again: the tool reads again what lies there now."
    FILE_FAILED Rejected
        "The system did not do what was asked with a file, for the reason that the message gives."
        "Look at the file and its folder. `airlock runs RUN` shows the attempt's log."
    BACKEND_THROTTLED Throttled
        "The backend asks to slow down (429): nothing was done."
        "Call again after `retry_after_ms`, with the key in `details.key` where one is given."
    BACKEND_UNREACHABLE Transient
        "Nothing left the host: there is no address, no connection or no TLS towards the backend."
        "Call again later, with the key in `details.key` where one is given. Operators: `airlock runs RUN` shows why; look at the origin that is configured, and whether the backend runs."
    BACKEND_FAILED Transient|UnknownOutcome
        "The backend failed (408 or 5xx). Where the request only reads, or this status says that nothing was done, it is transient; else it may have been done."
        "Do what `action` says. `airlock runs RUN` shows the request and its status."
    ANSWER_BROKEN Transient|UnknownOutcome
        "The answer broke off or came too late. Where the request only reads it is transient; else it may have been done."
        "Do what `action` says. Operators: `airlock runs RUN` shows why; `read` of a grant in `[[plugin.NAME.http]]` gives a slow backend more time."
    ANSWER_TOO_LARGE Fatal
        "The backend's answer is larger than a tool may be given."
        "Ask for less at a time. Operators: `[limits] body`."
    UNEXPECTED_ANSWER Fatal
        "The backend answered with a status that the tool has no use for, such as a redirect."
        "Stop, and tell the user. Operators: `airlock runs RUN` shows the status; look at the origin that is configured. Tool authors: redirects are not followed."
} }

/// The page of a code, however it is capitalised.
pub fn page(code: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.code.eq_ignore_ascii_case(code))
}
