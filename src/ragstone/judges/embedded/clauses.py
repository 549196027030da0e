"""English sentences to clauses: shared subjects, inserted relative clauses, enumerations.

In doubt a sentence stays whole. A clause alone must be asserted by the sentence: what stands under a condition, in
somebody's mouth, within a relative clause or under a negation that it would lose is not split off.
"""

# ruff: noqa: SIM905 - word lists, written as text to be read

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragstone.judges.embedded.grammar import (
    ARTICLES,
    OPENING,
    TIMES,
    UNSHARED,
    Grammar,
    is_past,
    is_plural,
    is_verb,
    subject_of,
    unfit,
)
from ragstone.judges.embedded.pronouns import resolved_by
from ragstone.judges.embedded.verbs import imperative, is_auxiliary, plain, purposeful, states, verbs

WHOLE: Final = 1.0
"""Confidence of a sentence taken as it stands."""

CLAUSE: Final = 0.9
"""Confidence of a clause that brings its own subject."""

SUPPLIED: Final = 0.8
"""Confidence of a claim whose subject was supplied by rule."""

_LONGEST: Final = 400
"""Words from which on a sentence is not taken apart."""

_UNCLEAR: Final = re.compile(r"[\"\u201c\u201d(]|\?(?:\s|$)")
_CONDITIONAL: Final = re.compile(
    r"(?:[\w' ]{1,30}, |so |then |and |but |even |only )?"
    r"(?:if|when|whenever|unless|although|though|because|since|while|whereas|once|until|whether|where|wherever|provided"
    r"|suppos(?:e|ing)|assuming|given|had|should|were|as|after|before|lest|except|without|according to"
    r"|in (?:case|the event|th(?:is|at|ese|ose)|such|some|certain|most|many|rare))\b",
    re.IGNORECASE,
)
"""How a sentence begins whose first words are true of all of its clauses."""

_ADDING: Final = frozenset(
    {"if", "when", "unless", "because", "since", "after", "before", "although", "though", "until"}
)
"""Words of a clause that may stand before the main one."""

_CONDITIONS: Final = frozenset({"if", "unless", "whether", "until", "whenever", "provided", "except", "when", "where"})
_SAYING: Final = frozenset(
    "say says said think thinks thought believe believes believed claim claims claimed argue argues argued state states"
    " stated suggest suggests suggested show shows showed report reports reported deny denies denied doubt doubts"
    " doubted hope hopes hoped fear fears feared assume assumes assumed mean means meant know knows knew insist insists"
    " insisted predict predicts predicted estimate estimates estimated allege alleges alleged imply implies implied"
    " seems tell tells told warn warns warned learn learns learned promise promises promised announce announces"
    " announced confess confesses confessed".split()
)
_NOTING: Final = frozenset({"note", "noting", "remember", "message"})
"""Words before a "that" which the answer itself stands for."""

_BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_SINGULAR: Final = frozenset({"is", "was", "has", "does"})
_PLURAL: Final = frozenset({"are", "were", "have", "do"})
_NEGATING: Final = frozenset({"not", "never", "hardly", "rarely", "seldom", "scarcely", "only", "cannot", "no"})
_OWNING: Final = ARTICLES | {"his", "her", "its", "their", "our", "my", "your", "to"}
"""Words after which no verb stands."""

_PAIRING: Final = frozenset({"both", "between", "either", "neither"})
_MOVING: Final = frozenset(
    "died moved lived worked served remained went came grew rose fell arrived appeared returned retired debuted"
    " premiered played began started competed studied graduated starred performed participated continued lasted"
    " emerged resigned won joined married became ran stayed signed attended entered".split()
)
"""Pasts that after "was born in" are no participles."""

_GIVING: Final = frozenset(
    "assigned given awarded named called elected appointed granted offered sent paid shown taught declared made".split()
)
_JOINING: Final = frozenset({"and", "or", "each", "with", "which", "such", "including", "but", "as", "so"})
_GOVERNING: Final = frozenset({"across", "within", "throughout", "around", "like", "including"})
_LIMITING: Final = frozenset(
    {"if", "unless", "only", "without", "neither", "either", "nor", "denied", "denies", "deny"}
)


