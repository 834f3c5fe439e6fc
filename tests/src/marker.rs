//! A plugin in WebAssembly's own text that looks at everything it was given for what another left there, and leaves its mark.

use std::fmt;

use crate::assembled::plugin;

/// What the text begins with; what stands between dollars is filled in.
const TEXT: &str = include_str!("marker.wat");

/// What every place holds that the image does not fill is zero; this fills the image.
const IMAGE: &str = "\\11";
const IMAGE_BYTES: usize = 4096;

/// How large a marker is: no two need be alike that take turns in a slot.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Pages of 64 KiB that its first memory begins with.
    pub pages: u32,
    /// Pages that it grows by, each time before it looks there.
    pub growth: u32,
    /// Elements that its table begins with.
    pub elements: u32,
    /// The byte that it leaves.
    pub mark: u8,
}

/// Kinds of places, of which a marker marks those that it is told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// The first memory, but for the image.
    pub const MEMORY: Self = Self(1);
    /// The part of the first memory that does not begin as zero.
    pub const IMAGE: Self = Self(2);
    /// A memory beside the first.
    pub const SECOND_MEMORY: Self = Self(4);
    /// The table.
    pub const TABLE: Self = Self(8);
    /// A global.
    pub const GLOBAL: Self = Self(16);
    /// All of them.
    pub const ALL: Self = Self(31);
}

/// The component of this size.
///
/// # Panics
/// Where it cannot be made.
pub fn component(size: Size) -> Vec<u8> {
    let text = TEXT
        .replace("$PAGES", &size.pages.to_string())
        .replace("$GROWTH", &size.growth.to_string())
        .replace("$ELEMENTS", &size.elements.to_string())
        .replace("$MARK", &size.mark.to_string())
        .replace("$IMAGE", &IMAGE.repeat(IMAGE_BYTES));
    plugin(&text)
}

/// What a marker is told: how often it looks, and what it marks after each look.
pub fn input(looks: u8, kinds: Kinds) -> String {
    [b'0' + looks, b'0' + kinds.0].map(char::from).iter().collect()
}

/// Where a marker found what was not its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What kind of place.
    pub place: &'static str,
    /// The address there, of the first 64 bytes of which some differ, or the element.
    pub address: u32,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.place, self.address)
    }
}

/// What a marker's reply says that it found.
///
/// # Panics
/// Where it is not one of a marker.
pub fn found(reply: &str) -> Option<Found> {
    let (place, address) = reply.split_at_checked(1)?;
    let place = match place {
        "@" => "the memory where replies stand",
        "A" => "the memory where arguments stand",
        "B" => "the memory's image",
        "C" => "the memory that it begins with",
        "D" => "the memory that it grew",
        "E" => "the second memory",
        "F" => "the table",
        "G" => "the global",
        other => panic!("a marker knows no place {other:?}"),
    };
    Some(Found { place, address: u32::from_str_radix(address, 16).expect("a marker writes an address") })
}
