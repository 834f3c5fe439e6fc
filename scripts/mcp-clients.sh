#!/usr/bin/env bash
# Brings the official MCP clients, of Python and of TypeScript, into target/mcp-clients, where the tests of the MCP door
# look for them. Does nothing where they are there in these versions.

set -euo pipefail

cd "$(dirname "$0")/.."

python_client=mcp==2.3.0
node_clients=(@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0)

folder=target/mcp-clients
mkdir -p "$folder"

# have NAME VERSIONS: whether these versions were installed before, whole.
have() { [ "$(cat "$folder/$1.installed" 2>/dev/null)" = "$2" ]; }

if have python "$python_client"; then
    echo "mcp-clients: $python_client is there"
else
    rm -rf "$folder/python"
    python3 -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check "$python_client"
    echo "$python_client" >"$folder/python.installed"
fi

if have node "${node_clients[*]}"; then
    echo "mcp-clients: ${node_clients[*]} is there"
else
    rm -rf "$folder/node"
    mkdir -p "$folder/node"
    npm install --silent --no-audit --no-fund --no-save --prefix "$folder/node" "${node_clients[@]}"
    echo "${node_clients[*]}" >"$folder/node.installed"
fi
