"""The pytest plugin: score responses in tests, check them against thresholds, print a summary of the session.

Guarantees: a test session that does not use it loads only this file and the bare package. A judge failure makes a test
an ERROR, never a FAIL and never a pass. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragstone.analysis.result import Result
    from ragstone.pytest_plugin.scoring import Scorer

MARK: Final = "ragstone"
RECORD: Final = "ragstone_record"
ATTRIBUTE: Final = "ragstone"
"""Report attribute with a test's scores, as plain values, since pytest-xdist sends reports between processes."""

_SCORER: Final = pytest.StashKey["Scorer"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the session's options: judge, store and configuration for tests that do not set their own."""
    group = parser.getgroup("ragstone", "Ragstone: evaluate responses against their evidence")
    group.addoption(
        "--ragstone-judge", metavar="NAME", help="Judge for tests that name none; see --judge of ragstone run."
    )
    group.addoption("--ragstone-store", metavar="PATH", help="Path of the store; see --store of ragstone run.")
    group.addoption(
        "--ragstone-config", metavar="PATH", help="Configuration file [default: ragstone.toml in the root directory]"
    )
    group.addoption(
        "--ragstone-offline",
        action="store_true",
        help="Send nothing; use stored replies only. A missing one is an error.",
    )
    parser.addini("ragstone_judge", "judge for tests that name none", default="")
    parser.addini("ragstone_store", "path of the store, relative to this file", default="")
    parser.addini("ragstone_config", "configuration file, relative to this file", default="")
    parser.addini("ragstone_offline", "send nothing; use stored replies only", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Register the two marks."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(SCORE=MIN, ..., judge=NAME, OPTION=...): thresholds of assert_scores, and options of "
        "ragstone.evaluate.",
    )
    config.addinivalue_line(
        "markers",
        f"{RECORD}(question=..., contexts=[...], ...): fields of a test's record; a call may add more.",
    )


@pytest.fixture
def ragstone(request: pytest.FixtureRequest) -> Iterator[Scorer]:
    """Score responses in a test: ``ragstone.score(question=..., response=..., contexts=[...], metrics=[...])``."""
    from ragstone.pytest_plugin.scoring import Scorer  # noqa: PLC0415 - only for a test that asks for it

    scorer = Scorer(request.node, _marked(request.node, MARK), _marked(request.node, RECORD))
    request.node.stash[_SCORER] = scorer
    yield scorer
    scorer.close()


@pytest.fixture
def assert_scores(ragstone: Scorer) -> Callable[..., Result]:
    """Score a response and check it against thresholds: ``assert_scores(response, question=..., grounding=0.8)``."""
    return ragstone.assert_scores


def _marked(item: pytest.Item, name: str) -> dict[str, Any]:
    """Return the arguments of all marks with a name; those of the test override those of its class and module."""
    from ragstone.errors import InputError  # noqa: PLC0415 - only for a test that uses the fixture

    found: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(name))):
        for given in (*mark.args, mark.kwargs):
            if not isinstance(given, Mapping):
                raise InputError(f"mark {name}: {given!r} has no name; pass keywords or a dict")
            found.update(given)
    return found


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Report judging errors as setup errors, and attach the scores to the report."""
    report: pytest.TestReport = (yield).get_result()
    scorer = item.stash.get(_SCORER, None)
    if report.when == "call":
        trouble = _trouble(item, call, scorer)
        if trouble is not None:
            # All report consumers count a failure before the call as an error, not as a failed test.
            report.when, report.outcome = "setup", "failed"
            report.__dict__.pop("wasxfail", None)
            if trouble:
                report.longrepr = trouble
        if scorer is not None:
            scorer.failed |= report.failed  # a test whose subtest failed may pass itself
    elif report.when == "teardown" and scorer is not None:
        setattr(report, ATTRIBUTE, scorer.notes)


def _trouble(item: pytest.Item, call: pytest.CallInfo[None], scorer: Scorer | None) -> str | None:
    """Return why a test is an error: None if it is not one, empty if its exception explains it."""
    if call.excinfo is not None:
        if scorer is None:
            return None
        from ragstone.errors import RagstoneError  # noqa: PLC0415 - as above

        return "" if isinstance(call.excinfo.value, RagstoneError) else None
    own = {mark.name for mark in item.own_markers}  # module marks need not apply to every test
    if scorer is None:
        lonely = next((name for name in (MARK, RECORD) if name in own), None)
        return lonely and f"marked {lonely}, but uses neither of its fixtures, assert_scores and ragstone"
    if MARK in own and scorer.least and not scorer.checked:
        return f"marked with thresholds ({', '.join(scorer.least)}), but assert_scores was never called"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the summary, if the session scored anything."""
    notes = [
        note
        for reports in terminalreporter.stats.values()
        for report in reports
        for note in getattr(report, ATTRIBUTE, ())
    ]
    if notes:
        from ragstone.pytest_plugin.summary import summary_lines  # noqa: PLC0415 - only with something to print

        terminalreporter.write_sep("=", "ragstone")
        for line in summary_lines(notes):
            terminalreporter.write_line(line)
