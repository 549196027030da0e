"""Extract nuggets: the claims of an answer, and the statements of passages, without duplicates.

Passages are excerpts of pages, manuals and papers, and much in them only looks like sentences. Doubtful sentences are
left out, and every nugget is taken from a passage. The selection does not depend on the order of the passages. In
English, fragments and sentences without a verb are recognised; in other languages, only words that refer to other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ragstone.judges.embedded.abstaining import abstains
from ragstone.judges.embedded.claims import Claim, clean, write
from ragstone.judges.embedded.library import common_language
from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.relevance import QuestionWords
from ragstone.judges.embedded.stated import stated
from ragstone.judges.embedded.verbs import LANGUAGE, imperative, listed, plain, purposeful, states
from ragstone.judges.embedded.words import NEGATION, NUMBER, nugget_lexicon, tokens_of
from ragstone.segment import SAMPLE, language_of, sentences

SAME: Final = 0.8  # minimum share of a nugget's content words, by weight, in another one that says the same ...
LIGHT: Final = 3.0  # ... and maximum weight of a word it lacks
HEAD: Final = 5  # first letters shared by forms of one word
COMPARED: Final = 64  # maximum nuggets to compare with, for each of the ``HEAVIEST`` words
HEAVIEST: Final = 4

_LINK: Final = re.compile(r"\[([^\[\]\n]{1,120})\]\([^()\s]{1,300}\)")
_CITED: Final = re.compile(
    r"\s*\((?:[^()]{0,160}\bet al\b[^()]{0,160}|(?:Figs?|Figures?|Tables?|Sections?|Refs?|see|cf)\b\.?[^()]{0,60}"
    r"|[A-Z][\w'-]{1,30}(?:(?: and | & |, )[A-Z][\w'-]{1,30}){0,3},? (?:19|20)\d\d[a-z]?"
    r"|\d{1,3}(?:[,; ]{1,2}\d{1,3}){0,12})\)"
)
_ENDS: Final = " \t\r\n.!;:,\u3002\uff01\uff1b\uff0c\u2026"
_DOTTED: Final = re.compile(r"(?:^|\s)(?:[^\W\d_]\.){2,8}$")


def of_answer(texts: Sequence[str], before: str, known: Sequence[str], most: int) -> list[Claim]:
    """Return the nuggets of consecutive sentences that are not in ``known``, in order.

    ``most`` limits known and new ones together; 0 means no limit.
    """
    language = language_of(" ".join(texts)[:SAMPLE])
    listing = Listing(language, known)
    found: list[Claim] = []
    for claim in write([_LINK.sub(r"\1", text) for text in texts], before):
        if most and len(known) + len(found) >= most:
            break
        asks = claim.text.rstrip("*_ \"'").endswith(("?", "\uff1f"))
        text = "" if asks or abstains(claim.text, language) else put(claim.text, language)
        if text and listing.add(text):
            found.append(claim._replace(text=text))
    return found


def put(text: str, language: str) -> str:
    """Return a claim as a nugget: on one line, without markers, citations, openers and final punctuation."""
    bare = _CITED.sub("", clean(text))
    for _ in range(3):
        rest = stated(_opened(bare, language), language).strip()
        if rest == bare:
            break
        bare = rest[:1].upper() + rest[1:] if bare[:1].isupper() else rest
    short = bare.rstrip(_ENDS)
    dotted = bare[len(short) : len(short) + 1] == "." and _DOTTED.search(short[-24:] + ".")
    return short + "." if dotted else short


def _opened(text: str, language: str) -> str:
    opener, _, rest = text[:80].partition(",")
    known = nugget_lexicon()["openers"]
    listed = f"{known.get(language, '')}|{known['en']}".split("|")
    return rest.lstrip() + text[80:] if rest and opener.lower() in listed else text


class _Content(NamedTuple):
    """The comparable parts of a nugget: content stem prefixes with weights, numbers, and whether it is negated."""

    weights: dict[str, float]
    numbers: frozenset[str]
    denied: bool

    def says(self, other: _Content) -> bool:
        """Return whether this nugget says everything the other says."""
        if self.denied != other.denied or not other.numbers <= self.numbers or not other.weights:
            return False
        lacking = [weight for head, weight in other.weights.items() if head not in self.weights]
        return max(lacking, default=0.0) <= LIGHT and sum(lacking) <= (1 - SAME) * sum(other.weights.values())


class Listing:
    """Nuggets in one language, without duplicates."""

    def __init__(self, language: str, texts: Iterable[str] = ()) -> None:
        self.language = language
        self._texts: set[str] = set()
        self._by_word: dict[str, list[_Content]] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> bool:
        """Add a nugget unless an existing one says the same in another order or form; return whether it was added."""
        folded = " ".join(text.casefold().split()).rstrip(_ENDS)
        content = self._content(text)
        heaviest = sorted(content.weights, key=lambda head: (-content.weights[head], head))[:HEAVIEST]
        near = (other for head in heaviest for other in self._by_word.get(head, ())[-COMPARED:])
        if folded in self._texts or any(other.says(content) for other in near):
            return False
        self._texts.add(folded)
        for head in content.weights:
            self._by_word.setdefault(head, []).append(content)
        return True

    def _content(self, text: str) -> _Content:
        weight = weigher(self.language)
        tokens = tokens_of(text, self.language)
        every = {token.stem[:HEAD]: weight(token.stem) for token in tokens if token.kind not in {NEGATION, NUMBER}}
        return _Content(
            {head: one for head, one in every.items() if one >= CONTENT} or every,
            frozenset(token.stem for token in tokens if token.kind == NUMBER),
            sum(token.kind == NEGATION for token in tokens) % 2 == 1,
        )


FLOOR: Final = 0.33  # minimum closeness of a statement to the question
SHARED: Final = 2  # minimum distinct question words in a statement; if none has that many, only the closest is kept
RELATIVE: Final = 0.8  # minimum closeness of a new statement, as a share of that of the closest
WORDS: Final = (4, 26)  # minimum and maximum words of a statement ...
CHARACTERS: Final = (6, 90)  # ... and characters in languages written without spaces
LONGEST: Final = 600  # maximum characters of a sentence
_UNSPACED: Final = frozenset({"zh", "ja", "th", "km", "lo", "my"})
_HOW: Final = re.compile(
    r"\b(?:how (?:do|to|can|should|would|does|is|are|could)|steps?|procedure|what to do"
    r"|(?:can|do|should|could|must|may|would|shall) (?:i|you|we|one|someone|somebody))\b"
)
_REQUEST: Final = re.compile(r"(?:please )?(?:tell (?:me|us)|talk|write)(?: something)? about ", re.IGNORECASE)
_PRONOUNS: Final = frozenset({"he", "she", "it", "they", "him", "them", "his", "her", "its", "their"})
_PAGE: Final = re.compile(
    r"^(?:Fig(?:ure|\.)?|Table|\d{1,3}) [A-Z\d]|: [A-Z]|,,|https?:|www\.|\S@\S+\.\w"
    r"|[|\u00a9\u00bb\u00ab\u2022\u25ba\u2192\u25cf{}<>\\~^_=]|\.{3}|\u2026|--"
    r"|[a-z]{5,}[A-Z][a-z]{2,}|[a-z\d)][.!?][A-Z][a-z]|&\w{2,6};|#\d"
)
"""Signs of non-prose: numbered captions, menus, links, markup, joined words."""

_AFTER: Final = "\"'\u201d\u2019)] 0123456789[,"
"""Characters that may follow the point at the end of a sentence: quotes, brackets, note numbers."""


def of_passages(question: str, passages: Sequence[str], known: Sequence[str], most: int) -> list[str]:
    """Return the updated list: known nuggets and those the passages add, closest to the question first.

    Of new nuggets that say the same, the closest is kept. ``most`` limits the list; 0 means no limit. A question
    without content words adds nothing.
    """
    language = common_language((question, *passages, *known)) or LANGUAGE
    words = QuestionWords(_REQUEST.sub("", question), language)
    listing = Listing(language)
    had = [text for text in known if text.strip() and listing.add(text)]
    instructing = bool(_HOW.search(question.lower()))
    new = (
        {text for passage in passages for text in statements(passage, instructing=instructing)}
        if words.weights
        else set()
    )
    found = {text: words.closeness(text) for text in (*had, *new)}
    least = max(FLOOR, RELATIVE * max((close for close, _ in found.values()), default=0.0))
    few = min(SHARED, len(words.weights))

    def ordered(texts: Iterable[str]) -> list[str]:
        return sorted(texts, key=lambda text: (-found[text][0], len(text), text))

    near = ordered(text for text in new if found[text][0] >= least)
    chosen = [text for text in near if len(found[text][1]) >= few] or ([] if had else near[:1])
    return ordered([*had, *filter(listing.add, chosen)])[: most or None]


def statements(passage: str, *, instructing: bool = False) -> Iterator[str]:
    """Yield the self-contained statements of a passage; instructions only if ``instructing``."""
    language = language_of(passage[:SAMPLE])
    spans = sentences(passage, language)
    raw = [" ".join(passage[span.start : span.end].split()) for span in spans]
    prose = [_headless(text) if _is_prose(text) else "" for text in raw]
    for claim in write(prose):
        text = put(claim.text, language)
        if stands(text, language, instructing=instructing):
            yield text


def _is_prose(text: str) -> bool:
    """Return whether a text ends like a sentence and has no signs of a fragment or of non-prose."""
    if not 6 <= len(text) <= LONGEST or not text.rstrip(_AFTER).endswith((".", "\u3002")) or _PAGE.search(text):
        return False
    words = text.split()
    large = sum(word[:1].isupper() for word in words)
    torn = any(len(word) == 1 and word.isascii() and word.islower() and word != "a" for word in words)
    paired = text.count('"') % 2 == 0 and text.count("(") == text.count(")")
    return paired and not torn and not (len(words) > 6 and large > 0.6 * len(words))


def _headless(text: str) -> str:
    """Return the sentence without a preceding heading that was joined to it."""
    words, begins, base = text.split(), listed("begins"), listed("base")
    for i in range(len(words) - 2, 0, -1):
        one, before, after = words[i], words[i - 1], words[i + 1]
        if not one[:1].isupper() or not before.rstrip(")")[-1:].isalnum():
            continue
        ran_in = one in begins and (after[:1].islower() or (one == "The" and before.lstrip("(")[:1].isupper()))
        if ran_in or (after in {"the", "your"} and one.lower() in base):
            return " ".join(words[i:])
    return text


def stands(text: str, language: str, *, instructing: bool = False) -> bool:
    """Return whether a statement has the length of a nugget and is self-contained."""
    if not text or any(sign in text for sign in "?!\uff1f"):
        return False
    if language in _UNSPACED:
        return CHARACTERS[0] <= len(text) <= CHARACTERS[1]
    words = text.split()
    lows = [plain(word).replace("\u2019", "'").partition("'")[0] for word in words]
    begun = text[0].isupper() or text[0] in "\"'\u201c\u00ab" or text[0].isdigit() or not text[0].isascii()
    if not WORDS[0] <= len(words) <= WORDS[1] or not begun or lows[0] in listed("pointing", language):
        return False
    speakers = listed("speakers", language)
    if any(low in speakers and word != "US" for low, word in zip(lows, words, strict=True)):
        return False
    return language != LANGUAGE or _is_full(lows, words, instructing=instructing)


def _is_full(lows: Sequence[str], words: Sequence[str], *, instructing: bool) -> bool:
    """Return whether an English statement has an explicit subject and a verb, or is a wanted instruction."""
    comma = next((i for i, word in enumerate(words[:-1], 1) if word.endswith(",")), 0)
    if not listed("near").isdisjoint(lows) or lows[-1] in listed("unfinished sure"):
        return False
    if _PRONOUNS & {*lows[:3], lows[comma] if lows[0] not in listed("subordinators") else ""}:
        return False  # "despite the rain, they won": only the previous sentence names the subject
    if (
        lows[0] in listed("counting")
        and lows[1] in listed("bare")
        and lows[2] in listed("auxiliaries sure third past adverbs")
    ):
        return False  # "the study found": only the source text says which study
    if purposeful(words) or imperative(words):
        return instructing
    return states(" ".join(words))
