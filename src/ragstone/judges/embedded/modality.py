"""Find facts that the evidence only asks, doubts, plans or calls likely, and plans that it reports as done."""

from __future__ import annotations

from typing import Final

from ragstone.judges.embedded.alignment import MOSTLY, SAME, Alignment, Clash, Line
from ragstone.judges.embedded.parsed_statement import COPULAS, SCOPE, ParsedStatement
from ragstone.judges.embedded.thesaurus import LANGUAGE, word_set
from ragstone.judges.embedded.verbs import finite
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import function_stems, listed_stems, stem_of

CARRIES: Final = 0.6  # minimum share of a statement in a sentence that asks or doubts it
_ARTICLES: Final = frozenset(("the", "a", "an"))
SHORT: Final = 40  # maximum words of a question or doubt; a longer sentence says other things too
_BE: Final = frozenset(("be", "been", "being", "to"))
_PRESENT: Final = frozenset(("is", "are", "am", "does", "do"))
_HAVING: Final = frozenset(("has", "have", "had"))
_PAST: Final = _HAVING | {"was", "were", "did"}
_BOUND: Final = frozenset(("set", "going", "due", "want", "wants", "wanted"))  # plans only before "to" and a verb
_AGREED: Final = frozenset(("agreed", "decided", "resolved", "voted"))
_SEEKING: Final = frozenset(("apply", "applies", "applied", "applying", "looking"))  # plans only before "for"
_GRANTED: Final = frozenset(("granted", "awarded"))
_OPEN: Final = frozenset(("can", "should", "must", "might", "may", "could", "would", "want", "if", "when", "able"))


def asks(text: str) -> bool:
    """Return whether a sentence is a question."""
    return text.rstrip().endswith(("?", "\uff1f", "\u061f"))


def doubted(aligned: Alignment) -> Clash | None:
    """Find a statement that the evidence only asks or doubts, unless another sentence has as much of it."""
    doubts = listed_stems("doubts", aligned.language)
    if asks(aligned.text) or not doubts.isdisjoint(aligned.stems) or not aligned.total:
        return None
    asking = word_set("asking")  # "How do I renew it?" presupposes that it can be renewed
    best: Line | None = None
    for line in aligned.lines[:4]:
        asked = (asks(line.text) and asking.isdisjoint(line.words[:4])) or any(
            _doubting(line, p) for stem in doubts for p in line.places.get(stem, ())
        )
        questionable = asked and len(line.tokens) <= SHORT
        if best is None:
            if not questionable or not aligned.carries(line, CARRIES):
                return None
            best = line
        elif not questionable and aligned.weight_in(line) >= 0.8 * aligned.weight_in(best):
            return None
    return None if best is None else aligned.whole("doubt", best)


def _doubting(line: Line, place: int) -> bool:
    """Return whether a word casts doubt on a statement rather than on a thing: "wrong or no alarms", "refute it"."""
    behind = [line.words[p] for p in line.inside(place) if place < p < place + 4]
    if not behind or "that" in behind:
        return line.word(place + 1) != "or"
    return behind[0] not in _ARTICLES and stem_of(behind[0], LANGUAGE) in function_stems(LANGUAGE)


def too_sure(aligned: Alignment) -> Clash | None:
    """Find "definitely broken" (evidence: "probably broken"), and "is always deleted" ("may be deleted")."""
    at = next((i for i, word in enumerate(aligned.words) if word in word_set("sure")), None)
    if aligned.language != LANGUAGE or at is None or not word_set("unsure").isdisjoint(aligned.words):
        return None
    for line in aligned.carriers(2):
        heads = (p for j in aligned.content if j > at for p in aligned.found(j, line)[0])
        head = next(heads, None) if word_set("sure").isdisjoint(line.words) else None
        weak = [p for p in line.inside(head) if line.words[p] in word_set("unsure")] if head is not None else []
        if weak:
            return line.clash("quantity", aligned.around(at), line.around(weak[0]))
    return None


def unrealised(aligned: Alignment) -> Clash | None:
    """Find "has built a pool" where the evidence only says that it plans, may or tries to build one, or the reverse."""
    if aligned.language != LANGUAGE or any(aligned.negated):
        return None
    future = word_set("planned") | word_set("future")
    verb, past = _asserted(aligned)
    ahead = verb < 0 or not (future | _OPEN).isdisjoint(aligned.words[: verb + 1])
    if ahead:
        planned = (j for j in aligned.content if _OPEN.isdisjoint(aligned.words) and _governed(aligned, j, future) >= 0)
        verb, past = next(planned, -1), True
    if verb < 0 and (found := _only_suggested(aligned)) is not None:
        return found
    i, known = verb, {j for j in aligned.content if any(aligned.found(j, line)[0] for line in aligned.lines)}
    if i not in known and past and not ahead:  # "has approved a pool", evidence: "plans a pool": what is done
        passive = aligned.word(i - 1) in {"was", "were", *_BE} and aligned.content[0] < i
        i = next((j for j in aligned.content if j in known and (j < i if passive else j > i)), -1)
    clash: Clash | None = None
    rest = aligned.total - aligned.weight.get(verb, 0.0)
    for line in aligned.lines if i in known else ():
        held = aligned.weight_in(line) - aligned.weight.get(verb, 0.0) * aligned.found(verb, line)[1]
        for place in aligned.found(i, line)[0]:
            by = _governed(line, place, future if past else word_set("planned"))
            foreseen = ahead and not word_set("planned").isdisjoint(line.words)  # "won, as expected"
            granted = any(line.words[k] in _GRANTED and not line.negated[k] for k in range(place, len(line.tokens)))
            if (
                foreseen
                or (granted and past and not ahead)
                or (by < 0) != ahead
                or (ahead and not _is_past(line, place))
            ):
                return None
            same = line.tokens[place].stem == aligned.stems[i] or (past and i == verb)
            if clash is None and same and held >= (SAME if i == verb else MOSTLY) * rest:
                clash = line.clash("doubt", aligned.around(i), line.around(max(by, 0) or place))
    return clash


