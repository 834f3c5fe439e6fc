// Takes an official TypeScript client through the steps of a test, and tells of each as one line of JSON.
//
// Arguments: where the packages lie, how the host is started, as JSON ({"command", "args", "env", "cwd"}), and which
// package: `sdk` or `client`. Where a step waits for the test, the test says so with a line.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";

const [folder, start, which] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const resolve = createRequire(`${folder}/`).resolve;
const load = (name) => import(pathToFileURL(resolve(name)));

const tell = (step, what = {}) => console.log(JSON.stringify({ step, ...what }));
const told = async () => (await lines.next()).value;

async function connect() {
    const server = { ...JSON.parse(start), stderr: "ignore" };
    const information = { name: "steps", version: "1" };
    if (which === "sdk") {
        const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
        const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
        const client = new Client(information);
        await client.connect(new StdioClientTransport(server));
        return client;
    }
    const { Client } = await load("@modelcontextprotocol/client");
    const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
    const client = new Client(information, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StdioClientTransport(server));
    return client;
}

function call(client, subject, key, options = {}) {
    const _meta = { "airlock/idempotencyKey": key, "airlock/model": "a-model", "airlock/reason": "a test" };
    const ticket = { order_id: "A-1003", subject, body: "It broke." };
    const asked = { name: "desk__create_ticket", arguments: ticket, _meta };
    return which === "sdk" ? client.callTool(asked, undefined, options) : client.callTool(asked, options);
}

const shown = (result) => ({
    isError: result.isError ?? false,
    structured: result.structuredContent ?? null,
    text: result.content[0].text,
});

async function listCallAndFail(client) {
    const { tools } = await client.listTools();
    const version = client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? null;
    tell("listed", { version, names: tools.map((tool) => tool.name) });
    tell("called", shown(await call(client, "Lamp", "k1")));
    tell("failed", shown(await client.callTool({ name: "desk__find_order", arguments: { order_id: "Z-9" } })));
    await client.callTool({ name: "desk__nothing", arguments: {} }).catch((error) => tell("refused", { code: error.code }));
}

async function cancel(client) {
    await told();
    const abort = new AbortController();
    const ended = call(client, "Chair", "k2", { signal: abort.signal }).catch((error) => error);
    tell("begun");
    await told();
    abort.abort("the user pressed stop");
    await ended;
    tell("cancelled");
    await told();
    tell("again", shown(await call(client, "Chair", "k2")));
}

async function lose(client) {
    await told();
    const ended = call(client, "Table", "k3").then(() => false, () => true);
    tell("begun");
    process.kill(Number(await told()), "SIGKILL");
    tell("lost", { heard: await ended });
}

const first = await connect();
await listCallAndFail(first);
await cancel(first);
await lose(first);
await first.close().catch(() => {});
await told();
const second = await connect();
tell("again", shown(await call(second, "Table", "k3")));
await second.close();
process.exit(0);
