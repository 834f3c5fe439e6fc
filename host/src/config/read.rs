//! Reads TOML into tables of known keys and collects every fault on the way, where serde stops at the first.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::faults::Fault;
use super::written::Written;
use crate::model::nearest::nearest;

/// Something that a value can be read as.
pub(super) trait Read: Sized {
    /// Reads a value; none where it left a fault.
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self>;

    /// The settings that a value at `path` holds, dotted; `*` stands for a name that the operator chooses.
    fn settings(path: &str) -> Vec<String> {
        vec![path.to_owned()]
    }
}

/// Something that is written as a text, or as a key.
pub(super) trait Text: Sized {
    /// What it looks like, as a sentence without its end.
    const IS: &'static str;

    /// Reads it; an empty error stands for [`Text::IS`].
    fn parse(text: &str) -> Result<Self, String>;
}

/// What a value is, as far as people tell types apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    List,
    Table,
    Other,
}

impl Type {
    fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(_) => Self::Text,
            DeValue::Integer(_) | DeValue::Float(_) => Self::Number,
            DeValue::Array(_) => Self::List,
            DeValue::Table(_) => Self::Table,
            DeValue::Boolean(_) | DeValue::Datetime(_) => Self::Other,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::List => "a list",
            Self::Table => "a table",
            Self::Other => "no text",
        }
    }
}

/// Where the reading stands, and what it found wrong.
#[derive(Debug, Default)]
pub(super) struct Reader {
    path: Vec<String>,
    pub(super) faults: Vec<Fault>,
}

/// Values under names that the operator chooses.
#[derive(Debug)]
pub(super) struct Named<K, T> {
    pub(super) entries: Vec<(Spanned<K>, Spanned<T>)>,
    /// Names whose value left a fault.
    pub(super) faulty: Vec<K>,
}

impl<K, T> Default for Named<K, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), faulty: Vec::new() }
    }
}

impl Reader {
    fn path(&self) -> String {
        self.path.join(".")
    }

    fn fault(&mut self, fault: Fault) {
        let hidden = self.path.first().is_some_and(|first| first == "secrets");
        self.faults.push(Fault { hidden, ..fault });
    }

    /// Reads the value of a key, one level further down.
    pub(super) fn below<T: Read>(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Spanned<T>> {
        self.path.push(key.to_owned());
        let read = T::read(value, self).map(|read| Spanned::new(value.span(), read));
        self.path.pop();
        read
    }

    /// The table that a value is.
    pub(super) fn table<'a, 'i>(&mut self, value: &'a Spanned<DeValue<'i>>) -> Option<&'a DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.mistyped(value, Type::Table, "a table, with a key for each setting");
        }
        table
    }

    /// The value is of another type than it must be.
    fn mistyped(&mut self, value: &Spanned<DeValue<'_>>, wanted: Type, expected: &str) {
        let path = self.path();
        let found = Type::of(value.get_ref());
        let fault = Fault::at(value.span(), format!("`{path}` is {}", found.word())).expected(expected);
        let name = path.rsplit('.').next().unwrap_or_default();
        let help = match (path.as_str(), wanted, found) {
            ("plugins", _, Type::Table) => {
                "what one plugin is given stands under `[plugin.NAME]`, without the s".to_owned()
            }
            ("plugin", _, Type::Text) => "the folder of plugins is `plugins`, with an s".to_owned(),
            (_, Type::Table, Type::Text) if path.starts_with("secrets.") => {
                "a secret is never written here; say where it comes from: { env = \"NAME\" }".to_owned()
            }
            (_, Type::Text, Type::Number | Type::Other) => "write it in quotes".to_owned(),
            (_, Type::Number | Type::Other, Type::Text) => "write it without quotes".to_owned(),
            (_, Type::List, Type::Table) => {
                format!("write its header as `[[{path}]]`, or `{name} = [{{ … }}]`")
            }
            (_, Type::List, Type::Text) => "write it in brackets: […]".to_owned(),
            (_, Type::Text | Type::Number | Type::List | Type::Table | Type::Other, _) => {
                return self.fault(fault);
            }
        };
        self.fault(fault.help(help));
    }

    /// The key is none that the table knows.
    pub(super) fn unknown(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let here = self.path();
        let (path, place) = match here.as_str() {
            "" => (name.to_owned(), "not a setting at the top of the file".to_owned()),
            here => (format!("{here}.{name}"), format!("not a setting of `{here}`")),
        };
        let elsewhere = || {
            let ending = format!(".{name}");
            let place = Written::settings("")
                .into_iter()
                .find_map(|path| Some(path.strip_suffix(&ending)?.to_owned()));
            place.map(|place| format!("`{name}` stands under `[{place}]`").replace('*', "NAME"))
        };
        let help = match nearest(name, known.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => elsewhere().unwrap_or_else(|| format!("the settings here are {}", known.join(", "))),
        };
        self.fault(Fault::at(key.span(), format!("unknown setting `{path}`")).expected(place).help(help));
    }
}