def split(text: str, grammar: Grammar) -> list[tuple[str, float]]:
    """A sentence's clauses, each a sentence of its own, with how sure its form is; itself where it stays whole."""
    words = text.split()
    if not 6 <= len(words) <= _LONGEST or _UNCLEAR.search(text):
        return [(text, WHOLE)]
    inserted = _relative(words, grammar)
    if inserted:
        return inserted
    clauses = _clauses(words, grammar)
    if len(clauses) > 1 and all(_stands(piece, clauses[0][0], grammar) for piece, _ in clauses):
        return clauses
    items = [] if clauses else _enumeration(words, grammar)
    return items or [(text, WHOLE)]


def _stands(piece: str, first: str, grammar: Grammar) -> bool:
    """Whether a clause is a sentence: a statement, or an instruction where the first one is one, too."""
    words = piece.split()
    low = plain(words[0])
    if low in grammar.prepositions or low.endswith("ing"):
        comma = next((i for i, word in enumerate(words[:-3]) if word.endswith(",")), -1)
        words = _begun(words[comma + 1 :])
    at = len(subject_of(" ".join(words), grammar).split())
    if at and not (is_past(plain(words[at])) and plain(words[min(at + 1, len(words) - 1)]) == "by"):
        return True
    if low not in OPENING and (low == "there" or is_auxiliary(low.replace("\u2019", "'")) or _subject(words, grammar)):
        return True
    return states(piece) or purposeful(words) or (imperative(words) and imperative(first.split()))


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words).rstrip(" ,;")
    return text if text.endswith((".", "!")) else text + "."


