"""Takes the official Python client through the steps of a test, and tells of each as one line of JSON.

Arguments: how the host is started, as JSON ({"command", "args", "env", "cwd"}), and the client's mode. Where a step
waits for the test, the test says so with a line.
"""

import asyncio
import json
import os
import signal
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters

START, MODE = json.loads(sys.argv[1]), sys.argv[2]


def tell(step, **what):
    print(json.dumps({"step": step, **what}), flush=True)


async def told():
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return line.strip()


def ticket(subject):
    return {"order_id": "A-1003", "subject": subject, "body": "It broke."}


def call(client, subject, key):
    meta = {"airlock/idempotencyKey": key, "airlock/model": "a-model", "airlock/reason": "a test"}
    return client.call_tool("desk__create_ticket", ticket(subject), meta=meta)


def shown(result):
    return {"isError": result.is_error, "structured": result.structured_content, "text": result.content[0].text}


def connect():
    return Client(StdioServerParameters(**START), mode=MODE)


async def list_call_and_fail(client):
    tools = (await client.list_tools()).tools
    tell("listed", version=client.protocol_version, names=[tool.name for tool in tools])
    tell("called", **shown(await call(client, "Lamp", "k1")))
    tell("failed", **shown(await client.call_tool("desk__find_order", {"order_id": "Z-9"})))
    try:
        await client.call_tool("desk__nothing", {})
    except MCPError as error:
        tell("refused", code=error.error.code)


async def cancel(client):
    await told()
    async with anyio.create_task_group() as group:
        group.start_soon(call, client, "Chair", "k2")
        tell("begun")
        await told()
        group.cancel_scope.cancel()
    tell("cancelled")
    await told()
    tell("again", **shown(await call(client, "Chair", "k2")))


async def lose(client, lost):
    async def until_lost():
        try:
            await call(client, "Table", "k3")
        except Exception as error:
            lost.append(type(error).__name__)

    await told()
    async with anyio.create_task_group() as group:
        group.start_soon(until_lost)
        tell("begun")
        os.kill(int(await told()), signal.SIGKILL)
    tell("lost", heard=bool(lost))


async def main():
    lost = []
    async with connect() as client:
        await list_call_and_fail(client)
        await cancel(client)
        await lose(client, lost)
    await told()
    async with connect() as client:
        tell("again", **shown(await call(client, "Table", "k3")))


asyncio.run(main())
