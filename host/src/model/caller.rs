//! Who may ask for what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::budget::Allowance;
use super::id::{CallerName, SceneName, ToolName, UserName};
use super::manifest::Risk;

/// A caller as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name; also part of the scope of its keys.
    pub name: CallerName,
    /// What it is permitted; everything where absent.
    pub permissions: Option<BTreeSet<String>>,
    /// Tools above this risk are not there for it.
    pub max_risk: Risk,
    /// Tools outside these patterns are not there for it.
    pub tools: Vec<ToolPattern>,
    /// The scenes that it works in; any, or none, where absent.
    pub scenes: Option<BTreeSet<SceneName>>,
    /// What users are permitted, of what it is permitted itself.
    pub users: BTreeMap<UserName, BTreeSet<String>>,
    /// What users are permitted who are not among these; what the caller is where absent.
    pub other_users: Option<BTreeSet<String>>,
    /// Who says yes to its calls, where it is not what holds for the tool.
    pub confirm: BTreeMap<ToolName, Confirm>,
    /// What it may spend.
    pub budgets: CallerBudgets,
}

/// What a caller may spend, and users on whose behalf it asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerBudgets {
    /// For all of them together.
    pub own: Allowance,
    /// Single users.
    pub users: BTreeMap<UserName, Allowance>,
    /// Each user who is not among these.
    pub others: Allowance,
}

/// Who says yes to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirm {
    /// Nobody is asked.
    Nobody,
    /// A person is.
    Person,
}

/// Scenes, by name: the tools that are there in each.
pub type Scenes = BTreeMap<SceneName, Arc<[ToolPattern]>>;

impl Caller {
    /// A caller that sees every tool that reads, and holds no permission.
    pub fn reader(name: CallerName) -> Self {
        Self {
            name,
            permissions: Some(BTreeSet::new()),
            max_risk: Risk::L2,
            tools: vec![ToolPattern::every()],
            scenes: None,
            users: BTreeMap::new(),
            other_users: None,
            confirm: BTreeMap::new(),
            budgets: CallerBudgets::default(),
        }
    }

    /// The person at the command line, who may do everything that the plugins were granted.
    pub fn local() -> Self {
        let local = Self::reader(CallerName("local".to_owned()));
        Self { permissions: None, max_risk: Risk::L4, ..local }
    }

    /// An agent at the MCP door of which nothing else is said.
    pub fn mcp() -> Self {
        Self::reader(CallerName("mcp".to_owned()))
    }

    fn holds(&self, permission: &str) -> bool {
        self.permissions.as_ref().is_none_or(|held| held.contains(permission))
    }

    /// The scenes that it may be in.
    fn its<'a>(
        &'a self,
        scenes: &'a Scenes,
    ) -> impl Iterator<Item = (&'a SceneName, &'a Arc<[ToolPattern]>)> {
        scenes.iter().filter(|(name, _)| self.scenes.as_ref().is_none_or(|own| own.contains(*name)))
    }
}

/// Who asks: a caller, for a user where it names one, in a scene where one was chosen.
#[derive(Debug, Clone)]
pub struct Asker {
    caller: Arc<Caller>,
    user: Option<UserName>,
    /// What the scene leaves of the caller's tools; all of them where absent.
    scene: Option<Vec<Arc<[ToolPattern]>>>,
}

impl Asker {
    /// A caller that asks for this user in this scene. Where none is chosen, a caller that works in scenes sees what is
    /// there in any of them.
    ///
    /// # Errors
    /// Where there is no such scene, or the caller does not work in it.
    pub fn new(
        caller: &Arc<Caller>,
        user: Option<&UserName>,
        scene: Option<&SceneName>,
        scenes: &Scenes,
    ) -> Result<Self, NotItsScene> {
        let left = match scene {
            Some(chosen) => match caller.its(scenes).find(|(name, _)| *name == chosen) {
                Some((_, tools)) => Some(vec![Arc::clone(tools)]),
                None => return Err(NotItsScene::new(caller, chosen, scenes)),
            },
            None if caller.scenes.is_some() => {
                Some(caller.its(scenes).map(|(_, tools)| Arc::clone(tools)).collect())
            }
            None => None,
        };
        Ok(Self { caller: Arc::clone(caller), user: user.cloned(), scene: left })
    }

    /// The caller.
    pub fn caller(&self) -> &CallerName {
        &self.caller.name
    }

