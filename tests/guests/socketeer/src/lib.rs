//! Goes past the contract: sockets, names, files.

use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader socketeer: Connect, Listen, Datagram, Lookup, ReadFile, WriteFile, ListFolder);

fn declaration(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, without having declared it."))
        .risk(Risk::PublicRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
}

/// What was reached; where nothing was, the error has the words of WASI.
#[derive(Serialize, JsonSchema)]
struct Reached {
    text: String,
}

fn reached(result: io::Result<String>) -> Result<Reached, ToolError> {
    result
        .map(|text| Reached { text })
        .map_err(|error| ToolError::rejected("NOT_REACHED", format!("{:?}: {error}", error.kind())))
}

/// `127.0.0.1:80`.
#[derive(Deserialize, JsonSchema)]
struct Address {
    address: String,
}

/// Opens a TCP connection.
struct Connect;

impl Tool for Connect {
    const NAME: &'static str = "connect";
    type Input = Address;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Connect")
    }

    fn call(input: Address, _context: &Context) -> Result<Reached, ToolError> {
        reached(TcpStream::connect(&input.address).map(|_| "connected".to_owned()))
    }
}

/// Listens on a TCP port.
struct Listen;

impl Tool for Listen {
    const NAME: &'static str = "listen";
    type Input = Address;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Listen")
    }

    fn call(input: Address, _context: &Context) -> Result<Reached, ToolError> {
        reached(TcpListener::bind(&input.address).map(|_| "listening".to_owned()))
    }
}

/// Sends a datagram.
struct Datagram;

impl Tool for Datagram {
    const NAME: &'static str = "datagram";
    type Input = Address;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Send a datagram")
    }

    fn call(input: Address, _context: &Context) -> Result<Reached, ToolError> {
        let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"hello", &input.address));
        reached(sent.map(|bytes| format!("{bytes} bytes sent")))
    }
}

/// `example.com`.
#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Looks up a name.
struct Lookup;

impl Tool for Lookup {
    const NAME: &'static str = "lookup";
    type Input = Name;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Look up a name")
    }

    fn call(input: Name, _context: &Context) -> Result<Reached, ToolError> {
        let addresses = (input.name.as_str(), 80).to_socket_addrs();
        reached(addresses.map(|addresses| format!("{:?}", addresses.collect::<Vec<_>>())))
    }
}

/// `/etc/passwd`.
#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// Reads a file.
struct ReadFile;

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    type Input = Path;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Read a file")
    }

    fn call(input: Path, _context: &Context) -> Result<Reached, ToolError> {
        reached(std::fs::read_to_string(&input.path))
    }
}

/// Writes a file.
struct WriteFile;

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    type Input = Path;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("Write a file")
    }

    fn call(input: Path, _context: &Context) -> Result<Reached, ToolError> {
        reached(std::fs::write(&input.path, "hello").map(|()| "written".to_owned()))
    }
}

/// Lists a folder.
struct ListFolder;

impl Tool for ListFolder {
    const NAME: &'static str = "list_folder";
    type Input = Path;
    type Output = Reached;

    fn declare() -> Declaration {
        declaration("List a folder")
    }

    fn call(input: Path, _context: &Context) -> Result<Reached, ToolError> {
        let names = std::fs::read_dir(&input.path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().display().to_string())).collect::<io::Result<Vec<_>>>()
        });
        reached(names.map(|names| names.join("\n")))
    }
}
