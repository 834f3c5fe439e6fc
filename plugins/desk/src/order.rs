//! Looking up an order.

use airlock_sdk::http::encode;
use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DESK_TOKEN, DESK_URL, desk};

const WHAT_TO_GIVE: &str = "give the order's number or the customer's name";

/// Finds one order.
pub struct FindOrder;

/// What an order is looked up by.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1, "x-message" = WHAT_TO_GIVE))]
pub struct Wanted {
    /// The customer's name, or a part of it.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The order's number; where it is given, the name is not looked at.
    #[schemars(
        regex(pattern = "^[A-Za-z0-9-]+$"),
        extend("x-message" = "an order's number is made of letters, digits and hyphens: A-1003")
    )]
    order_id: Option<String>,
}

/// An order.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    order_id: String,
    /// Who ordered.
    name: String,
    city: String,
    /// `paid`, `shipped`, `delivered`, `returned`.
    status: String,
    /// In the currency's main unit, with its decimals.
    total: String,
    /// ISO 4217.
    currency: String,
}

impl Tool for FindOrder {
    const NAME: &'static str = "find_order";
    type Input = Wanted;
    type Output = Order;

    fn declare() -> Declaration {
        Declaration::new("Find an order")
            .description(
                "Looks up one order by its number or by the customer's name. \
                 Where several fit, the answer lists them: ask which one is meant.",
            )
            .risk(Risk::BusinessRead)
            .repeat(Repeat::Reads)
            .cleanup(Cleanup::Nothing)
            .permission("order:read")
            .config(DESK_URL)
            .secret(DESK_TOKEN, [Origin::configured(DESK_URL)])
            .http(Origin::configured(DESK_URL).get(["/orders", "/orders/*"]))
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Order, ToolError> {
        match (wanted.order_id, wanted.name) {
            (Some(id), _) => by_id(&id),
            (None, Some(name)) => by_name(&name),
            (None, None) => Err(ToolError::invalid_input("NOTHING_TO_LOOK_FOR", WHAT_TO_GIVE)),
        }
    }
}

fn by_id(id: &str) -> Result<Order, ToolError> {
    let response = desk("GET", &format!("/orders/{}", encode(id)))?.send()?;
    if response.status == 404 {
        return Err(not_found("no order has this number"));
    }
    Ok(response.ok()?.json()?)
}

fn by_name(name: &str) -> Result<Order, ToolError> {
    #[derive(Deserialize)]
    struct Found {
        orders: Vec<Order>,
    }
    let response = desk("GET", "/orders")?.query("name", name).send()?;
    let found: Found = response.ok()?.json()?;
    only_one(found.orders)
}

fn only_one(mut orders: Vec<Order>) -> Result<Order, ToolError> {
    match (orders.pop(), orders.is_empty()) {
        (None, _) => Err(not_found("no order has a customer of this name")),
        (Some(order), true) => Ok(order),
        (Some(last), false) => {
            orders.push(last);
            let message = format!("{} orders fit; ask which one is meant", orders.len());
            Err(ToolError::ambiguous("AMBIGUOUS_ORDER", message, orders))
        }
    }
}

fn not_found(message: &str) -> ToolError {
    ToolError::rejected("ORDER_NOT_FOUND", message).user_message("We cannot find that order.")
}

#[cfg(test)]
mod tests {
    use airlock_sdk::ErrorKind;
    use airlock_sdk::testing::{Answer, Host};
    use serde_json::json;

    use super::*;

    fn desk() -> Host {
        Host::new().config(DESK_URL, "https://desk.test/").secret(DESK_TOKEN)
    }

    #[test]
    fn an_order_is_looked_up_by_its_number_with_the_desks_token() {
        let found = json!(order("A/1"));
        let host = desk().answer("GET", "https://desk.test/orders/A%2F1", Answer::json(200, found.clone()));
        assert_eq!(host.call::<FindOrder>(json!({ "order_id": "A/1", "name": "Li" })).unwrap(), found);
        assert_eq!(host.requests()[0].header("authorization"), Some("Bearer {{desk_token}}"));
    }

    #[test]
    fn several_orders_of_a_name_are_told_and_none_is_chosen() {
        let answer = Answer::json(200, json!({ "orders": [order("A-1"), order("A-2")] }));
        let host = desk().answer("GET", "https://desk.test/orders?name=Li%20Wei", answer);
        let error = host.call::<FindOrder>(json!({ "name": "Li Wei" })).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Ambiguous, "AMBIGUOUS_ORDER"));
    }

    fn order(id: &str) -> Order {
        Order {
            order_id: id.to_owned(),
            name: "Li Wei".to_owned(),
            city: "Hamburg".to_owned(),
            status: "paid".to_owned(),
            total: "18.50".to_owned(),
            currency: "EUR".to_owned(),
        }
    }

    #[test]
    fn one_order_is_the_answer() {
        assert_eq!(only_one(vec![order("A-1")]).unwrap().order_id, "A-1");
    }

    #[test]
    fn no_order_is_said_so() {
        let error = only_one(Vec::new()).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Rejected, "ORDER_NOT_FOUND"));
    }

    #[test]
    fn several_orders_are_all_candidates() {
        let error = only_one(vec![order("A-1"), order("A-2")]).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Ambiguous, "AMBIGUOUS_ORDER"));
        assert_eq!(error.message(), "2 orders fit; ask which one is meant");
    }

    #[test]
    fn a_name_that_no_order_has_is_told() {
        assert_eq!(only_one(Vec::new()).unwrap_err().message(), "no order has a customer of this name");
    }
}
