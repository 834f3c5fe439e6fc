//! The name that was probably meant.

/// The longest text that can have been meant as a name.
const LONGEST: usize = 256;

/// The names that differ little enough from what was given to have been meant, the closest first.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let length = given.chars().count();
    // Nobody meant a name by this, and comparing takes as long as both are.
    if length > LONGEST {
        return Vec::new();
    }
    let given = given.to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter(|name| name.chars().count().abs_diff(length) <= bearable(length.max(name.chars().count())))
        .map(|name| (strsim::osa_distance(&given, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= bearable(given.chars().count().max(name.chars().count())))
        .collect();
    near.sort();
    near.into_iter().map(|(_, name)| name).collect()
}

/// The tools that were probably meant, three at most, the closest first: by the whole name, else by the name without its
/// plugin's, which stands before `between`.
pub fn nearest_tools<'a>(given: &str, between: &str, names: &[&'a str]) -> Vec<&'a str> {
    let mut near = nearest(given, names.iter().copied());
    if near.is_empty() {
        let parts = || names.iter().filter_map(|whole| Some((whole.split_once(between)?.1, *whole)));
        let mut meant = nearest(given, parts().map(|(tool, _)| tool));
        meant.dedup();
        near = meant
            .into_iter()
            .flat_map(|meant| parts().filter(move |(tool, _)| *tool == meant))
            .map(|(_, whole)| whole)
            .collect();
    }
    near.truncate(3);
    near
}

/// One slip in three letters, and never less than one.
fn bearable(length: usize) -> usize {
    (length / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["max_risk", "permissions", "tools"];
        assert_eq!(nearest("max-risk", names), ["max_risk"]);
        assert_eq!(nearest("tolos", names), ["tools"]);
        assert_eq!(nearest("Permision", names), ["permissions"]);
        assert!(nearest("secrets", names).is_empty());
    }

    #[test]
    fn the_closest_comes_first() {
        assert_eq!(
            nearest("desk.find_ordr", ["desk.find_orders", "desk.find_order"]),
            ["desk.find_order", "desk.find_orders"]
        );
    }

    #[test]
    fn a_tool_is_found_without_the_name_of_its_plugin() {
        let names = ["desk.find_order", "files.read", "files.write", "notes.read"];
        assert_eq!(nearest_tools("find_ordr", ".", &names), ["desk.find_order"]);
        assert_eq!(nearest_tools("read", ".", &names), ["files.read", "notes.read"]);
        assert_eq!(nearest_tools("files.raed", ".", &names), ["files.read"], "the whole name comes first");
        assert_eq!(nearest_tools("find_order", "__", &["desk__find_order", "echo"]), ["desk__find_order"]);
        assert!(nearest_tools("delete", ".", &names).is_empty());
    }
}
