//! Which folders can be lent, and what is told of those that cannot.

use std::fs;

use airlock::config::Config;
use airlock_tests::guests::CLERK;
use airlock_tests::world::World;
use insta::assert_snapshot;

/// The faults of a configuration beside which these folders lie.
fn faults(lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    for name in ["home/plugins/more", "home/.airlock", "home/notes", "else/where"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("else/file"), "").unwrap();
    std::os::unix::fs::symlink(folder.path().join("home"), folder.path().join("else/link")).unwrap();
    let file = folder.path().join("home/airlock.toml");
    match Config::parse(lines, &file, &|_| None) {
        Ok(_) => String::new(),
        Err(faults) => faults.to_string().replace(&folder.path().display().to_string(), "FOLDER"),
    }
}

#[test]
fn every_folder_that_cannot_be_lent_is_told_at_once() {
    assert_snapshot!(faults(r#"
[plugin.clerk.directories]
gone = { path = "../else/gone" }
file = { path = "../else/file", access = "write" }
pathless = { access = "read" }
wrong = { path = "../else/where", access = "all" }
"two words" = { path = "../else/where" }
home = { path = ".", access = "write" }
above = { path = "..", access = "write" }
notes = { path = "notes", access = "write" }
plugins = { path = "plugins", access = "write" }
state = { path = ".airlock", access = "write" }
link = { path = "../else/link", access = "write" }
fine = { path = "../else/where", access = "write" }
read = { path = "notes" }
"#), @r#"
    error: FOLDER/else/gone cannot be lent: No such file or directory (os error 2)
     --> FOLDER/home/airlock.toml:3:17
      |
    3 | gone = { path = "../else/gone" }
      |                 ^^^^^^^^^^^^^^ a folder that is there and can be read
      |
      = help: `mkdir -p FOLDER/else/gone`

    error: FOLDER/else/file cannot be lent: it is no folder
     --> FOLDER/home/airlock.toml:4:17
      |
    4 | file = { path = "../else/file", access = "write" }
      |                 ^^^^^^^^^^^^^^ a folder that is there and can be read
      |
      = help: lend the folder that the file lies in

    error: `plugin.clerk.directories.pathless` lacks `path`
     --> FOLDER/home/airlock.toml:5:12
      |
    5 | pathless = { access = "read" }
      |            ^^^^^^^^^^^^^^^^^^^ needs `path`
      |
      = help: pathless = { path = "/srv/pathless" }

    error: `plugin.clerk.directories.wrong.access` cannot be read
     --> FOLDER/home/airlock.toml:6:44
      |
    6 | wrong = { path = "../else/where", access = "all" }
      |                                            ^^^^^ "read" where a folder is only looked at, "write" where it is changed too

    error: `two words` cannot be a name under `plugin.clerk.directories`
     --> FOLDER/home/airlock.toml:7:1
      |
    7 | "two words" = { path = "../else/where" }
      | ^^^^^^^^^^^ a folder is named as the plugin declares it: 1 to 128 characters and no space

    error: FOLDER/home cannot be lent for writing: it holds the folder of the configuration and its lock
     --> FOLDER/home/airlock.toml:8:17
      |
    8 | home = { path = ".", access = "write" }
      |                 ^^^ a folder apart from those that the host goes by
      |
      = help: lend another folder, or this one with access = "read"

    error: FOLDER cannot be lent for writing: it holds the folder of the configuration and its lock
     --> FOLDER/home/airlock.toml:9:18
      |
    9 | above = { path = "..", access = "write" }
      |                  ^^^^ a folder apart from those that the host goes by
      |
      = help: lend another folder, or this one with access = "read"

    error: FOLDER/home/notes cannot be lent for writing: it lies in the folder of the configuration and its lock
      --> FOLDER/home/airlock.toml:10:18
       |
    10 | notes = { path = "notes", access = "write" }
       |                  ^^^^^^^ a folder apart from those that the host goes by
       |
       = help: lend another folder, or this one with access = "read"

    error: FOLDER/home/plugins cannot be lent for writing: it lies in the folder of the configuration and its lock
      --> FOLDER/home/airlock.toml:11:20
       |
    11 | plugins = { path = "plugins", access = "write" }
       |                    ^^^^^^^^^ a folder apart from those that the host goes by
       |
       = help: lend another folder, or this one with access = "read"

    error: FOLDER/home/.airlock cannot be lent for writing: it lies in the folder of the configuration and its lock
      --> FOLDER/home/airlock.toml:12:18
       |
    12 | state = { path = ".airlock", access = "write" }
       |                  ^^^^^^^^^^ a folder apart from those that the host goes by
       |
       = help: lend another folder, or this one with access = "read"

    error: FOLDER/else/link cannot be lent for writing: it holds the folder of the configuration and its lock
      --> FOLDER/home/airlock.toml:13:17
       |
    13 | link = { path = "../else/link", access = "write" }
       |                 ^^^^^^^^^^^^^^ a folder apart from those that the host goes by
       |
       = help: lend another folder, or this one with access = "read"

    FOLDER/home/airlock.toml has 11 faults
    "#);
}

#[test]
fn a_state_folder_that_is_not_there_yet_is_not_lent_either() {
    assert_snapshot!(faults(r#"
state = "../else/where/state"
[plugin.clerk.directories]
around = { path = "../else/where", access = "write" }
"#), @r#"
    error: FOLDER/else/where cannot be lent for writing: it holds the folder of what the host keeps
     --> FOLDER/home/airlock.toml:4:19
      |
    4 | around = { path = "../else/where", access = "write" }
      |                   ^^^^^^^^^^^^^^^ a folder apart from those that the host goes by
      |
      = help: lend another folder, or this one with access = "read"
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_no_plugin_asks_for_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new().with_plugins(&[CLERK]).with_config(&format!(
        "[plugin.clerk.directories]\ninbox = {{ path = {0:?} }}\ninbos = {{ path = {0:?} }}",
        folder.path().display().to_string()
    ));
    let host = world.open().await;
    let faults = host.missing().unwrap().to_string();
    let faults = faults.replace(&folder.path().display().to_string(), "FOLDER");
    assert_snapshot!(faults.replace(&world.folder().display().to_string(), "WORLD"), @r#"
    error: the plugin clerk declares no folder `inbos`
     --> WORLD/airlock.toml:3:1
      |
    3 | inbos = { path = "FOLDER" }
      | ^^^^^ a folder that it declares
      |
      = help: did you mean `inbox`?
    "#);
}
