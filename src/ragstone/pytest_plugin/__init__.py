"""The pytest plugin: weigh a response inside a test, hold it against thresholds, tell what came of it at the end.

Promises: in a test session that does not use it, nothing of Ragstone is loaded but this file and the bare package. A
judge that does not do its work makes a test an ERROR, never a FAIL and never a pass. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragstone.analysis.result import Result
    from ragstone.pytest_plugin.weighing import Weigher

MARK: Final = "ragstone"
RECORD: Final = "ragstone_record"
ATTRIBUTE: Final = "ragstone"
"""Where a test's report holds what was weighed in it, in plain values: reports travel from pytest-xdist's workers."""

_WEIGHER: Final = pytest.StashKey["Weigher"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which judge, store and configuration tests have, where they do not say so themselves."""
    group = parser.getgroup("ragstone", "Ragstone: evaluate responses against their evidence")
    group.addoption("--ragstone-judge", metavar="NAME", help="Judge of tests that name none, like --judge.")
    group.addoption("--ragstone-store", metavar="PATH", help="The store of calls, as --store of the command line.")
    group.addoption("--ragstone-config", metavar="PATH", help="The configuration; ragstone.toml of the root directory.")
    group.addoption(
        "--ragstone-offline", action="store_true", help="Send nothing: stored replies only; a missing one is an error."
    )
    parser.addini("ragstone_judge", "judge of tests that name none", default="")
    parser.addini("ragstone_store", "the store of calls, from the folder of this file", default="")
    parser.addini("ragstone_config", "the configuration, from the folder of this file", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Make the two marks known."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(SCORE=least, ..., judge=NAME, OPTION=...): the thresholds of assert_scores, and "
        "options of ragstone.evaluate.",
    )
    config.addinivalue_line(
        "markers",
        f"{RECORD}(question=..., contexts=[...], ...): fields of the record that a test is about; a call may add more.",
    )


@pytest.fixture
def ragstone(request: pytest.FixtureRequest) -> Iterator[Weigher]:
    """Weigh responses in a test: ``ragstone.score(question=..., response=..., contexts=[...], metrics=[...])``."""
    from ragstone.pytest_plugin.weighing import Weigher  # noqa: PLC0415 - only for a test that asks for it

    weigher = Weigher.of(request.node, MARK, RECORD)
    request.node.stash[_WEIGHER] = weigher
    yield weigher
    weigher.close()


@pytest.fixture
def assert_scores(ragstone: Weigher) -> Callable[..., Result]:
    """Weigh a response and hold it to thresholds: ``assert_scores(response, question=..., grounding=0.8)``."""
    return ragstone.assert_scores


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Tell errors of judging from tests that failed, and hand over what was weighed."""
    report: pytest.TestReport = (yield).get_result()
    weigher = item.stash.get(_WEIGHER, None)
    if report.when == "call":
        trouble = _trouble(item, call, weigher)
        if trouble is not None:
            # Every reader of reports takes what goes wrong before the call for an error of the test's surroundings.
            report.when, report.outcome = "setup", "failed"
            report.__dict__.pop("wasxfail", None)
            if trouble:
                report.longrepr = trouble
        if weigher is not None:
            weigher.failed = report.failed
    elif report.when == "teardown" and weigher is not None:
        setattr(report, ATTRIBUTE, weigher.notes)


def _trouble(item: pytest.Item, call: pytest.CallInfo[None], weigher: Weigher | None) -> str | None:
    """None where a test did what it says; else why it did not, empty where its exception tells."""
    if call.excinfo is not None:
        if weigher is None:
            return None
        from ragstone.errors import RagstoneError  # noqa: PLC0415 - only for a test that used the fixture

        return "" if isinstance(call.excinfo.value, RagstoneError) else None
    own = {mark.name for mark in item.own_markers}  # a module's marks need not be meant for each of its tests
    if weigher is None:
        lonely = next((name for name in (MARK, RECORD) if name in own), None)
        return lonely and f"marked {lonely}, and uses neither of the fixtures assert_scores and ragstone"
    if MARK in own and weigher.least and not weigher.held:
        return f"marked with thresholds ({', '.join(weigher.least)}), and assert_scores was never called"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was weighed in this session, where anything was."""
    notes = [
        note
        for reports in terminalreporter.stats.values()
        for report in reports
        for note in getattr(report, ATTRIBUTE, ())
    ]
    if notes:
        from ragstone.pytest_plugin.ending import told  # noqa: PLC0415 - only where there is something to tell

        terminalreporter.write_sep("=", "ragstone")
        for line in told(notes):
            terminalreporter.write_line(line)
