"""Measure the embedded judge: claims per second, memory, and the time to its first answer.

    python benchmarks/embedded.py [--contexts 200]

Generated contexts of 600 words are each read once for five claims, in one thread; rare words are rare
in them. Times are CPU times, so that other programs hardly matter; the first
answer also has wall-clock time. The digest of all answers is the same on every machine and version of
Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

WORDS = 600
CLAIMS = 5
FIRST = """
import json, sys, time
from ragstone.judges.embedded.compute import reply_to
body = {"task": "support", "units": ["Oakum is a tarred fibre."], "passages": ["Oakum is made of tarred fibre."],
        "trivial": False, "ranks": [1]}
reply_to(json.dumps(body).encode())
print(time.process_time())
"""


def context(draw: random.Random, stems: list[str]) -> str:
    """Sentences of 8 to 30 words, one word in ten with a capital, one in twenty a number."""
    sentences: list[str] = []
    count = 0
    while count < WORDS:
        words = []
        for _ in range(draw.randint(8, 30)):
            rank = draw.random()
            word = stems[int(len(stems) * rank * rank * rank)]
            chance = draw.random()
            words.append(str(draw.randint(2, 3000)) if chance < 0.05 else word.title() if chance < 0.15 else word)
        sentences.append(" ".join(words).capitalize() + ".")
        count += len(words)
    return " ".join(sentences)


def claim(draw: random.Random, text: str) -> str:
    """A sentence of a context with a third of its words left out and two others' put in."""
    words = draw.choice(text.split(". ")).split()
    kept = [word for word in words if draw.random() < 0.67] + draw.sample(text.split(), 2)
    return " ".join(kept).rstrip(".") + "."


def first_answer() -> tuple[float, float]:
    """Seconds by the clock and of the processor from the start of Python to the first verdict, the best of three.

    The code is compiled by the first of them, as it is where the package was installed.
    """
    found = []
    with tempfile.TemporaryDirectory() as compiled:
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        known = {**inherited, "PYTHONPYCACHEPREFIX": compiled}
        for _ in range(3):
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True, env=known)
            found.append((time.perf_counter() - start, float(done.stdout)))
    return min(wall for wall, _ in found), min(cpu for _, cpu in found)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--contexts", type=int, default=200)
    given = arguments.parse_args()
    wall, cpu = first_answer()
    from ragstone.judges.embedded.compute import reply_to  # noqa: PLC0415 - not before the first answer is timed
    from ragstone.judges.embedded.model import model  # noqa: PLC0415 - see above

    draw = random.Random(20)
    stems = sorted(model().counts, key=lambda stem: (model().counts[stem], stem))
    contexts = [context(draw, stems) for _ in range(given.contexts)]
    bodies = [
        json.dumps(
            {
                "task": "support", "passages": [text], "trivial": False, "ranks": [1],
                "units": [claim(draw, text if n % 2 else draw.choice(contexts)) for n in range(CLAIMS)],
            }
        ).encode()
        for text in contexts
    ]  # fmt: skip
    made = hashlib.sha256()
    start = time.process_time()
    for body in bodies:
        made.update(reply_to(body).encode())
    taken = time.process_time() - start
    mean = sum(len(text.split()) for text in contexts) / len(contexts)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(f"{CLAIMS * len(contexts) / taken:.0f} claims a second of CPU: {len(contexts)} contexts of {mean:.0f} words")
    print(f"{largest:.0f} MB resident at most")
    print(f"first answer {wall:.2f} s after the start of Python by the clock, {cpu:.2f} s of CPU")
    print(f"model {model().digest}, answers {made.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