    /// The user, where the caller names one.
    pub fn user(&self) -> Option<&UserName> {
        self.user.as_ref()
    }

    /// Whether the tool is there at all.
    pub fn sees(&self, tool: &ToolName, risk: Risk) -> bool {
        let among = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        let staged = self.scene.as_ref().is_none_or(|scene| scene.iter().any(|patterns| among(patterns)));
        risk <= self.caller.max_risk && among(&self.caller.tools) && staged
    }

    /// The permissions that the tool asks for and the caller does not have; where it has all, those that its user does
    /// not have.
    pub fn lacks<'a>(&self, wanted: &'a [String]) -> Option<Lacking<'a>> {
        let without = |holds: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
            wanted.iter().map(String::as_str).filter(|one| !holds(one)).collect()
        };
        let of_caller = without(&|one| self.caller.holds(one));
        if !of_caller.is_empty() {
            return Some(Lacking { who: Who::Caller, permissions: of_caller });
        }
        let user = self.user.as_ref()?;
        let held = self.caller.users.get(user).or(self.caller.other_users.as_ref())?;
        let of_user = without(&|one| held.contains(one));
        (!of_user.is_empty()).then_some(Lacking { who: Who::User, permissions: of_user })
    }

    /// What the caller may spend, and its user.
    pub fn allowances(&self) -> [Allowance; 2] {
        let CallerBudgets { own, users, others } = &self.caller.budgets;
        let of_user = self.user.as_ref().map(|user| users.get(user).unwrap_or(others));
        [*own, of_user.copied().unwrap_or_default()]
    }

    /// Who says yes to a call of the tool, where the operator says so for this caller.
    pub fn confirm(&self, tool: &ToolName) -> Option<Confirm> {
        self.caller.confirm.get(tool).copied()
    }
}

/// Permissions that are missing, and to whom; never empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Lacking<'a> {
    /// Who lacks them.
    pub who: Who,
    /// Which.
    pub permissions: Vec<&'a str>,
}

/// One of the two whose permissions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The caller.
    Caller,
    /// The user whom it names.
    User,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller => "the caller",
            Self::User => "the user for whom the caller asks",
        })
    }
}

/// The caller has no such scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotItsScene {
    /// The caller.
    pub caller: CallerName,
    /// The scene that was asked for.
    pub scene: SceneName,
    /// Those that it has.
    pub there: Vec<SceneName>,
}

impl NotItsScene {
    fn new(caller: &Caller, scene: &SceneName, scenes: &Scenes) -> Self {
        let there = caller.its(scenes).map(|(name, _)| name.clone()).collect();
        Self { caller: caller.name.clone(), scene: scene.clone(), there }
    }
}

impl fmt::Display for NotItsScene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caller, scene, there } = self;
        let there: Vec<&str> = there.iter().map(AsRef::as_ref).collect();
        match there.as_slice() {
            [] => write!(f, "the caller {caller} has no scenes, and none of this name: {scene}"),
            some => write!(
                f,
                "the caller {caller} has the scenes {}, and none of this name: {scene}",
                some.join(", ")
            ),
        }
    }
}

