"""Judge statements against passages: probability of support, evidence windows, and a reason.

A reason begins with the outcome: found, not found, or contradicted. A statement with a fact that the evidence states
differently, or that is in no passage, gets the worst label. A statement that something is missing is supported if the
passages do not have it, so its words are looked up in the opposite sense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.judges.embedded.abstaining import Abstention, abstention, frames, names
from ragstone.judges.embedded.alignment import Clash
from ragstone.judges.embedded.claims import in_full
from ragstone.judges.embedded.evidence import WORDS_NAMED, Finding, find
from ragstone.judges.embedded.library import Library, Stretch
from ragstone.judges.embedded.model import CONTENT, assignment_cuts, model, probability
from ragstone.judges.embedded.qualified import OMISSION
from ragstone.judges.embedded.stated import NO_ANSWER, restated, stated, triviality, unmarked
from ragstone.judges.embedded.statement import Statement, masks_of
from ragstone.judges.embedded.thesaurus import likes
from ragstone.judges.embedded.words import NEGATION, NUMBER, tokens_of
from ragstone.segment import language_of, sentences, shortened

ASKED: Final = 4000  # maximum characters of a question that are read
QUOTES: Final = 3  # maximum quotes of evidence for a whole response
SLOPE: Final = 6.0  # slope of the log-odds of absence against the share of the words in one window
EVEN: Final = 0.5  # share at which presence and absence are equally likely
LOST: Final = 0.3
"""The contribution of the heaviest missing word to the log-odds of absence, in units of that share.

Chosen by hand: for 720 RAGBench questions, the best windows contain .73 of the words on average if a passage answers
them, and .28 if none does. The 42 labelled abstentions in RAGBench are too few for fitting.
"""
PLACES: Final = 12  # maximum sentences compared verbatim with a short text
KNEE: Final = 0.3  # log-odds of absence above which they grow slower, as the content may be there in other words
FLAT: Final = 0.3  # slope above ``KNEE``

Window = Sequence[int]
"""The index of a passage, and the start and end of a part of it."""

Name = Callable[[Window], str]
"""Returns the name of a window's place for reasons: "passage 2"."""


class SupportOutcome(Struct, frozen=True):
    """The calibrated probability of support, the windows of evidence, and the reason.

    ``chance`` is None if there is nothing to judge: a ``trivial`` sentence, or a text without words. ``found``: the
    windows with words of the statement, None if it only says that something is missing. ``quotes``: what to quote of
    the windows, if not all.
    """

    chance: float | None
    windows: Sequence[Window]
    reason: str
    trivial: bool = False
    found: Sequence[Window] | None = None
    quotes: Sequence[Window] = ()

    def row(self) -> dict[str, Any]:
        """Return the outcome as a row of a reply."""
        if self.chance is None:
            return {"trivial": self.trivial, "reason": self.reason}
        quoted = [*map(list, self.quotes or self.windows)]
        return {"chance": round(self.chance, 6), "windows": quoted, "reason": self.reason}


def judged(text: str, library: Library, name: Name, *, trivial: bool = False, question: str = "") -> SupportOutcome:
    """Judge a claim or sentence. ``trivial``: whether a sentence that states nothing may be skipped."""
    parts = abstention(text, library.language)
    if parts is None or parts.personal or _denied(text, library):
        return supported(text, library, name, trivial=trivial, question=question)
    if (found := _missing(parts, library, name)) is not None:
        return found
    if names(parts.besides, library.language):
        return supported(parts.besides, library, name, question=question)
    return SupportOutcome(None, (), NO_ANSWER, trivial=True) if trivial else wordless(text)


def in_order(texts: Sequence[str], read: Callable[[str], SupportOutcome]) -> list[SupportOutcome]:
    """Judge consecutive sentences by what each asserts in context; ``read`` judges one, which may be trivial.

    A list item is judged with the line that introduces it, and a table row with the headings.
    """
    full = in_full(texts, language_of(" ".join(texts)))
    headed = SupportOutcome(None, (), "introduces what follows", trivial=True)
    found: list[SupportOutcome] = []
    for text, asserted in zip(texts, full, strict=True):
        outcome = read(asserted or text)
        found.append(outcome if asserted or outcome.trivial else headed)
    return found


