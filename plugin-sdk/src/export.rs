//! What stands between the contract's exports and the tools.

use serde::de::DeserializeOwned;

use crate::bindings::reader::airlock::plugin::types;
use crate::bindings::way_back::exports::airlock::plugin::{preview, rollback};
use crate::{Answer, Context, Declaration, PastCall, Probed, Tool, ToolError};

/// Exports tools as a plugin.
///
/// The name is the manifest's; version and description are the package's.
///
/// ```text
/// airlock_sdk::export!(reader desk: FindOrder);
/// airlock_sdk::export!(writer desk: FindOrder, CreateTicket, SendMail);
/// ```
///
/// A `reader` exports its tools alone; a `writer` exports `preview` and `rollback` beside them.
#[macro_export]
macro_rules! export {
    (reader $name:ident: $($tool:ty),+ $(,)?) => {
        const _: () = {
            $crate::__plugin!($name: $($tool),+);
            $crate::__export_tools!(Plugin);
        };
    };
    (writer $name:ident: $($tool:ty),+ $(,)?) => {
        const _: () = {
            $crate::__plugin!($name: $($tool),+);
            $crate::__way_back!($($tool),+);
            $crate::__export_tools!(Plugin);
            $crate::__export_way_back!(Plugin);
        };
    };
}

