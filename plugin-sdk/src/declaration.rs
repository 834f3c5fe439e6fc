//! What a tool says of itself, beside its code.

use std::time::Duration;

use crate::bindings::reader::airlock::plugin::types::{self, Access, Cleanup, Need, Repeat, Risk};
use crate::{Answer, Tool, schema};

/// What a tool may do and needs, as one expression.
///
/// What is left out is taken strictly: the highest risk, done twice when it is called twice, and a
/// person to clean up. Name and schemas come from the [`Tool`].
#[derive(Debug, Clone)]
pub struct Declaration {
    tool: types::Tool,
}

impl Declaration {
    /// Begins with the title that people read.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            tool: types::Tool {
                name: String::new(),
                title: title.into(),
                description: String::new(),
                input_schema: String::new(),
                output_schema: None,
                risk: Risk::HighRiskWrite,
                repeat: Repeat::Once,
                cleanup: Cleanup::Manual,
                permissions: Vec::new(),
                needs: Vec::new(),
                hidden: Vec::new(),
                private: Vec::new(),
                same_action: Vec::new(),
                poll: false,
                timeout_ms: None,
                cost_micros: None,
            },
        }
    }

    /// What a model reads to decide when and how to call the tool.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.tool.description = description.into();
        self
    }

    /// How much harm a wrong call can do.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.tool.risk = risk;
        self
    }

    /// What doing the same a second time does. As strict as the strictest request, or stricter.
    #[must_use]
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.tool.repeat = repeat;
        self
    }

    /// What becomes of what a call left behind when its run fails.
    #[must_use]
    pub fn cleanup(mut self, cleanup: Cleanup) -> Self {
        self.tool.cleanup = cleanup;
        self
    }

    /// Adds something that the caller must be permitted: `order:read`.
    #[must_use]
    pub fn permission(mut self, permission: impl Into<String>) -> Self {
        self.tool.permissions.push(permission.into());
        self
    }

    /// Adds requests that the tool sends.
    #[must_use]
    pub fn http(mut self, need: HttpNeed) -> Self {
        self.tool.needs.push(Need::Http(need.need));
        self
    }

    /// Adds a configuration value, by key.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>) -> Self {
        self.tool.needs.push(Need::Config(key.into()));
        self
    }

    /// Adds values that the plugin keeps under keys of its own: [`key_value`](crate::key_value).
    #[must_use]
    pub fn key_value(mut self) -> Self {
        self.tool.needs.push(Need::KeyValue);
        self
    }

    /// Adds a folder that the operator lends under this name.
    #[must_use]
    pub fn directory(mut self, name: impl Into<String>, access: Access) -> Self {
        self.tool.needs.push(Need::Directory(types::DirectoryNeed { name: name.into(), access }));
        self
    }

    /// Adds a secret that goes to these origins alone, in headers.
    #[must_use]
    pub fn secret(self, name: impl Into<String>, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.any_secret(name.into(), origins, false)
    }

    /// Adds a secret that goes to these origins alone, in headers and in bodies.
    #[must_use]
    pub fn secret_in_body(self, name: impl Into<String>, origins: impl IntoIterator<Item = Origin>) -> Self {
        self.any_secret(name.into(), origins, true)
    }

    fn any_secret(mut self, name: String, origins: impl IntoIterator<Item = Origin>, in_body: bool) -> Self {
        let origins = origins.into_iter().map(|origin| origin.0).collect();
        self.tool.needs.push(Need::Secret(types::SecretNeed { name, origins, in_body }));
        self
    }

    /// Where input, output and error details hold what nobody but the tool sees, as JSON pointers;
    /// `*` stands for any item.
    #[must_use]
    pub fn hidden(mut self, pointers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tool.hidden.extend(pointers.into_iter().map(Into::into));
        self
    }

    /// Where they hold what the caller sees, and logs, lists and screens do not.
    #[must_use]
    pub fn private(mut self, pointers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tool.private.extend(pointers.into_iter().map(Into::into));
        self
    }

    /// The input fields that make two calls the same action; all of them where this is left out.
    #[must_use]
    pub fn same_action(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tool.same_action.extend(fields.into_iter().map(Into::into));
        self
    }

    /// Says that calling it again and again with one input is how it is used.
    #[must_use]
    pub fn poll(mut self) -> Self {
        self.tool.poll = true;
        self
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.tool.timeout_ms = Some(u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// What one call costs at most, in millionths of the budget's currency.
    #[must_use]
    pub fn cost_micros(mut self, micros: u64) -> Self {
        self.tool.cost_micros = Some(micros);
        self
    }

    /// The tool as the manifest has it.
    pub(crate) fn of<T: Tool>() -> types::Tool {
        types::Tool {
            name: T::NAME.to_owned(),
            input_schema: schema::of_input::<T::Input>().to_string(),
            output_schema: Some(schema::of_output::<<T::Output as Answer>::Data>().to_string()),
            ..T::declare().tool
        }
    }
}

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Origin(types::Origin);

impl Origin {
    /// Scheme, host and port: `https://api.example.com`, `https://*.example.com:8443`.
    pub fn fixed(origin: impl Into<String>) -> Self {
        Self(types::Origin::Fixed(origin.into()))
    }

    /// The origin that the operator sets under this configuration key.
    pub fn configured(key: impl Into<String>) -> Self {
        Self(types::Origin::Configured(key.into()))
    }

    /// Whatever the operator grants.
    #[must_use]
    pub fn granted() -> Self {
        Self(types::Origin::Granted)
    }

    /// `GET` requests; they read.
    #[must_use]
    pub fn get(self, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        self.request("GET", paths)
    }

    /// `POST` requests.
    #[must_use]
    pub fn post(self, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        self.request("POST", paths)
    }

    /// `PUT` requests.
    #[must_use]
    pub fn put(self, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        self.request("PUT", paths)
    }

    /// `PATCH` requests.
    #[must_use]
    pub fn patch(self, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        self.request("PATCH", paths)
    }

    /// `DELETE` requests.
    #[must_use]
    pub fn delete(self, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        self.request("DELETE", paths)
    }

    /// Requests of any method, in capitals. In a path, `*` stands for one segment and a final `/**`
    /// for the rest; no paths are all paths.
    ///
    /// `GET` and `HEAD` read; any other is taken to be done twice when it is sent twice.
    #[must_use]
    pub fn request(self, method: &str, paths: impl IntoIterator<Item = impl Into<String>>) -> HttpNeed {
        HttpNeed {
            need: types::HttpNeed {
                origin: self.0,
                methods: vec![method.to_owned()],
                paths: paths.into_iter().map(Into::into).collect(),
                repeat: if matches!(method, "GET" | "HEAD") { Repeat::Reads } else { Repeat::Once },
                idempotency_header: None,
                clean_statuses: Vec::new(),
            },
        }
    }
}

/// Requests that a tool sends, and what repeating one does.
#[derive(Debug, Clone)]
pub struct HttpNeed {
    need: types::HttpNeed,
}

impl HttpNeed {
    /// Such a request only reads: a `POST` that searches.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.need.repeat = Repeat::Reads;
        self
    }

    /// The second such request changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.need.repeat = Repeat::Idempotent;
        self
    }

    /// This backend takes a key in this header and does the request once. The host writes the header.
    #[must_use]
    pub fn keyed(mut self, header: impl Into<String>) -> Self {
        self.need.repeat = Repeat::Keyed;
        self.need.idempotency_header = Some(header.into());
        self
    }

    /// Statuses of 500 and above by which this backend says that nothing was done.
    #[must_use]
    pub fn clean_statuses(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.need.clean_statuses.extend(statuses);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_taken_strictly() {
        let tool = Declaration::new("Anything").tool;
        assert_eq!(
            (tool.risk, tool.repeat, tool.cleanup),
            (Risk::HighRiskWrite, Repeat::Once, Cleanup::Manual)
        );
        assert!(tool.needs.is_empty());
    }

    #[test]
    fn a_get_reads_and_a_post_is_done_twice_unless_declared_otherwise() {
        let repeat = |need: HttpNeed| need.need.repeat;
        assert_eq!(repeat(Origin::granted().get(["/a"])), Repeat::Reads);
        assert_eq!(repeat(Origin::granted().post(["/a"])), Repeat::Once);
        assert_eq!(repeat(Origin::granted().put(["/a"])), Repeat::Once);
        assert_eq!(repeat(Origin::granted().post(["/search"]).reads()), Repeat::Reads);
        assert_eq!(repeat(Origin::granted().put(["/a"]).idempotent()), Repeat::Idempotent);
    }

    #[test]
    fn a_keyed_request_names_its_header() {
        let need = Origin::granted().post(["/tickets"]).keyed("Idempotency-Key").need;
        assert_eq!(need.repeat, Repeat::Keyed);
        assert_eq!(need.idempotency_header.as_deref(), Some("Idempotency-Key"));
    }
}
