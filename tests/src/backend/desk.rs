//! The desk itself: its orders, tickets, mails and settings, and what each piece of work does to them.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::counts::Setting;

/// Number, customer, city, status, total: three customers named Li, one Okafor.
const ORDERS: [(&str, &str, &str, &str, &str); 6] = [
    ("A-1001", "Li Wei", "Hamburg", "shipped", "129.90"),
    ("A-1002", "Li Na", "Lyon", "paid", "18.50"),
    ("A-1003", "Okafor, Ada", "Lagos", "delivered", "74.00"),
    ("A-1004", "Li Wei", "Berlin", "returned", "349.00"),
    ("A-1005", "Nowak, Jan", "Gdansk", "paid", "9.99"),
    ("A-1006", "Haddad, Sara", "Beirut", "shipped", "210.40"),
];

/// What a request for a ticket came to.
#[derive(Debug, Clone)]
pub(super) enum Opened {
    /// A ticket that did not exist before.
    Fresh(Value),
    /// The ticket that this key made before.
    Again(Value),
    /// The key made another ticket before.
    OtherBody,
}

/// What a change of a ticket came to.
#[derive(Debug, Clone)]
pub(super) enum Changed {
    /// It is another now: its fields and its state.
    Now(Value, String),
    /// It was so before: its fields and its state.
    Already(Value, String),
    /// It is in another state than was asked for.
    Otherwise,
    /// There is none.
    Missing,
}

#[derive(Debug)]
struct Kept {
    body: Vec<u8>,
    /// As it was when it was opened.
    ticket: Value,
}

/// A ticket, and how often it has changed.
#[derive(Debug)]
struct Ticket {
    fields: Value,
    version: u32,
}

impl Ticket {
    fn id(&self) -> &str {
        self.fields["ticket_id"].as_str().unwrap_or_default()
    }

    /// Its state as a text; another after each change.
    fn state(&self) -> String {
        format!("\"{}-{}\"", self.id(), self.version)
    }
}

/// The state of the business.
#[derive(Debug)]
pub(super) struct Desk {
    url: String,
    tickets: Vec<Ticket>,
    by_key: HashMap<String, Kept>,
    mails: Vec<Value>,
    settings: BTreeMap<String, Setting>,
}

impl Desk {
    pub(super) fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            tickets: Vec::new(),
            by_key: HashMap::new(),
            mails: Vec::new(),
            settings: BTreeMap::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.tickets.clear();
        self.by_key.clear();
        self.mails.clear();
        self.settings.clear();
    }

    pub(super) fn tickets(&self) -> Vec<Value> {
        self.tickets.iter().map(|ticket| ticket.fields.clone()).collect()
    }

    pub(super) fn mails(&self) -> &[Value] {
        &self.mails
    }

    pub(super) fn settings(&self) -> &BTreeMap<String, Setting> {
        &self.settings
    }

    /// The ticket with this number, and its state.
    pub(super) fn ticket(&self, id: &str) -> Option<(Value, String)> {
        let found = self.tickets.iter().find(|ticket| ticket.id() == id);
        found.map(|ticket| (ticket.fields.clone(), ticket.state()))
    }

    /// The ticket that this key made, as it is now.
    pub(super) fn ticket_of_key(&self, key: &str) -> Option<Value> {
        let id = self.by_key.get(key)?.ticket["ticket_id"].as_str()?;
        self.ticket(id).map(|(ticket, _)| ticket)
    }

    /// Sets a field of a ticket, where it is in this state or none is asked for; a field that is so already is left,
    /// whatever the state.
    pub(super) fn change_ticket(
        &mut self,
        id: &str,
        (name, value): (&str, Value),
        state: Option<&str>,
    ) -> Changed {
        let Some(ticket) = self.tickets.iter_mut().find(|ticket| ticket.id() == id) else {
            return Changed::Missing;
        };
        if ticket.fields[name] == value {
            return Changed::Already(ticket.fields.clone(), ticket.state());
        }
        if state.is_some_and(|state| state != ticket.state()) {
            return Changed::Otherwise;
        }
        ticket.fields[name] = value;
        ticket.version += 1;
        Changed::Now(ticket.fields.clone(), ticket.state())
    }

    /// Opens a ticket, or finds the one that the key made; the fields come back as they were given.
    pub(super) fn open_ticket(
        &mut self,
        key: Option<&str>,
        body: &[u8],
        fields: &Map<String, Value>,
    ) -> Opened {
        if let Some(kept) = key.and_then(|key| self.by_key.get(key)) {
            let same = kept.body == body;
            return if same { Opened::Again(kept.ticket.clone()) } else { Opened::OtherBody };
        }
        let id = format!("T-{}", 1001 + self.tickets.len());
        let own = json!({ "ticket_id": id, "url": format!("{}/tickets/{id}", self.url), "status": "open" });
        let ticket = with_fields(own, fields);
        self.tickets.push(Ticket { fields: ticket.clone(), version: 1 });
        if let Some(key) = key {
            self.by_key.insert(key.to_owned(), Kept { body: body.to_vec(), ticket: ticket.clone() });
        }
        Opened::Fresh(ticket)
    }

    /// Sends a mail, each time.
    pub(super) fn send_mail(&mut self, fields: &Map<String, Value>) -> Value {
        let id = format!("M-{}", 1001 + self.mails.len());
        let mail = with_fields(json!({ "mail_id": id, "status": "queued" }), fields);
        self.mails.push(mail.clone());
        mail
    }

    /// Writes a setting.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let setting = self.settings.entry(name.to_owned()).or_default();
        setting.value = value;
        setting.writes += 1;
    }
}

/// The orders whose customer's name holds this text, in any case.
pub(super) fn orders_of(name: &str) -> Vec<Value> {
    let name = name.to_lowercase();
    let orders = ORDERS.iter().filter(|order| order.1.to_lowercase().contains(&name));
    orders.map(order).collect()
}

/// The order with this number.
pub(super) fn order_of(id: &str) -> Option<Value> {
    ORDERS.iter().find(|order| order.0 == id).map(order)
}

fn order((id, name, city, status, total): &(&str, &str, &str, &str, &str)) -> Value {
    json!({ "order_id": id, "name": name, "city": city, "status": status, "total": total, "currency": "EUR" })
}

/// What the desk says, then what it was told; what the desk says wins.
fn with_fields(own: Value, fields: &Map<String, Value>) -> Value {
    let Value::Object(mut whole) = own else { return own };
    for (name, value) in fields {
        whole.entry(name.as_str()).or_insert_with(|| value.clone());
    }
    Value::Object(whole)
}
