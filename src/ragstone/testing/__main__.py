"""``python -m ragstone.testing``: the fake endpoint as a command, until it is interrupted."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from ragstone.testing.behaviour import Behaviour, from_plain
from ragstone.testing.endpoint import Endpoint
from ragstone.testing.listener import Listener

SHORT = (
    "latency", "rate-429", "rate-500", "rate-truncated", "rate-garbage", "rate-reset", "rate-hang",
    "rate-empty-choices", "rate-malformed", "rate-cut", "rate-fenced", "rate-think", "rate-think-fenced",
    "rate-reasoning-field", "retry-after", "seed", "capacity", "rpm", "tpm", "rate-window", "dead-after",
    "context-limit", "cached-share", "api-key",
)  # fmt: skip
WHOLE = ("seed", "capacity", "rpm", "tpm", "dead-after", "context-limit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve; the first line on standard output is JSON with ``url``, ``port`` and ``pid``, as soon as it listens."""
    options = _parser().parse_args(arguments)
    knobs: dict[str, Any] = json.loads(options.knobs)
    for name in SHORT:
        text = getattr(options, name.replace("-", "_"))
        if text is not None:
            knobs[name.replace("-", "_")] = _value(name, text)
    if options.refuse_schema:
        knobs["refuse_schema"] = True
    try:
        behaviour = Behaviour().changed(**from_plain(knobs))
    except ValueError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    loop = asyncio.new_event_loop()
    listener = Listener(Endpoint(behaviour, options.keep), options.host, options.port)
    try:
        loop.run_until_complete(listener.open())
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        loop.close()
        return 1
    url = f"http://{options.host}:{listener.port}/v1"
    print(json.dumps({"url": url, "port": listener.port, "pid": os.getpid()}), flush=True)  # noqa: T201 - a command
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, loop.stop)
    if options.until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _leave, loop)
    loop.run_forever()
    loop.run_until_complete(listener.end())
    loop.close()
    return 0


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    """Standard input has ended: whoever started this is gone, or has had enough."""
    loop.remove_reader(sys.stdin.fileno())
    loop.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m ragstone.testing", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--keep", type=int, default=0, help="how many requests it remembers")
    parser.add_argument("--knobs", default="{}", help="any knobs of the behaviour, as a JSON object")
    parser.add_argument("--refuse-schema", action="store_true")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    for name in SHORT:
        parser.add_argument(f"--{name}")
    return parser


def _value(name: str, text: str) -> Any:
    if name == "api-key":
        return text
    if name in WHOLE:
        return int(text)
    if "," in text:
        return tuple(float(part) for part in text.split(","))
    return float(text)


if __name__ == "__main__":
    sys.exit(main())