def response(text: str, language: str, read: Callable[[str], SupportOutcome], yes: float) -> SupportOutcome:
    """Judge a response: the mean over its sentences, with the worst one as the reason and quotes for the best ones.

    ``read`` judges a sentence, which may be trivial; ``yes`` is the lowest probability of a supported one.
    """
    spans = sentences(text, language)
    every = [*zip(in_order([text[span.start : span.end] for span in spans], read), spans, strict=True)]
    rated = [(found.chance, found, span) for found, span in every if found.chance is not None]
    if not rated and any(found.trivial for found, _ in every):
        return SupportOutcome(None, (), "no sentence states anything", trivial=True)
    if not rated:
        return wordless(text)
    mean = math.fsum(one for one, *_ in rated) / len(rated)
    least, worst, at = min(rated, key=lambda one: one[0])
    chance = mean if least >= yes else min(mean, yes - 0.01)  # a response is supported only if every sentence is
    count = f"{len(rated)} sentence{'s' if len(rated) > 1 else ''}"
    short = shortened(text[at.start : at.end], 80)
    best = sorted((one for one in rated if one[0] > 0), key=lambda one: -one[0])
    windows = dict.fromkeys(tuple(window) for _, found, _ in best for window in (found.quotes or found.windows)[:1])
    return SupportOutcome(
        chance,
        list(windows)[:QUOTES],
        f'mean support {mean:.2f} over {count}; lowest: "{short}", {worst.reason}',
    )


def assigned(text: str, library: Library, question: str) -> SupportOutcome:
    """Judge whether a response (the only passage) contains a nugget: like support, with different cuts."""
    finding = look_up(text, library, question)
    if not finding.words:
        return wordless(text)
    chance = _chance(finding)
    partial, full = assignment_cuts()
    missing = f"; not found: {listing(finding.missing, finding.unnamed)}" if finding.missing and chance < full else ""
    said = "found" if chance >= full else "partly found" if chance >= partial else "not found"
    windows = _windows(finding, library) if chance >= partial else []
    reason = f"{said} in the response (support {chance:.2f}){missing}"
    return SupportOutcome(chance, windows, reason, quotes=finding.quotes if windows else ())


def supported(text: str, library: Library, name: Name, *, trivial: bool = False, question: str = "") -> SupportOutcome:
    """Judge a statement as written."""
    kind = triviality(unmarked(text), language_of(text)) if trivial else ""
    if kind:
        return SupportOutcome(None, (), kind, trivial=True)
    finding = look_up(text, library, question)
    return _found(finding, library, name) if finding.words else wordless(text)


def listing(words: Sequence[str], unnamed: int = 0) -> str:
    """Return quoted words for a reason, limited in number and length, and how many more there are."""
    more = unnamed + max(0, len(words) - WORDS_NAMED)
    said = ", ".join(f'"{word[:40]}"' for word in words[:WORDS_NAMED])
    return f"{said} and {more} more" if more else said


def wordless(text: str) -> SupportOutcome:
    """Return the outcome of a text without words."""
    return SupportOutcome(None, (), "no words to look for" if text.strip() else "the text is blank")


def look_up(text: str, library: Library, question: str) -> Finding:
    """Look a statement up in the passages, completed from the question if it is too short."""
    bare = stated(text, library.language)
    said = restated(question, bare, library.language)
    said = bare if said != bare and _is_sentence(bare, library) else said
    finding = find(said, library, asked=_stems_asked(question, library.language))
    if said == bare:
        return finding
    own = {token.stem: bare[token.start : token.end] for token in tokens_of(bare, library.language)}
    own = {stem: word for stem, word in own.items() if library.weight(stem) >= CONTENT}
    lost = tuple(word for word in finding.missing if word in own.values())
    strange = not any(library.has(near) for stem in own for near in (stem, *likes(stem, library.language)))
    if lost and strange and finding.windows and finding.clash is None:
        finding = replace(finding, clash=Clash("answer", listing(lost)))
    return replace(finding, missing=lost, unnamed=0, telling=tuple(word for word in finding.telling if word in lost))


def _is_sentence(text: str, library: Library) -> bool:
    """Return whether a text is a sentence of the passages verbatim, such as a heading, and needs no question."""
    own = [token.stem for token in tokens_of(text, library.language)]
    rarest = max(own, key=library.weight, default="")
    places = library.sentences_with(rarest, PLACES, PLACES) if own else []
    return any([token.stem for token in library.texts[passage].tokens(n)] == own for passage, n in places)


@lru_cache(maxsize=4)
def _stems_asked(question: str, language: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokens_of(question[:ASKED], language))


def _chance(finding: Finding) -> float:
    """Return the calibrated probability; 0 without shared words, less with a clash or if partial."""
    if not finding.windows:
        return 0.0
    fitted = model().support
    chance = probability(round(fitted.log_odds(finding.features), 6), fitted.calibration)
    chance = min(chance, fitted.yes - 0.01) if finding.partial else chance
    return chance if finding.clash is None else chance * (fitted.maybe or fitted.yes / 2)


def _windows(finding: Finding, library: Library) -> list[Window]:
    return [library.window(place) for place in finding.windows]


