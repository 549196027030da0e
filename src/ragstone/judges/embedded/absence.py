"""Whether passages say what a statement says they do not.

A statement that abstains holds if the passages do not say it, so its words are looked for in the opposite sense: where
one window of sentences has nearly all of what is said to be missing, the statement is refused. What it says besides
("..., but it does mention A") is held against the passages like any claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ragstone.judges.embedded.abstaining import Abstention, frames, names
from ragstone.judges.embedded.evidence import Finding, find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model, probability
from ragstone.judges.embedded.statement import Statement, masks_of
from ragstone.judges.embedded.words import NEGATION, NUMBER

SLOPE: Final = 6.0  # how steeply the log-odds fall with the share of its words that one window has
EVEN: Final = 0.5
"""... from the share at which it is as likely as not that the passages say it; and how much of that share ..."""

LOST: Final = 0.3
"""... its heaviest word is worth where no passage has it, against the heaviest of all.

Chosen by hand: of 720 questions of RAGBench the best windows have .73 of the words on average where a passage
answers them, and .28 where none does; the 42 labelled statements of RAGBench that abstain are too few to fit to.
"""

KNEE: Final = 0.3  # above these log-odds
FLAT: Final = 0.3  # ... they grow so much slower: what was not found may be there in other words, so it is never sure


@dataclass(frozen=True, slots=True)
class Absence:
    """What was found of the words that are said not to be there: log-odds that the passages do not say it.

    ``besides`` is what was found for the rest of the statement, None where there is no rest.
    """

    log_odds: float
    finding: Finding
    besides: Finding | None


def absence(parts: Abstention, library: Library) -> Absence | None:
    """Hold a statement that abstains against the passages; None of one that names no evidence, or nothing missing."""
    language = library.language
    if parts.personal or not names(parts.topic, language):
        return None
    framing = frames(language)
    statement = Statement(parts.topic, library, framing)
    if statement.functional:
        return None
    _, found = masks_of(statement, library)
    finding = find(parts.topic, library, framing, slots=False)
    numbers = {token.stem for token in statement.tokens if token.kind == NUMBER}
    unheard = [w for i, w in enumerate(statement.w) if not found >> i & 1 and statement.stems[i] not in numbers]
    lost = max(unheard, default=0.0) / max(statement.w)
    besides = find(parts.besides, library, framing) if names(parts.besides, language) else None
    odds = SLOPE * (EVEN - finding.features.window + LOST * lost)
    return Absence(min(odds, KNEE + FLAT * (odds - KNEE)), finding, besides)


def denied(text: str, library: Library) -> bool:
    """Whether the passages themselves say of a matter what a statement says of them ("no survey mentions fees").

    Then it is a claim like any: what it says is there.
    """
    finding = find(text, library)
    if not finding.windows or finding.clash is not None:
        return False
    if all(token.kind != NEGATION for token in library.tokens(finding.windows[0])):
        return False
    weigh = model().support
    return probability(weigh.log_odds(finding.features), weigh.calibration) >= weigh.yes