/// Exports a type that implements `tools` itself. Only a component has such exports: natively their
/// names would stop the linker, and the type is merely used.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_tools {
    ($plugin:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::reader::export_reader!($plugin with_types_in $crate::bindings::reader);
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::export::host::Manifest =
            <$plugin as $crate::export::host::tools::Guest>::describe;
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_way_back {
    ($plugin:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::way_back::export_way_back!(
            $plugin with_types_in $crate::bindings::way_back
        );
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __plugin {
    ($name:ident: $($tool:ty),+) => {
        struct Plugin;

        use $crate::export::host as __host;

        impl __host::tools::Guest for Plugin {
            fn describe() -> __host::Manifest {
                __host::Manifest {
                    name: ::core::stringify!($name).to_owned(),
                    version: ::core::env!("CARGO_PKG_VERSION").to_owned(),
                    description: ::core::env!("CARGO_PKG_DESCRIPTION").to_owned(),
                    tools: ::std::vec![$($crate::export::declare::<$tool>()),+],
                }
            }

            fn call(
                tool: ::std::string::String,
                input: ::std::string::String,
                context: $crate::Context,
            ) -> ::core::result::Result<__host::Reply, __host::ToolError> {
                match tool.as_str() {
                    $(<$tool as $crate::Tool>::NAME => {
                        $crate::export::call::<$tool>(&input, &context)
                    })+
                    _ => ::core::result::Result::Err($crate::export::unknown_tool(&tool)),
                }
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __way_back {
    ($($tool:ty),+) => {
        impl __host::preview::Guest for Plugin {
            fn preview(
                tool: ::std::string::String,
                input: ::std::string::String,
                context: $crate::Context,
            ) -> ::core::result::Result<$crate::Planned, __host::ToolError> {
                match tool.as_str() {
                    $(<$tool as $crate::Tool>::NAME => {
                        $crate::export::preview::<$tool>(&input, &context)
                    })+
                    _ => ::core::result::Result::Err($crate::export::unknown_tool(&tool)),
                }
            }
        }

        impl __host::rollback::Guest for Plugin {
            fn rollback(
                past: __host::rollback::PastCall,
                context: $crate::Context,
            ) -> ::core::result::Result<$crate::Undone, __host::ToolError> {
                match past.tool.as_str() {
                    $(<$tool as $crate::Tool>::NAME => {
                        $crate::export::rollback::<$tool>(past, &context)
                    })+
                    _ => ::core::result::Result::Err($crate::export::unknown_tool(&past.tool)),
                }
            }

            fn fingerprint(
                past: __host::rollback::PastCall,
                context: $crate::Context,
            ) -> ::core::result::Result<
                ::core::option::Option<::std::string::String>,
                __host::ToolError,
            > {
                match past.tool.as_str() {
                    $(<$tool as $crate::Tool>::NAME => {
                        $crate::export::fingerprint::<$tool>(past, &context)
                    })+
                    _ => ::core::result::Result::Err($crate::export::unknown_tool(&past.tool)),
                }
            }

            fn probe(
                past: __host::rollback::PastCall,
                context: $crate::Context,
            ) -> ::core::result::Result<__host::rollback::Probed, __host::ToolError> {
                match past.tool.as_str() {
                    $(<$tool as $crate::Tool>::NAME => {
                        $crate::export::probe::<$tool>(past, &context)
                    })+
                    _ => ::core::result::Result::Err($crate::export::unknown_tool(&past.tool)),
                }
            }
        }
    };
}

/// The contract's own names, for the macros.
pub mod host {
    pub use crate::bindings::reader::airlock::plugin::types::{Manifest, Reply, ToolError};
    pub use crate::bindings::reader::exports::airlock::plugin::tools;
    pub use crate::bindings::way_back::exports::airlock::plugin::{preview, rollback};
}

/// The tool as the manifest has it.
#[must_use]
pub fn declare<T: Tool>() -> types::Tool {
    Declaration::of::<T>()
}

/// Runs one tool.
///
/// # Errors
/// What the tool says, in the contract's form.
pub fn call<T: Tool>(input: &str, context: &Context) -> Result<types::Reply, types::ToolError> {
    read(input).and_then(|input| T::call(input, context)).and_then(reply).map_err(ToolError::into_host)
}

/// Says what a call would do.
///
/// # Errors
/// What the tool says, in the contract's form.
pub fn preview<T: Tool>(input: &str, context: &Context) -> Result<preview::Planned, types::ToolError> {
    read(input).and_then(|input| T::preview(input, context)).map_err(ToolError::into_host)
}

/// Takes one call back.
///
/// # Errors
/// What the tool says, in the contract's form.
pub fn rollback<T: Tool>(
    past: rollback::PastCall,
    context: &Context,
) -> Result<rollback::Undone, types::ToolError> {
    past_call(past).and_then(|past| T::rollback(past, context)).map_err(ToolError::into_host)
}

/// Tells the state of what one call touched.
///
/// # Errors
/// What the tool says, in the contract's form.
pub fn fingerprint<T: Tool>(
    past: rollback::PastCall,
    context: &Context,
) -> Result<Option<String>, types::ToolError> {
    past_call(past).and_then(|past| T::fingerprint(past, context)).map_err(ToolError::into_host)
}

/// Tells whether one call took effect.
///
/// # Errors
/// What the tool says, in the contract's form.
pub fn probe<T: Tool>(
    past: rollback::PastCall,
    context: &Context,
) -> Result<rollback::Probed, types::ToolError> {
    past_call(past)
        .and_then(|past| T::probe(past, context))
        .and_then(|probed| {
            Ok(match probed {
                Probed::Yes(output) => rollback::Probed::Yes(output.map(reply).transpose()?),
                Probed::No => rollback::Probed::No,
                Probed::Unknown => rollback::Probed::Unknown,
            })
        })
        .map_err(ToolError::into_host)
}

/// What the host gets that asks for a tool that this plugin did not declare.
#[must_use]
pub fn unknown_tool(name: &str) -> types::ToolError {
    ToolError::internal(format!("there is no tool {name}")).into_host()
}

fn read<I: DeserializeOwned>(input: &str) -> Result<I, ToolError> {
    serde_json::from_str(input).map_err(|error| ToolError::invalid_input("INVALID_INPUT", error.to_string()))
}

fn reply<A: Answer>(answer: A) -> Result<types::Reply, ToolError> {
    let reply = answer.into_reply();
    Ok(types::Reply {
        data: serde_json::to_string(&reply.data)?,
        attachments: reply.attachments,
        fingerprint: reply.fingerprint,
        cleanup: reply.cleanup,
    })
}

fn past_call<I: DeserializeOwned>(past: rollback::PastCall) -> Result<PastCall<I>, ToolError> {
    Ok(PastCall {
        input: read(&past.input)?,
        output: past.output.as_deref().map(serde_json::from_str).transpose()?,
        happened: past.happened,
        idempotency_key: past.idempotency_key,
        effects: past.effects,
        fingerprint: past.fingerprint,
        saved: past.saved,
    })
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Cleanup, ErrorKind, Happened, Repeat, Reply, Risk};

    #[derive(Deserialize, JsonSchema)]
    struct Amount {
        amount: u32,
    }

    #[derive(Serialize, JsonSchema)]
    struct Balance {
        balance: u32,
    }

    struct Deposit;

    impl Tool for Deposit {
        const NAME: &'static str = "deposit";
        type Input = Amount;
        type Output = Reply<Balance>;

        fn declare() -> Declaration {
            Declaration::new("Deposit").risk(Risk::LowRiskWrite).repeat(Repeat::Idempotent)
        }

        fn call(input: Amount, _context: &Context) -> Result<Reply<Balance>, ToolError> {
            if input.amount == 0 {
                return Err(ToolError::rejected("NOTHING", "nothing to deposit"));
            }
            let reply = Reply::new(Balance { balance: input.amount });
            Ok(reply.fingerprint(format!("v{}", input.amount)).cleanup(Cleanup::Manual))
        }
    }

    fn context() -> Context {
        Context {
            run_id: "run".to_owned(),
            step: 1,
            attempt: 1,
            idempotency_key: "key".to_owned(),
            caller: "local".to_owned(),
            user: None,
            trace_id: "trace".to_owned(),
            time_left_ms: 1000,
            saved: None,
            attachments: Vec::new(),
        }
    }

    fn past(input: &str) -> rollback::PastCall {
        rollback::PastCall {
            tool: Deposit::NAME.to_owned(),
            input: input.to_owned(),
            output: Some(r#"{"balance":7}"#.to_owned()),
            happened: Happened::Yes,
            idempotency_key: "key".to_owned(),
            effects: Vec::new(),
            fingerprint: None,
            saved: None,
        }
    }

    #[test]
    fn a_declaration_gets_its_name_and_schemas_from_the_tool() {
        let tool = declare::<Deposit>();
        assert_eq!((tool.name.as_str(), tool.title.as_str()), ("deposit", "Deposit"));
        let input: Value = serde_json::from_str(&tool.input_schema).unwrap();
        assert_eq!(input["additionalProperties"], json!(false));
        let output: Value = serde_json::from_str(&tool.output_schema.unwrap()).unwrap();
        assert_eq!(output["required"], json!(["balance"]));
    }

    #[test]
    fn a_reply_carries_data_fingerprint_and_cleanup() {
        let reply = call::<Deposit>(r#"{"amount":7}"#, &context()).unwrap();
        assert_eq!(reply.data, r#"{"balance":7}"#);
        assert_eq!(reply.fingerprint.as_deref(), Some("v7"));
        assert_eq!(reply.cleanup, Some(Cleanup::Manual));
    }

    #[test]
    fn an_error_of_the_tool_is_passed_on() {
        let error = call::<Deposit>(r#"{"amount":0}"#, &context()).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Rejected, "NOTHING"));
    }

    #[test]
    fn an_input_that_the_type_cannot_hold_is_invalid() {
        let error = call::<Deposit>(r#"{"amount":-1}"#, &context()).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::InvalidInput, "INVALID_INPUT"));
    }

    #[test]
    fn what_a_tool_does_not_offer_is_fatal_or_unknown() {
        let (input, context) = (r#"{"amount":7}"#, context());
        assert_eq!(preview::<Deposit>(input, &context).unwrap_err().kind, ErrorKind::Fatal);
        assert_eq!(rollback::<Deposit>(past(input), &context).unwrap_err().kind, ErrorKind::Fatal);
        assert_eq!(fingerprint::<Deposit>(past(input), &context).unwrap(), None);
        let probed = probe::<Deposit>(past(input), &context).unwrap();
        assert!(matches!(probed, rollback::Probed::Unknown));
    }
}