def _found(finding: Finding, library: Library, name: Name) -> SupportOutcome:
    chance, clash, found = _chance(finding), finding.clash, _windows(finding, library)
    windows, missing = found if chance > 0 else [], listing(finding.missing, finding.unnamed)
    quotes = finding.quotes if windows else ()
    if clash:
        return replace(differing(clash, windows, chance, library, name, quotes), found=found)
    if not found:
        reason = f"not found: {missing}" if missing else "not found"
    elif chance >= model().support.yes:
        places = " and ".join(dict.fromkeys(map(name, windows)))
        rest = listing(finding.telling)
        reason = f"found in {places}{f', apart from {rest}' if rest else ''} (support {chance:.2f})"
    elif missing and chance >= (model().support.maybe or model().support.yes):
        words = "" if finding.echoed else f"; not found: {missing}"
        reason = f"partly found in {name(windows[0])}{words} (support {chance:.2f})"
    elif missing:
        words = "" if finding.echoed else f": {missing}"
        reason = f"not found{words} (support {chance:.2f}; nearest: {name(windows[0])})"
    else:
        reason = f"same words, different statement, in {name(windows[0])} (support {chance:.2f})"
    return SupportOutcome(chance, windows, reason, found=found, quotes=quotes)


def differing(
    clash: Clash, windows: Sequence[Window], chance: float, library: Library, name: Name, quotes: Sequence[Window] = ()
) -> SupportOutcome:
    """Return the outcome of a statement with a fact that the evidence states differently or that is in no passage.

    A sentence that states it differently comes first.
    """
    if not clash.has:
        reason = f"not found: {clash.says} (support {chance:.2f}; nearest: {name(windows[0])})"
        return SupportOutcome(chance, windows, reason, quotes=quotes)
    at = library.window(Stretch(clash.passage, clash.sentence, clash.sentence))
    if clash.kind == OMISSION:
        return SupportOutcome(
            chance, windows, f'not found: leaves out "{clash.has}" ({name(at)}; support {chance:.2f})', quotes=quotes
        )
    has = f', about "{clash.has}"' if clash.kind == "subject" else f" says {_marked(clash.has)}"
    where, says = f"{name(at)}{has} (support {chance:.2f})", _marked(clash.says)
    reason = f"contradicted: says {says}; {where}" if clash.same else f"not found: {says}; nearest: {where}"
    first, apart = (
        [at, *(one for one in some if one[0] != at[0] or one[2] <= at[1] or one[1] >= at[2])]
        for some in (windows, quotes)
    )
    return SupportOutcome(chance, first, reason, quotes=apart if quotes else ())


def _marked(words: str) -> str:
    """Return quoted words in quotation marks if they are too many to stand out in a reason."""
    return f'"{words}"' if words.count(" ") > 2 else words


def _missing(parts: Abstention, library: Library, name: Name) -> SupportOutcome | None:
    """Judge what a statement says is missing, and what else it says; the weaker part counts.

    Returns None if the statement does not name what is missing.
    """
    language = library.language
    framing = frames(language)
    statement = Statement(parts.topic, library, framing)
    if not names(parts.topic, language) or statement.functional:
        return None
    _, found = masks_of(statement, library)
    finding = find(parts.topic, library, framing, slots=False)
    numbers = {token.stem for token in statement.tokens if token.kind == NUMBER}
    unheard = [w for i, w in enumerate(statement.w) if not found >> i & 1 and statement.stems[i] not in numbers]
    odds = SLOPE * (EVEN - finding.share + LOST * max(unheard, default=0.0) / max(statement.w))
    odds = min(odds, KNEE + FLAT * (odds - KNEE))
    rest = None
    if names(parts.besides, language):
        rest = _found(find(parts.besides, library, framing), library, name)
    yes = model().support.yes
    chance = probability(round(odds, 6), (1.0, math.log(yes / (1 - yes))))  # even odds map to ``yes``
    if rest is not None and rest.chance is not None and rest.chance <= chance:
        return rest
    windows = _windows(finding, library)
    held = None if rest is None else rest.found
    if chance >= yes:
        reason = f"says information is missing, and the passages do not contain it (support {chance:.2f})"
        return SupportOutcome(chance, held or (), reason, found=held)
    place = f"{name(windows[0])} has" if windows else "the passages contain"
    reason = f"says information is missing, but {place} {listing(finding.shared)} (support {chance:.2f})"
    return SupportOutcome(chance, windows, reason, found=held, quotes=finding.quotes)


def _denied(text: str, library: Library) -> bool:
    """Return whether the passages themselves say that something is missing ("no survey mentions fees")."""
    finding = find(text, library)
    if not finding.windows or finding.clash is not None:
        return False
    if all(token.kind != NEGATION for token in library.tokens(finding.windows[0])):
        return False
    return _chance(finding) >= model().support.yes
