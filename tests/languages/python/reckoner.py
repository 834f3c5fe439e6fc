"""A plugin in Python: one tool that reckons, and one that goes as far as Python goes."""

import json
import os
import random

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import host
from wit_world.imports.types import Cleanup, ErrorKind, Manifest, Repeat, Reply, Risk, Tool, ToolError


def schema(**properties):
    """A schema of an object with these fields, of which the first must be there."""
    required = list(properties)[:1]
    return json.dumps({"type": "object", "properties": properties, "required": required, "additionalProperties": False})


WORD = {"type": "string"}
NUMBER = {"type": "integer"}


def tool(name, title, description, input_schema, output_schema):
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=input_schema,
        output_schema=output_schema,
        risk=Risk.PUBLIC_READ,
        repeat=Repeat.READS,
        cleanup=Cleanup.NOTHING,
        permissions=[],
        needs=[],
        hidden=[],
        private=[],
        same_action=[],
        poll=False,
        timeout_ms=None,
        cost_micros=None,
    )


def error(kind, code, message):
    return Err(ToolError(kind, code, message, user_message=None, retry_after_ms=None, details=None))


def primes(arguments, _context):
    below = arguments["below"]
    if below > 100_000:
        raise error(ErrorKind.REJECTED, "TOO_MANY", f"primes are counted below 100000, and {below} is more")
    sieve = bytearray([1]) * max(below, 2)
    for number in range(2, int(below**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, below, number)))
    return {"count": sum(sieve[2:below])}


def down(depth):
    return 0 if depth == 0 else down(depth - 1) + 1


def spin():
    while True:
        pass


def grow(mib):
    """Takes so much memory; where it is refused, the list is given up first, so that there is room to say so."""
    kept = []
    try:
        for _ in range(mib):
            kept.append(bytearray(1 << 20))
    except MemoryError:
        given = len(kept)
        del kept
        raise error(ErrorKind.REJECTED, "OUT_OF_MEMORY", f"{given} MiB were given") from None
    return {"done": mib}


def hoard():
    """Takes memory, and says nothing where it is refused."""
    kept = []
    while True:
        kept.append([0] * 25_000)


def lucky(context):
    """What comes from Python's own generator, from the system's, and from the host."""
    return {"own": random.random(), "system": os.urandom(8).hex(), "hash": hash("word"), "key": context.idempotency_key}


def strain(arguments, context):
    how, amount = arguments["how"], arguments.get("amount", 0)
    match how:
        case "say":
            print("to standard output")
            host.log(host.Level.WARN, "to the log", json.dumps({"amount": amount}))
            return {"done": amount}
        case "recurse":
            return {"done": down(amount)}
        case "parse":
            json.loads("[" * amount + "]" * amount)
            return {"done": amount}
        case "grow":
            return grow(amount)
        case "hoard":
            return hoard()
        case "spin":
            return spin()
        case "fail":
            raise RuntimeError("the database at 10.0.0.7 is gone")
        case "lucky":
            return lucky(context)
    raise error(ErrorKind.INVALID_INPUT, "INVALID_INPUT", f"there is no way `{how}`")


TOOLS = {"primes": primes, "strain": strain}


class Tools(exports.Tools):
    def describe(self):
        return Manifest(
            name="python",
            version="0.1.0",
            description="Reckons, and goes as far as Python goes",
            tools=[
                tool(
                    "primes",
                    "Count primes",
                    "Counts the primes below a number.",
                    schema(below=NUMBER),
                    schema(count=NUMBER),
                ),
                tool(
                    "strain",
                    "Strain the interpreter",
                    "Does something that is hard on an interpreter, as much of it as it is told to.",
                    schema(how=WORD, amount=NUMBER),
                    json.dumps({"type": "object"}),
                ),
            ],
        )

    def call(self, tool, input, context):
        data = TOOLS[tool](json.loads(input), context)
        return Reply(data=json.dumps(data), attachments=[], fingerprint=None, cleanup=None)
