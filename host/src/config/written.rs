//! `airlock.toml` as written: every key that exists, what its value looks like, and where it stood.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::budgets::{Budget, Model, ModelPrice, Spending};
use super::log::Log;
use super::loops::Loops;
use super::read::{Named, Read, Reader, Text, tables};
use super::resolved::{AddressRange, DirectoryAccess, Pinning};
use super::retries::{Breaker, Probe, Retries};
use super::tools::Tool;
use crate::model::caller::{Confirm, ToolPattern};
use crate::model::id::{CallerName, NotAScene, NotAUser, SceneName, ToolName, UserName, is_name};
use crate::model::manifest::Risk;
use crate::model::method::{self, NotAMethod};
use crate::model::origin::{NotAPath, NotAnOrigin, OriginPattern, PathPattern};

tables! {
    /// The whole file.
    Written {
        plugins: String,
        state: String,
        lock: Pinning,
        plugin: Named<PluginName, Plugin>,
        callers: Named<CallerName, Caller>,
        scenes: Named<SceneName, Scene>,
        secrets: Named<SecretName, Secret>,
        limits: Limits,
        retries: Retries,
        breaker: Breaker,
        budgets: Spending,
        prices: Named<Model, ModelPrice>,
        probe: Probe,
        tools: Named<ToolName, Tool>,
        loops: Loops,
        http: Http,
        log: Log,
        compile: Compile,
        mcp: Mcp,
    }

    /// `[plugin.NAME]`: what one plugin is given.
    Plugin {
        config: Values,
        secrets: Vec<Spanned<SecretName>>,
        key_value: bool,
        http: Vec<Spanned<Grant>>,
        directories: Named<DirectoryName, Directory>,
    }

    /// `[plugin.NAME.directories] NAME = {…}`: a folder that it is lent.
    Directory {
        path: String,
        access: DirectoryAccess,
    }

    /// `[[plugin.NAME.http]]`: requests that it may send.
    Grant {
        origin: OriginPattern,
        methods: Vec<Spanned<Method>>,
        paths: Vec<Spanned<PathPattern>>,
        addresses: Vec<Spanned<AddressRange>>,
        connect: Duration,
        read: Duration,
    }

    /// `[callers.NAME]`: who may ask for what.
    Caller {
        permissions: Vec<Spanned<String>>,
        max_risk: Risk,
        tools: Vec<Spanned<ToolPattern>>,
        scenes: Vec<Spanned<SceneName>>,
        confirm: Named<ToolName, Confirm>,
        budget: Budget,
        users: Named<UserName, User>,
    }

    /// `[callers.NAME.users.USER]`: what a user is permitted of it, and may spend.
    User {
        permissions: Vec<Spanned<String>>,
        budget: Budget,
    }

    /// `[scenes.NAME]`: a choice of tools.
    Scene {
        tools: Vec<Spanned<ToolPattern>>,
    }

    /// `[secrets] NAME = {…}`: where a secret comes from.
    Secret {
        env: Variable,
        file: String,
        command: Vec<Spanned<String>>,
    }

    /// `[limits]`: what bounds calls.
    Limits {
        attempt: Duration,
        run: Duration,
        background: Duration,
        connect: Duration,
        read: Duration,
        fuel: u64,
        memory: Bytes,
        output: Bytes,
        reply: Bytes,
        attachments: Bytes,
        log: Bytes,
        requests: u64,
        key_value: Bytes,
        body: Bytes,
        contents: Bytes,
        input: Bytes,
        depth: u64,
        at_once: u64,
        waiting: u64,
        wait: Duration,
        keep: Duration,
        tombstone: Duration,
        payloads: Duration,
        same_action: Duration,
    }

    /// `[compile]`: what bounds the compiling of plugins.
    Compile {
        time: Duration,
        memory: Bytes,
        cache: Bytes,
    }

    /// `[mcp]`: what holds for the door that agents use.
    Mcp {
        names: Named<ToolName, McpName>,
    }

    /// `[http]`: what holds for every request.
    Http {
        roots: Vec<Spanned<String>>,
    }
}

/// Values under keys that a plugin chooses.
pub(super) type Values = Named<String, Value>;

/// One value that a plugin is given.
#[derive(Debug)]
pub(super) struct Value(pub(super) String);

/// A plugin's name.
#[derive(Debug)]
pub(super) struct PluginName(pub(super) String);

/// The name by which a plugin knows a folder.
#[derive(Debug)]
pub(super) struct DirectoryName(pub(super) String);

/// A secret's name.
#[derive(Debug)]
pub(super) struct SecretName(pub(super) String);

/// What a tool is called over MCP.
#[derive(Debug)]
pub(super) struct McpName(pub(super) String);

/// A method of HTTP.
#[derive(Debug)]
pub(super) struct Method(pub(super) String);

/// A variable of the environment.
#[derive(Debug)]
pub(super) struct Variable(pub(super) String);

/// A size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes(pub(super) u64);

impl Text for String {
    const IS: &'static str = "a text in quotes, not empty";

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err(String::new()) } else { Ok(text.to_owned()) }
    }
}

impl Text for Value {
    const IS: &'static str = "a text in quotes";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
}

