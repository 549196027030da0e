"""Serve the fake endpoint as a command, until it is interrupted."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from ragstone.testing.behaviour import Behaviour, from_plain
from ragstone.testing.endpoint import Endpoint
from ragstone.testing.listener import Listener


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server; once it listens, print a JSON line with ``url``, ``port`` and ``pid`` on standard output."""
    options = vars(_parser().parse_args(arguments))
    knobs = json.loads(options["knobs"])
    knobs |= {name: value for name in Behaviour.__struct_fields__ if (value := options.get(name)) is not None}
    loop = asyncio.new_event_loop()
    try:
        behaviour = Behaviour().changed(**from_plain(knobs))
        listener = Listener(Endpoint(behaviour, options["keep"]), options["host"], options["port"])
        loop.run_until_complete(listener.open())
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        loop.close()
        return 2 if isinstance(error, ValueError) else 1
    url = f"http://{listener.host}:{listener.port}/v1"
    print(json.dumps({"url": url, "port": listener.port, "pid": os.getpid()}), flush=True)  # noqa: T201 - a command
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, loop.stop)
    if options["until_stdin_closes"]:
        loop.add_reader(sys.stdin.fileno(), loop.stop)  # the parent process has ended or wants to stop
    loop.run_forever()
    if options["until_stdin_closes"]:
        loop.remove_reader(sys.stdin.fileno())
    loop.run_until_complete(listener.end())
    loop.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    about, form = inspect.cleandoc(Behaviour.__doc__ or ""), argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m ragstone.testing", None, __doc__, about, formatter_class=form)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--keep", type=int, default=0, help="number of requests to remember")
    parser.add_argument("--knobs", default="{}", help="settings of the behaviour, as a JSON object")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    for name, default in asdict(Behaviour()).items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction)
        elif name not in ("answer", "script", "headers"):
            several = "*" if default == () else None
            parser.add_argument(flag, type=_value, nargs=several)
    return parser


def _value(text: str) -> Any:
    """Parse a number, two numbers separated by a comma, or text."""
    try:
        return json.loads(f"[{text}]" if "," in text else text)
    except ValueError:
        return text


if __name__ == "__main__":
    sys.exit(main())