def _only_suggested(aligned: Alignment) -> Clash | None:
    """Find "agreed to keep it" where the evidence says "suggested keeping it"."""
    agreed = next((i for i, word in enumerate(aligned.words) if word in _AGREED and aligned.word(i + 1) == "to"), -3)
    verb, clash = agreed + 2, None
    for line in aligned.lines if 0 < verb < len(aligned.tokens) and aligned.word(verb) != "be" else ():
        for place in aligned.found(verb, line)[0]:
            if (by := _governed(line, place, word_set("suggesting"))) < 0:
                return None
            clash = clash or (
                line.clash("doubt", aligned.around(agreed), line.around(by)) if aligned.carries(line, MOSTLY) else None
            )
    return clash


def _acts(side: ParsedStatement) -> list[int]:
    return finite([side.text[token.start : token.end] for token in side.tokens])


def _past(side: ParsedStatement, i: int) -> bool:
    word = side.word(i)
    return word in verbs("past") or word.endswith("ed") or (word in verbs("sure") and not word.endswith("s"))


def _is_past(line: Line, i: int) -> bool:
    """Return whether a verb is in the past: "*was* renovated", "*has* introduced", "replaced the pumps"."""
    return (
        _past(line, i)
        and line.word(i - 1) != "be"
        and (i in _acts(line) or not _PAST.isdisjoint(line.words[max(0, i - 3) : i]))
    )


def _asserted(aligned: Alignment) -> tuple[int, bool]:
    """Return the word that the first verb of a statement asserts (-1 if there is none), and whether of the past."""
    acts = _acts(aligned) or [i for i in aligned.content if i and aligned.words[i].endswith("ed")]
    at = acts[0] if acts else 0
    word, before = aligned.words[at], aligned.words[:at]
    instruction = aligned.words[0] in verbs("auxiliaries base") or verbs("adverbs").issuperset(before)
    if instruction or not {"that", "who", "which"}.isdisjoint(before):
        return -1, False
    if word not in verbs("auxiliaries"):
        return -1 if aligned.word(at + 1) == "to" else at, _past(aligned, at)  # not "agreed to join"
    light = word_set("light") | verbs("adverbs")
    behind = (i for i in aligned.content if i > at and aligned.words[i] not in light)
    i = next(behind, -1) if aligned.word(at + 1) != "to" else -1
    done = _past(aligned, i) or aligned.word(i) in verbs("base")  # "has cut"
    return i, word in _PAST and (word not in _HAVING or done)


def _governed(side: ParsedStatement, i: int, governing: frozenset[str]) -> int:
    """Return the word that makes another one a plan ("*plans* to build", "a pool is *proposed*"), or -1."""
    if side.word(i - 1) == "to" and word_set("future") <= governing:  # "expects repairs *to begin*"
        asked = (k for k in range(i - 2, max(-1, i - SCOPE), -1) if side.clauses[k] == side.clauses[i])
        at = next((k for k in asked if side.words[k] in word_set("wishing")), -1)
        if at >= 0:
            return at
    linking, small = word_set("light") | verbs("adverbs determiners prepositions") | _BE, function_stems(LANGUAGE)
    for reach in (range(i - 1, -1, -1), range(i + 1, len(side.tokens))):
        open_ = reach.step < 0
        for k in reach[:SCOPE]:
            word, before, after = side.words[k], side.word(k - 1), side.word(k + 1)
            if side.clauses[k] != side.clauses[i]:
                break
            if word in governing or (word in COPULAS and side.words[k + 1 : k + 3] == ["to", "be"]):
                named = before in verbs("determiners") and after not in verbs("prepositions")  # "the planned bridge"
                acting = after == "to" and side.word(k + 2) in verbs("base auxiliaries") | _BE
                bound = (
                    (word in _BOUND and not acting)
                    or (word in _SEEKING and after != "for")
                    or (word == "considered" and before != "being")
                )
                return k if open_ and not named and not bound else -1
            if word in _PRESENT | _PAST and before not in governing | {"to"}:
                if open_:
                    break
                open_ = True
                continue
            bridges = word in linking or side.tokens[k].stem in small or (word.endswith("ing") and before in governing)
            if open_ and before != "to" and not bridges:
                break
    return -1