impl Text for PluginName {
    const IS: &'static str =
        "a plugin's name is lower-case letters, digits and single _, and begins with a letter";

    fn parse(text: &str) -> Result<Self, String> {
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(String::new()) }
    }
}

impl Text for DirectoryName {
    const IS: &'static str = "a folder is named as the plugin declares it: 1 to 128 characters and no space";

    fn parse(text: &str) -> Result<Self, String> {
        let named = (1..=128).contains(&text.chars().count()) && !text.contains(char::is_whitespace);
        if named { Ok(Self(text.to_owned())) } else { Err(String::new()) }
    }
}

impl Text for DirectoryAccess {
    const IS: &'static str = "\"read\" where a folder is only looked at, \"write\" where it is changed too";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err(String::new()),
        }
    }
}

impl Text for SecretName {
    const IS: &'static str =
        "a secret's name is lower-case letters, digits and single _, and begins with a letter";

    fn parse(text: &str) -> Result<Self, String> {
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(String::new()) }
    }
}

impl Text for CallerName {
    const IS: &'static str = "a caller's name is at most 64 letters, digits, - and _";

    fn parse(text: &str) -> Result<Self, String> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        match text {
            "local" => Err("`local` is the person at the command line, who may do everything".to_owned()),
            _ if plain && (1..=64).contains(&text.len()) => Ok(Self(text.to_owned())),
            _ => Err(String::new()),
        }
    }
}

impl Text for UserName {
    const IS: &'static str = "a user is named by 1 to 255 visible ASCII characters without spaces";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_: NotAUser| String::new())
    }
}

impl Text for SceneName {
    const IS: &'static str = "a scene's name is at most 64 letters, digits, - and _, such as refund";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_: NotAScene| String::new())
    }
}

impl Text for ToolName {
    const IS: &'static str = "a tool is named plugin.tool, such as desk.create_ticket";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| String::new())
    }
}

impl Text for ToolPattern {
    const IS: &'static str = "a pattern is a tool, a plugin with .*, or *, such as desk.find_order or desk.*";

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(String::new)
    }
}

impl Text for OriginPattern {
    const IS: &'static str = "an origin, such as https://api.example.com";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|why: NotAnOrigin| why.to_string())
    }
}

impl Text for PathPattern {
    const IS: &'static str = "a path, such as /orders/*";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|why: NotAPath| why.to_string())
    }
}

impl Text for AddressRange {
    const IS: &'static str = "an address or a range of them, such as 127.0.0.1 or 10.1.0.0/16";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl Text for Method {
    const IS: &'static str = "a method is in capitals, such as GET or POST";

    fn parse(text: &str) -> Result<Self, String> {
        match method::read(text) {
            Ok(method) => Ok(Self(method.to_owned())),
            Err(why @ NotAMethod::Never) => Err(why.to_string()),
            Err(NotAMethod::NoWord) => match text.to_uppercase() {
                upper if method::read(&upper).is_ok() => Err(format!("a method is in capitals: {upper}")),
                _ => Err(String::new()),
            },
        }
    }
}

impl Text for McpName {
    const IS: &'static str = "a name over MCP is at most 64 letters, digits, - and _, such as create_ticket";

    fn parse(text: &str) -> Result<Self, String> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        match text {
            _ if text.starts_with("airlock__") => {
                Err("names that begin with airlock__ are those of the host's own tools".to_owned())
            }
            _ if plain && (1..=64).contains(&text.len()) => Ok(Self(text.to_owned())),
            _ => Err(String::new()),
        }
    }
}

impl Text for Variable {
    const IS: &'static str = "a variable of the environment, such as DESK_TOKEN";

    fn parse(text: &str) -> Result<Self, String> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let begins = text.starts_with(|first: char| !first.is_ascii_digit());
        if plain && begins { Ok(Self(text.to_owned())) } else { Err(String::new()) }
    }
}

impl Text for Risk {
    const IS: &'static str = "a risk: \"L1\", \"L2\", \"L3\" or \"L4\"";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "L1" => Ok(Self::L1),
            "L2" => Ok(Self::L2),
            "L3" => Ok(Self::L3),
            "L4" => Ok(Self::L4),
            _ => Err(String::new()),
        }
    }
}

impl Text for Pinning {
    const IS: &'static str = "\"first\" where a plugin is taken as it is first seen, \"strict\" where it waits for `airlock trust`";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "first" => Ok(Self::First),
            "strict" => Ok(Self::Strict),
            _ => Err(String::new()),
        }
    }
}

impl Text for Duration {
    const IS: &'static str = "a duration with its unit, such as \"100ms\", \"30s\" or \"24h\"";

    fn parse(text: &str) -> Result<Self, String> {
        humantime::parse_duration(text).map_err(|_| String::new())
    }
}

impl Text for Bytes {
    const IS: &'static str = "a size with its unit, such as \"64 KiB\" or \"8 MiB\"";

    fn parse(text: &str) -> Result<Self, String> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(String::new());
        }
        text.parse().map(|size: bytesize::ByteSize| Self(size.as_u64())).map_err(|_| String::new())
    }
}