/// Tools by name: `desk.find_order`, `desk.*` or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// All tools.
    pub fn every() -> Self {
        Self("*".to_owned())
    }

    /// Reads a pattern; none where it is neither a tool's name, a plugin's with `.*`, nor `*`.
    pub fn parse(text: &str) -> Option<Self> {
        let whole_plugin = text.strip_suffix(".*").is_some_and(super::id::is_name);
        (text == "*" || whole_plugin || text.parse::<ToolName>().is_ok()).then(|| Self(text.to_owned()))
    }

    /// The plugin all of whose tools are meant, where one is.
    pub fn plugin(&self) -> Option<&str> {
        self.0.strip_suffix(".*")
    }

    /// The tool that alone is meant, where one is.
    pub fn tool(&self) -> Option<ToolName> {
        self.0.parse().ok()
    }

    /// Whether the tool is meant.
    pub fn matches(&self, tool: &ToolName) -> bool {
        self.0 == "*"
            || self.plugin() == Some(&tool.plugin)
            || self.0.split_once('.') == Some((&tool.plugin, &tool.tool))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bot() -> Caller {
        let permissions = ["order:read", "ticket:write"].map(str::to_owned);
        Caller {
            permissions: Some(BTreeSet::from(permissions)),
            tools: vec![ToolPattern::parse("desk.*").unwrap()],
            ..Caller::reader(CallerName("bot".into()))
        }
    }

    fn scenes() -> Scenes {
        let scene = |name: &str, tools: &[&str]| {
            let tools: Arc<[_]> = tools.iter().map(|tool| ToolPattern::parse(tool).unwrap()).collect();
            (name.parse().unwrap(), tools)
        };
        BTreeMap::from([
            scene("orders", &["desk.find_order"]),
            scene("all", &["*"]),
            scene("echo", &["echo.*"]),
        ])
    }

    fn asks(caller: Caller, user: Option<&str>, scene: Option<&str>) -> Result<Asker, NotItsScene> {
        let (user, scene) =
            (user.map(|user| user.parse().unwrap()), scene.map(|scene| scene.parse().unwrap()));
        Asker::new(&Arc::new(caller), user.as_ref(), scene.as_ref(), &scenes())
    }

    fn tool(name: &str) -> ToolName {
        name.parse().unwrap()
    }

    #[test]
    fn a_caller_sees_what_its_patterns_and_its_risk_allow() {
        let bot = asks(bot(), None, None).unwrap();
        assert!(bot.sees(&tool("desk.find_order"), Risk::L2));
        assert!(!bot.sees(&tool("desk.find_order"), Risk::L3));
        assert!(!bot.sees(&tool("desks.find_order"), Risk::L1));
    }

    #[test]
    fn a_scene_takes_away_and_never_gives() {
        let sees = |scene, name| asks(bot(), None, Some(scene)).unwrap().sees(&tool(name), Risk::L2);
        assert!(sees("orders", "desk.find_order") && !sees("orders", "desk.create_ticket"));
        assert!(sees("all", "desk.create_ticket") && !sees("all", "echo.echo"));
        assert!(!sees("echo", "echo.echo"));
        assert!(!asks(bot(), None, Some("all")).unwrap().sees(&tool("desk.send_mail"), Risk::L4));
    }

    #[test]
    fn a_caller_that_works_in_scenes_sees_them_all_where_none_is_chosen() {
        let own = || Some(["orders", "echo"].map(|name| name.parse().unwrap()).into());
        let bot = || Caller { scenes: own(), tools: vec![ToolPattern::every()], ..bot() };
        let sees = |name| asks(bot(), None, None).unwrap().sees(&tool(name), Risk::L1);
        assert!(sees("desk.find_order") && sees("echo.echo") && !sees("desk.create_ticket"));
        let refused = asks(bot(), None, Some("all")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the caller bot has the scenes echo, orders, and none of this name: all"
        );
    }

    #[test]
    fn permissions_are_those_of_the_caller_and_of_its_user() {
        let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let users = BTreeMap::from([("ada".parse().unwrap(), listed(&["order:read", "mail:send"]))]);
        let open = Caller { users, ..bot() };
        let closed = Caller { other_users: Some(listed(&[])), ..open.clone() };
        let wanted = ["order:read", "ticket:write"].map(str::to_owned);
        let lacks = |caller: &Caller, user, wanted: &[String]| {
            let asker = asks(caller.clone(), user, None).unwrap();
            asker.lacks(wanted).map(|lacking| (lacking.who, lacking.permissions.join(" ")))
        };
        for user in [None, Some("eve")] {
            assert_eq!(lacks(&open, user, &wanted), None, "{user:?}");
        }
        let of_user = |names: &str| Some((Who::User, names.to_owned()));
        assert_eq!(lacks(&open, Some("ada"), &wanted), of_user("ticket:write"));
        assert_eq!(lacks(&open, Some("ada"), &wanted[..1]), None);
        assert_eq!(lacks(&closed, Some("eve"), &wanted), of_user("order:read ticket:write"));
        assert_eq!(lacks(&closed, None, &wanted), None);
        let mail = ["mail:send".to_owned()];
        assert_eq!(lacks(&open, Some("ada"), &mail), Some((Who::Caller, "mail:send".to_owned())));
    }

    #[test]
    fn patterns_are_names_or_whole_plugins() {
        for bad in ["", "desk", "desk.**", "*.x", "Desk.*"] {
            assert!(ToolPattern::parse(bad).is_none(), "{bad}");
        }
    }
}