def _relative(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """``X, which A, B`` as ``X A`` and ``X B``, where X begins the sentence and B begins with a verb."""
    for i in range(1, min(7, len(words) - 2)):
        if plain(words[i]) in grammar.relatives and words[i - 1].endswith(","):
            head = " ".join((*words[: i - 1], words[i - 1].rstrip(","))).split()
            if not head or unfit(head, grammar) or any(is_verb(plain(word), grammar) for word in head):
                return []
            ends = [j for j in range(i + 2, len(words) - 1)
                    if words[j - 1].endswith(",") and is_verb(plain(words[j]), grammar)]  # fmt: skip
            if len(ends) != 1 or not is_verb(plain(words[i + 1]), grammar) or not _acts(words[ends[0] :], grammar):
                return []  # "who sang, danced, and acted, was": which of them is the sentence's is not clear
            first, rest = words[i + 1 : ends[0]], words[ends[0] :]
            return [(_sentence([*head, *rest]), CLAUSE), (_sentence([*head, *first]), SUPPLIED)]
    return []


def _acts(words: Sequence[str], grammar: Grammar) -> bool:
    """Whether words begin with a verb: one of the grammar's, or a past that is no adjective."""
    low, after = plain(words[0]), plain(words[1])
    objects = grammar.prepositions | ARTICLES | {"his", "her", "not", "only"}
    return low in grammar.verbs or (is_verb(low, grammar) and after in objects)


def _clauses(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """Coordinated clauses; one that begins with its verb is given the subject of the first."""
    subject = subject_of(" ".join(words), grammar).split()
    scoped = bool(_CONDITIONAL.match(" ".join(words[:12])))
    pieces: list[tuple[list[str], float]] = []
    clause, start, sure = list[str](), 0, CLAUSE
    for i, word in enumerate(words):
        semicolon = i > start and words[i - 1].endswith(";")
        joint = plain(word) in grammar.coordinators and i > start + 1 and i + 2 < len(words)
        if not (joint or semicolon):
            continue
        said = [*clause, *words[start:i]]
        link, rest = (plain(word), words[i + 1 :]) if joint else (";", words[i:])
        if semicolon:
            link = ";"
        own = _owns(said, link, rest, grammar, scoped=scoped)
        before = None if own or scoped else _shared(said, rest, subject, grammar)
        if own or before:
            pieces.append((said, sure))
            start, clause, sure = len(words) - len(rest), before or [], CLAUSE if own else SUPPLIED
            subject = subject_of(_sentence(_begun(rest)), grammar).split() if own else subject
    if not pieces:
        return []
    pieces.append(([*clause, *words[start:]], sure))
    done = [(_sentence(_begun(piece)), confidence) for piece, confidence in pieces]
    for i, (text, confidence) in enumerate(done[1:], 1):
        resolved = resolved_by(text, done[i - 1][0], grammar)
        done[i] = (resolved, confidence if resolved == text else SUPPLIED)
    return done


def _begun(words: Sequence[str]) -> list[str]:
    return [words[0][:1].upper() + words[0][1:], *words[1:]]


def _owns(said: list[str], link: str, rest: list[str], grammar: Grammar, *, scoped: bool) -> bool:
    """Whether a clause with a subject of its own begins, which is asserted whatever was said before it."""
    lows, low = [plain(word) for word in said], plain(rest[0])
    loose = said[-1].endswith((",", ";"))
    if len(rest) < 2 or not (any(is_verb(one, grammar) for one in lows[1:]) or imperative(said)):
        return False
    if low in OPENING:
        free = plain(said[0]) in OPENING if scoped else link in {"but", ";"} or not _told(said, grammar)
        return loose and free and low in _ADDING and _follows(rest, grammar)
    if link == ";":
        return not scoped and _subject(rest, grammar)
    if scoped or "not only" in " ".join(lows) or (link in {"while", "whereas"} and not loose):
        return False
    if not (link == "but" and loose) and (_told(said, grammar) or _conditioned(said)):
        return False
    if (link == "and" and imperative(said)) or _qualified(rest):
        return False
    if not loose and (_opened(said) or set(lows[1:]) & _PAIRING or _conditioned(rest)):
        return False
    if not loose and not _marked(said, rest, grammar):
        return False
    return _subject(rest, grammar)


def _follows(rest: list[str], grammar: Grammar) -> bool:
    """Whether a statement or an instruction comes after a clause that ends with a comma."""
    after = (rest[i + 1 :] for i, word in enumerate(rest[:-3]) if word.endswith(","))
    return any(_subject(one, grammar) or imperative(one) for one in after)


def _marked(said: list[str], rest: list[str], grammar: Grammar) -> bool:
    """Whether a subject shows without a comma before it: a pronoun, or a name that does not go on from one before."""
    low = plain(rest[0])
    if low in grammar.pronouns or rest[0] == "I":
        return True
    verb = next((i for i, word in enumerate(rest[:6]) if plain(word) in grammar.verbs), 0)
    return verb > 0 and all(word[:1].isupper() for word in rest[:verb]) and not said[-1][:1].isupper()


def _subject(rest: list[str], grammar: Grammar) -> bool:
    """Whether a few words without preposition or comma are followed by a verb that can only be theirs."""
    known = verbs()
    lows = [plain(word) for word in rest[:7]]
    if not lows or lows[0] in {"not", "nor", "or", "than"} | grammar.prepositions | known.auxiliaries:
        return False
    nothing = lows[0] in known.adverbs  # "now is" has no subject
    for i in range(1, len(lows) - 1):
        low, before, after = lows[i], lows[i - 1], lows[i + 1]
        if rest[i - 1].endswith((",", ";")) or low in grammar.coordinators | grammar.prepositions | OPENING:
            return False
        if low in grammar.verbs and before not in _OWNING and after != "of" and not (nothing and i == 1):
            alone = i == 1 and rest[0][:1].isupper() and rest[0] != "I" and not is_plural(lows[0])
            if alone and low in _PLURAL and lows[0] not in grammar.pronouns | {"we", "you", "these", "those", "others"}:
                return False  # "the king and Parliament were": no clause begins with Parliament
            known_subject = lows[0] in grammar.pronouns or rest[0] == "I"
            if not is_past(low) or low in _MOVING or known_subject or after in known.determiners:
                return True
            if rest[i + 1][:1].isupper() or after[:1].isdigit():
                return True  # "Bob sold 5 cars"; but "the test set will be" and "cars sold in Europe are" go on
    return False


def _told(said: list[str], grammar: Grammar) -> bool:
    """Whether a clause tells what somebody says, thinks or finds, so that what follows may be of that, too."""
    lows = [plain(word) for word in said]
    known = verbs()
    for i in range(1, len(said)):
        before = lows[i - 1]
        if lows[i] == "that" and before not in _NOTING:
            after = lows[i + 1] if i + 1 < len(said) else ""
            if not (is_verb(after, grammar) or after in known.base):
                return True  # "cars that burn oil" goes on with its verb
        if lows[i] in _SAYING and said[i][:1].islower() and before not in known.determiners | known.prepositions:
            listing = any(word.endswith(",") for word in said[i:-1])
            if listing or any(is_verb(low, grammar) for low in lows[i + 1 :]):
                return True  # "said Anna was late", "showed age, sex, and income are": a clause without "that"
    return False


def _opened(said: list[str]) -> bool:
    """Whether a clause within another one may go on; ``since 1999`` is none."""
    lows = [*(plain(word) for word in said), ""]
    return any(
        lows[i] in OPENING and not (lows[i + 1][:1].isdigit() or lows[i + 1] in TIMES) for i in range(1, len(said))
    )


def _conditioned(said: list[str]) -> bool:
    """Whether a condition stands within a clause; ``1521, when`` only adds to it."""
    lows = [plain(word) for word in said]
    return any(
        lows[i] in _CONDITIONS and not (lows[i] == "when" and said[i - 1].endswith(",")) for i in range(1, len(lows))
    )


def _qualified(rest: list[str]) -> bool:
    """Whether a condition comes after all, set off by a comma: ``A, and B, if C``."""
    return any(plain(word) in {"if", "unless", "provided"} and rest[i].endswith(",") for i, word in enumerate(rest[1:]))


def _shared(said: list[str], rest: list[str], subject: list[str], grammar: Grammar) -> list[str] | None:
    """What a clause that begins with its verb shares with the one before: a subject, perhaps with "is"; or nothing."""
    lows, low = [plain(word) for word in said], plain(rest[0])
    after = plain(rest[1]) if len(rest) > 1 else ""
    known = verbs()
    at = len(subject)
    if not 0 < at < len(said) or not after or lows[0] in UNSHARED:
        return None
    noun = low.endswith("s") and low not in known.auxiliaries and is_plural(lows[-1]) and after in grammar.prepositions
    if not _acts(rest, grammar) or noun or _opened(said) or _told(said, grammar):
        return None
    joined = (i for i in range(at + 1, len(said)) if lows[i] in grammar.coordinators)
    if is_auxiliary(lows[-1]) or any(_subject([*said[i + 1 :], *rest], grammar) for i in joined):
        return None  # "A are, and will be, B"; "A is small but B costs more and is": of B
    loose = said[-1].endswith((",", ";"))
    if not loose and (set(lows) & {"never", "hardly", "rarely", "seldom", "either", "neither"} or _conditioned(rest)):
        return None
    if "not only" in " ".join(lows) or not _agrees(lows[at:], low, is_plural(lows[at - 1])):
        return None
    later = lows[at + 1 :]
    if is_past(lows[at]) and any(
        is_verb(word, grammar) and one not in known.determiners for one, word in zip(lows[at:], later, strict=False)
    ):
        return None  # "the oven built by Raytheon weighed": the subject is more than "the oven"
    if not is_past(low) or low in known.sure:
        return subject
    return _with_group(said, rest, subject)


def _agrees(lows: list[str], second: str, plural: bool) -> bool:
    """Whether two verbs can have one subject, by their number and form; the first begins ``lows``."""
    first, known = lows[0], verbs()
    if {first, second} & _PLURAL and {first, second} & _SINGULAR:
        return False
    if second in known.auxiliaries - _PLURAL or second not in known.base | _PLURAL or is_past(second):
        return True
    helped = first in known.auxiliaries - _BE - {"has", "have", "had"} or "to" in lows
    return second in {"are", "were"} or (plural and not helped)  # "can sing and become": the second needs the "can"


def _with_group(said: list[str], rest: list[str], subject: list[str]) -> list[str] | None:
    """The subject of a past or, where that is a participle, with the form of "be" that it shares; None in doubt."""
    lows, low, after = [plain(word).replace("\u2019", "'") for word in said], plain(rest[0]), plain(rest[1])
    known = verbs()
    end = len(subject)
    while end < len(lows) and (is_auxiliary(lows[end]) or lows[end] in known.adverbs | _BE or lows[end].endswith("ly")):
        end += 1
    group = said[len(subject) : end]
    small = lows[len(subject) : end]
    if not any(is_auxiliary(word) for word in small):
        return subject
    if not set(small) & _BE or set(small) & _NEGATING or any(word.endswith("n't") for word in small):
        return None
    told = {"was", "were"} & set(small)
    by = after == "by"
    if told and not by and low not in _GIVING:
        named = rest[1][:1].isupper() and after not in TIMES
        if after in known.determiners or named or after[:1].isdigit() or low in _MOVING:
            return subject
    inner = lows[end + 1 :]
    hanging = any(is_past(word) or word.endswith("ing") for word in inner) or any("," in word for word in said[:-1])
    if end >= len(lows) - 1 or hanging or (not is_past(lows[end]) and not by):
        return None  # "is owned and operated by": one agent for both; "was late and studied law" has no "was studied"
    if not by and (told or low in _MOVING or after not in known.prepositions | known.determiners):
        return None
    return [*subject, *(word for word in group if plain(word) in known.auxiliaries | _BE)]


def _enumeration(words: list[str], grammar: Grammar) -> list[tuple[str, float]]:
    """``X include A, B, and C`` as three claims, if the items are short and there are at least three."""
    comma = next((i for i, word in enumerate(words) if word.endswith((",", ";", ":"))), 0)
    lows = [plain(word) for word in words[: comma + 1]]
    verb = max((i for i, low in enumerate(lows[:12]) if low in grammar.enumerating and i), default=0)
    if not 0 < verb < len(words) - 3 or _CONDITIONAL.match(" ".join(words[:12])):
        return []
    before = lows[verb - 2 if lows[verb - 1] in verbs().auxiliaries | verbs().adverbs else verb - 1]
    if set(lows[:verb]) & (_LIMITING | _NEGATING) or before in OPENING or any("n't" in low for low in lows[:verb]):
        return []  # "a box that contains A, B, and C" is one box; "not A, B, and C" may be some of them
    items = [item.strip(" .") for item in " ".join(words[verb + 1 :]).split(", ")]
    joining, _, last = items[-1].partition(" ")
    if len(items) < 3 or joining not in {"and", "or"} or not last:
        return []
    if joining == "or" and lows[verb - 1] not in {"can", "may", "could", "might"}:
        return []
    items[-1] = last
    if any(_unlike(item, grammar) for item in items) or _leads(items, grammar):
        return []
    return [(_sentence([*words[: verb + 1], item]), CLAUSE) for item in items]


def _unlike(item: str, grammar: Grammar) -> bool:
    """Whether a stretch between commas is no item of a list: empty, long, or with a verb of its own."""
    lows = [plain(word) for word in item.split()]
    if not 0 < len(lows) <= 8 or lows[0] in _JOINING or item in {"more", "others"}:
        return True
    acts = len(lows) > 1 and (lows[0] in grammar.verbs or lows[0] in verbs().third | verbs().sure)
    acts = acts or (len(lows) > 1 and is_past(lows[0]) and lows[1] in grammar.prepositions | ARTICLES)
    joined = next((i for i, low in enumerate(lows) if low in {"and", "but", "or"}), len(lows))
    late = any(low in verbs().auxiliaries or low in grammar.verbs for low in lows[joined + 1 :])
    return acts or late or _conditioned(lows)


def _leads(items: list[str], grammar: Grammar) -> bool:
    """Whether a word of the first item may belong to the others, too: ``people from Ohio, Texas, and Maine``."""
    first, second = (
        any(plain(word) in _GOVERNING | grammar.prepositions for word in item.split()[1:-1]) for item in items[:2]
    )
    if (
        items[0].startswith("the ")
        and items[0].count(" ") == 1
        and not any(item.startswith("the ") for item in items[1:])
    ):
        return True  # "the sales, finance, and research departments"
    return first and not second