impl<T: Text> Read for T {
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
        let Some(text) = value.get_ref().as_str() else {
            reader.mistyped(value, Type::Text, T::IS);
            return None;
        };
        T::parse(text).map_err(|why| reader.misread(value.span(), T::IS, why)).ok()
    }
}

impl Reader {
    fn misread(&mut self, span: std::ops::Range<usize>, is: &str, why: String) {
        let why = if why.is_empty() { is.to_owned() } else { why };
        let path = self.path();
        self.fault(Fault::at(span, format!("`{path}` cannot be read")).expected(why));
    }
}

impl Read for u64 {
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
        let is = "a whole number, such as 100 or 20_000";
        let Some(integer) = value.get_ref().as_integer() else {
            reader.mistyped(value, Type::Number, is);
            return None;
        };
        let number = Self::from_str_radix(integer.as_str(), integer.radix());
        number
            .map_err(|_| reader.misread(value.span(), is, "must not be negative, nor beyond 2^64".to_owned()))
            .ok()
    }
}

impl Read for bool {
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
        let read = value.get_ref().as_bool();
        if read.is_none() {
            reader.mistyped(value, Type::Other, "true or false");
        }
        read
    }
}

impl<T: Read> Read for Vec<Spanned<T>> {
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
        let Some(items) = value.get_ref().as_array() else {
            reader.mistyped(value, Type::List, "a list");
            return None;
        };
        let read: Vec<_> =
            items.iter().map(|item| Some(Spanned::new(item.span(), T::read(item, reader)?))).collect();
        read.into_iter().collect()
    }

    fn settings(path: &str) -> Vec<String> {
        T::settings(path)
    }
}

impl<K: Text, T: Read> Read for Named<K, T> {
    fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
        let mut read = Self::default();
        for (key, value) in reader.table(value)? {
            let name = key.get_ref();
            match K::parse(name) {
                Ok(parsed) => match reader.below(name, value) {
                    Some(value) => read.entries.push((Spanned::new(key.span(), parsed), value)),
                    None => read.faulty.push(parsed),
                },
                Err(why) => {
                    let why = if why.is_empty() { K::IS.to_owned() } else { why };
                    let path = reader.path();
                    let fault = Fault::at(key.span(), format!("`{name}` cannot be a name under `{path}`"))
                        .expected(why);
                    reader.fault(match split_by_its_dot::<K>(name, value.get_ref()) {
                        Some((whole, true)) => {
                            fault.help(format!("write it in quotes: [{path}.\"{whole}\"]"))
                        }
                        Some((whole, false)) => fault.help(format!("write it in quotes: \"{whole}\" = …")),
                        None => fault,
                    });
                }
            }
        }
        Some(read)
    }

    fn settings(path: &str) -> Vec<String> {
        T::settings(&format!("{path}.*"))
    }
}

/// The name that was meant where it has a dot in it and was written without quotes, and whether it is a table's.
fn split_by_its_dot<K: Text>(front: &str, value: &DeValue<'_>) -> Option<(String, bool)> {
    let (back, inner) = value.as_table()?.iter().next()?;
    let whole = format!("{front}.{}", back.get_ref());
    K::parse(&whole).ok().map(|_| (whole, inner.get_ref().is_table()))
}

/// Declares tables: a struct each, with what was written and where, and how it is read.
macro_rules! tables {
    ($($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $key:ident: $kind:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(super) struct $name {
            $($(#[$doc])* pub(super) $key: Option<Spanned<$kind>>,)*
            /// The keys that were there, also those that left a fault.
            pub(super) keys: Vec<String>,
        }

        impl Read for $name {
            fn read(value: &Spanned<DeValue<'_>>, reader: &mut Reader) -> Option<Self> {
                let mut read = Self::default();
                for (key, value) in reader.table(value)? {
                    read.keys.push(key.get_ref().to_string());
                    match key.get_ref().as_ref() {
                        $(stringify!($key) => read.$key = reader.below(stringify!($key), value),)*
                        _ => reader.unknown(key, &[$(stringify!($key)),*]),
                    }
                }
                Some(read)
            }

            fn settings(path: &str) -> Vec<String> {
                let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                [$(<$kind>::settings(&below(stringify!($key)))),*].concat()
            }
        }
    )*};
}

pub(super) use tables;
