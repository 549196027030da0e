"""The nuggets of an answer: its claims, taken apart further where that is safe, put shortly, none said twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ragstone.judges.embedded.abstaining import abstains
from ragstone.judges.embedded.claims import Claim, clean
from ragstone.judges.embedded.clauses import CLAUSE, SUPPLIED, WHOLE, split
from ragstone.judges.embedded.grammar import Grammar, grammar_of
from ragstone.judges.embedded.mentions import resolved, subject_of
from ragstone.judges.embedded.trivial import triviality
from ragstone.judges.embedded.verbs import LANGUAGE, imperative, plain, purposeful, states, verbs
from ragstone.judges.embedded.wording import Senses, put, sense_of, without_abbreviations
from ragstone.segment import SAMPLE, language_of, sentences

LONGEST: Final = 400
"""Words beyond which a sentence is not taken apart."""

_BEFORE: Final = 2000
"""Characters of the text before that are looked at for what a pronoun refers to."""


def of_answer(texts: Sequence[str], before: str, known: Sequence[str], most: int) -> list[Claim]:
    """The nuggets of neighbouring sentences that ``known`` does not hold, in order, each once.

    ``most`` limits known and new ones together; 0 is no limit.
    """
    language = language_of(" ".join(texts)[:SAMPLE])
    held = Senses(language, known)
    found: list[Claim] = []
    for nugget in _nuggets(texts, before, language):
        if most and len(known) + len(found) >= most:
            break
        sense = sense_of(nugget.text, language)
        if sense.stems | sense.numbers and not held.hold(sense):
            held.add(sense)
            found.append(nugget)
    return found


def _nuggets(texts: Sequence[str], before: str, language: str) -> Iterator[Claim]:
    grammar = nugget_grammar(language)
    last = _last(before, language) if grammar else ""
    subject = subject_of(last) if last else ""
    for number, text in enumerate(texts):
        if triviality(text, language) or text.rstrip("*_ \"'").endswith(("?", "\uff1f")):
            continue
        bare = put(text, language) or clean(text)
        if grammar is None:
            pieces, sure = [(bare, WHOLE)], WHOLE
        else:
            aimed = without_abbreviations(bare)
            whole = resolved(aimed, last, subject)
            last, subject = whole, subject_of(whole)
            sure = WHOLE if whole == aimed else SUPPLIED
            pieces = list(apart(whole, grammar))
        for piece, confidence in pieces:
            short = put(piece, language)
            if short and not abstains(short, language):
                yield Claim(short, number, min(sure, confidence))


def _last(text: str, language: str) -> str:
    """The last sentence of a text, as nuggets are put."""
    tail = text[-_BEFORE:]
    spans = sentences(tail, language) if tail.strip() else ()
    return without_abbreviations(put(tail[spans[-1].start : spans[-1].end], language)) if spans else ""


@lru_cache(maxsize=8)
def nugget_grammar(language: str) -> Grammar | None:
    """The grammar that claims are split by, with all the verbs whose form leaves no doubt."""
    grammar = grammar_of(language)
    if grammar is None or language != LANGUAGE:
        return grammar
    return replace(grammar, verbs=grammar.verbs | verbs().sure)


def apart(text: str, grammar: Grammar) -> Iterator[tuple[str, float]]:
    """The clauses of one sentence with how sure their form is; together they say what it says."""
    if text.count(" ") > LONGEST:
        yield text, WHOLE
        return
    apposed = _apposed(text)
    if apposed:
        yield from apart(apposed[0], grammar)
        yield apposed[1], SUPPLIED
        return
    pieces = split(text, grammar)
    supplied = any(sure == SUPPLIED for _, sure in pieces) and _subordinate(pieces[0][0])
    if supplied or (len(pieces) > 1 and not all(_stands(piece) for piece, _ in pieces)):
        pieces = [(text, WHOLE)]  # what follows "and" may belong to a clause within, not to the subject
    for piece, sure in pieces:
        head, more = _trailing(piece)
        if more:
            yield head, min(sure, CLAUSE)
            yield more, min(sure, SUPPLIED)
        else:
            yield piece, sure


def _stands(text: str) -> bool:
    words = text.split()
    asking = plain(words[0]) in {"how", "what", "why", "whether", "which", "who", "whose", "that", "where"}
    return not asking and (states(text) or imperative(words) or purposeful(words))


def _subordinate(text: str) -> bool:
    words = [plain(word) for word in text.split()]
    return any(word in {"which", "who", "that", "where", "whose", "when", "if", "because"} for word in words[1:])


def _apposed(text: str) -> tuple[str, str] | None:
    """``Name, a thing, does`` as ``Name does`` and ``Name is a thing``; None where there is no such insertion."""
    words = text.split()
    start = next((i for i in range(1, min(6, len(words))) if words[i - 1].endswith(",")), 0)
    if not start or words[start] not in {"a", "an", "the"} or not words[0][:1].isupper():
        return None
    end = next((i for i in range(start + 1, min(start + 10, len(words))) if words[i - 1].endswith(",")), 0)
    if end < start + 2 or end > len(words) - 2:
        return None
    verb, known = plain(words[end]), verbs()
    inner, subject = [plain(word) for word in words[start:end]], words[:start]
    if verb not in known.auxiliaries | known.sure or any(w in known.auxiliaries | known.subordinators for w in inner):
        return None
    if plain(subject[0]) in known.prepositions | known.subordinators | known.adverbs:
        return None
    past = verb in {"was", "were", "had", "did"} or (verb in known.sure and not verb.endswith("s"))
    name = " ".join(subject).rstrip(",")
    is_a = "was" if past else "is"
    thing = " ".join(words[start:end]).rstrip(",")
    return f"{name} {' '.join(words[end:])}", f"{name} {is_a} {thing}"


def _trailing(text: str) -> tuple[str, str]:
    """``A ... Name, who B`` as ``A ... Name`` and ``Name B``; the second is empty where there is no such clause."""
    words = text.split()
    for i in range(3, len(words) - 2):
        if plain(words[i]) not in {"who", "which"} or not words[i - 1].endswith(","):
            continue
        first = i - 1
        while first > 0 and words[first - 1][:1].isupper() and not words[first - 1].endswith((",", ";", ".")):
            first -= 1
        name = " ".join(words[first:i]).rstrip(",")
        clause = words[i + 1 :]
        if not name[:1].isupper() or first == 0 or any(word.endswith((",", ";")) for word in clause):
            return text, ""
        if plain(clause[0]) not in verbs().auxiliaries | verbs().sure:
            return text, ""
        head, told = " ".join(words[:i]).rstrip(","), " ".join((name, *clause))
        return (head, told) if states(head) and states(told) else (text, "")
    return text, ""
