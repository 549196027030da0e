"""Measure the share of input that a provider with a prefix cache would read from it, and whether the estimate knew.

    python benchmarks/prefix_cache.py FILE [METRIC...] [--records 120] [--style support=short_cot]
        [--schema]

The fake endpoint has OpenAI's rules: from 1,024 tokens on, in steps of 128, after the same schema. The metrics are
groundedness, grounding and trace unless named. The estimate is cold: its share stands on the prompts alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import ragstone
from ragstone.records import open_records
from ragstone.testing import FakeServer
from ragstone.types import Record

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from realistic import realistic

JUDGE = """
[judges.{name}]
provider = "{provider}"
model = "m"
base_url = "{url}"
api_key_env = ""
price = {{ input = 1, output = 0, cached = {cached} }}
"""
BARE = """
prompts = { structured = "off" }

[steps]
support = "bare"
response_support = "bare"
"""


def main() -> None:
    """Run and print one line for each dialect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("metrics", nargs="*", default=["groundedness", "grounding", "trace"])
    parser.add_argument("--records", type=int, default=120)
    parser.add_argument("--style", action="append", default=[])
    parser.add_argument("--schema", action="store_true", help="with the schema that auto sends, which comes first")
    given = parser.parse_args()
    with open_records(given.file) as source:
        rows = [
            {"id": record.id, "question": record.question, "response": record.response,
             "contexts": [passage.text for passage in record.passages]}
            for record in source if isinstance(record, Record)
        ]  # fmt: skip
    rows = rows[:: max(1, len(rows) // given.records)][: given.records]
    for provider in ("openai", "anthropic"):
        with (
            FakeServer(prefix_cache=1024, latency=0.01, answer=realistic) as server,
            tempfile.TemporaryDirectory() as at,
        ):
            expected = []
            options: dict[str, Any] = {"store": Path(at, "s.db"), "prompts": given.style or None}
            for cached in (1, 0):  # what is cached costs nothing the second time
                options["config"] = Path(at, f"{cached}.toml")
                about = {"provider": provider, "url": server.url, "cached": cached}
                text = JUDGE.format(name="it", **about)
                text += "" if given.schema else JUDGE.format(name="bare", **about) + BARE
                options["config"].write_text(text)
                told = ragstone.estimate(rows, given.metrics, "it", **options).total.dollars
                expected.append(told.expected if told else 0.0)
            bill = ragstone.evaluate(rows, given.metrics, "it", **options).summary()["bill"]["paid"]
        print(
            f"{provider}: {bill['calls']} calls, {bill['input_tokens']:,} tokens in, "
            f"{bill['cached_tokens'] / bill['input_tokens']:.1%} cached (expected {1 - expected[1] / expected[0]:.1%})"
        )


if __name__ == "__main__":
    main()
