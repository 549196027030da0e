"""Strip the framing of statements, complete short answers, and recognise sentences that state nothing.

Greetings, headings, announcements, questions to the user, and sentences that only say that there is no answer are
trivial. The rules are conservative: long sentences and those with a number state something. So do those with a name,
except for "I don't know who A was" and headings that are titles ("History of the Roman Empire"). A heading with a verb
states something (in English, where verbs are known), and so does other text after a courtesy and a comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragstone.judges.embedded.abstaining import ENGLISH, UNSPACED, Abstention, abstention, begins_ignorant, leads, names
from ragstone.judges.embedded.model import CONTENT, weigher
from ragstone.judges.embedded.verbs import finite, imperative, is_auxiliary, listed, plain, states
from ragstone.judges.embedded.words import (
    NAME,
    NEGATION,
    NUMBER,
    Token,
    function_stems,
    lexicon,
    listed_phrases,
    listed_stems,
    listed_words,
    pronouns,
    stem_of,
    tokens_of,
)
from ragstone.segment import FUNCTION_WORDS, language_of, sentences

MARKED: Final = 12  # maximum characters of the marker of the next item, with space
FARTHEST: Final = 120  # maximum characters of a lead-in
SHORT: Final = 4  # minimum content words of an answer that needs no question
BRIEF: Final = 400  # ... characters beyond which an answer is assumed to have that many
MARK: Final = re.compile(r"\s*(?:>\s+|[-*+\u2022\u2013]\s+|\(?\d{1,3}[.)]\s+|\(?[a-z]\)\s+)")
_NEXT: Final = re.compile(r"\s+\(?\d{1,3}[.)]\s*$")  # the marker of the next item: "Turn it on. 2."
_CITED: Final = r"(?:[A-Za-z]{1,10}[ _:#.-]?)?\d{1,4}"
_CITATIONS: Final = re.compile(
    rf"\s?(?:\[\s?\^?{_CITED}(?:\s?[,;\u2013-]\s?{_CITED}){{0,20}}\s?\]|\u3010[^\u3011\n]{{1,40}}\u3011)"
)
_THAT: Final = r"\s(?:that|that's|dass|da\u00df|que|che|\u0447\u0442\u043e|dat|\u017ce)\s"
_JOINT: Final = re.compile(rf"[,:\uff0c\uff1a\u3001]\s*(?=\S)|{_THAT}(?=\S)|!\s+(?=\S)", re.IGNORECASE)
_ADVICE: Final = re.compile(
    r"(?:(?:please|also|additionally|finally|lastly|however),?\s)?"
    r"(?:it(?:['\u2019]s|\s(?:is|should\sbe))\s(?:also\s)?"
    r"(?:(?:important|essential|crucial|helpful|useful|interesting|worth)\s)?(?:to\s)?)?"
    r"(?:remember|not(?:e|ed|ing)|mentioning|make sure|be sure|don['\u2019]t forget|keep in mind)\s(?:to|that),?\s",
    re.IGNORECASE,
)
_BREAKS: Final = " \t\n,.;:!\uff0c\u3002\u3001-\u2013"
_CALL: Final = re.compile(r"^\w{2,6}[,!]\s+")  # "Hey, did you know"
_ASIDE: Final = re.compile(r",[^,?]{1,30},")
_ASKED: Final = re.compile(r"\s*(?:\u5417|\u55ce|\u304b)?\s*[?\uff1f]\s*$")


def unmarked(text: str) -> str:
    """Return a sentence without its list marker and that of the next item, unless nothing else is left."""
    text = _without_next(text)
    mark = MARK.match(text)
    return text[mark.end() :] if mark and text[mark.end() :].strip() else text


def _without_next(text: str) -> str:
    """Return a sentence without the marker of the next item: "Here are the steps: 1.", but not "See Fig. 3."."""
    after = _NEXT.search(text[-MARKED:])
    if after is None:
        return text
    at = len(text) - len(text[-MARKED:]) + after.start()
    language = language_of(text)
    announced = text[at - 1] == ":" and any(
        one in text.lower() for one in listed_phrases("announcements", language, ENGLISH)
    )
    return text[:at] if announced or len(sentences(text, language)) > len(sentences(text[:at], language)) else text


def stated(text: str, language: str) -> str:
    """Return what a sentence states, or the sentence itself if nothing would be left."""
    bare = unmarked(text)
    if "[" in bare or "\u3010" in bare:
        bare = _CITATIONS.sub("", bare)
    bare = bare[_lead(bare, language) :]
    advice = _ADVICE.match(bare) if language == ENGLISH else None
    bare = bare[advice.end() :] if advice else bare
    bare = told(bare, language) or bare
    return bare if bare == text or tokens_of(bare, language) else text


def told(text: str, language: str) -> str:
    """Return the statement in "Did you know that ...?"; empty for other sentences."""
    asked = _ASKED.search(text[-80:])
    if not asked:
        return ""
    low = _CALL.sub("", text.lower().lstrip(" \u00bf"), count=1)
    phrase = next((one for one in listed_phrases("rhetorical") if low.startswith(one)), "")
    if not phrase:
        return ""
    end = len(text) - len(text[-80:]) + asked.start()
    rest = text[len(text) - len(low) + len(phrase) : end]
    aside = _ASIDE.match(rest)
    rest = " " + (rest[aside.end() :] if aside else rest).lstrip(" ,")
    that = re.match(_THAT, rest, re.IGNORECASE)
    rest = rest[that.end() :] if that else rest.strip()
    if not that and (_asks(rest) or not (states(rest) if language == ENGLISH else UNSPACED.search(rest))):
        return ""
    return rest + "."


def _asks(text: str) -> bool:
    """Return whether text begins with a question word, or, in languages without spaces, contains one."""
    if UNSPACED.search(text):
        return any(word in text for word in listed_words("asking") if UNSPACED.search(word))
    return text.lower().strip(" \u00bf").partition(" ")[0] in listed_words("asking")


def _lead(text: str, language: str) -> int:
    """Return where the statement begins after "Based on the context, the answer is:" or the like; else 0.

    A lead-in has only framing words, so no content is lost.
    """
    found = 0
    for joint in _JOINT.finditer(text[:FARTHEST]):
        head = text[: joint.start()]
        if not leads(head, language):
            break
        if not joint[0][0].isspace() or not leads(head.rpartition(" ")[2], language):  # not "the document that ..."
            found = joint.end()
    return found


# ---- short answers


_HELPS: Final = r"\s+(?:am|is|are|was|were|do|does|did|can|could|may|might|will|would|should|must|have|has|had)"
_ECHO: Final = re.compile(
    rf"(?:i|you|we|they|he|she|it|that|this|there|these|those){_HELPS}(?:\s?not|n['\u2019]t)?\W*\Z", re.IGNORECASE
)
"""Matches what repeats an answer: "Yes, *you can*"."""
_DOES: Final = re.compile(rf"{_HELPS}[.!]?\Z")
"""Matches a verb that stands for that of the question: "Dr. Hofer *does*"."""
_PERMITTED: Final = re.compile(r"\W*(?:can|could|may)\b", re.IGNORECASE)
_DEGREE: Final = re.compile(
    r"\bhow\s+(?!(?:do|does|did|is|are|was|were|can|could|should|would|will|must|may|has|have|had|to|the|an?|i|you|we|my)\b)"
    r"[a-z]+",
    re.IGNORECASE,
)
"""Matches the measure that a question asks for, of which passages only have the value: "how fast"."""
_SUBJECTS: Final = frozenset(("it", "they", "he", "she"))
_NO_SUBJECT: Final = listed("prepositions") | {"not", "yes", "no"}
_OTHERS: Final = pronouns(ENGLISH) | listed_words("selves", ENGLISH) | {"you", "there", "this", "that"}
_ENDS_SUBJECT: Final = (listed("base past third") - listed("nominal")) | (listed("prepositions") - {"of"})
_OBJECTS: Final = frozenset(("it", "them", "him", "her"))
SPOKEN: Final = 12  # maximum words of an answer that is completed from its question
_STAND_FOR: Final = frozenset(("it", "they", "its", "their", "it's", "they're"))


def restated(question: str, answer: str, language: str, *, whole: bool = True) -> str:
    """Return the text to look up: the answer, completed from the question if too short.

    "Paris." to "What is the capital of France?" becomes "capital France: Paris." "Yes" becomes the content words of a
    yes-no question, and "No" their negation. ``whole``: whether an English answer may become a sentence.
    """
    bare = answer.strip()
    if len(bare) > BRIEF or not question:
        return answer
    said, end = _yes_or_no(bare, language)
    rest = _ECHO.sub("", bare[end:].lstrip(_BREAKS)) if said else _DOES.sub("", bare)
    content = _content(rest, language) or ([] if said else tokens_of(rest, language))
    words = rest.split()
    stands_for = bool(words) and words[0].lower() in _STAND_FOR  # "It is five years."
    acts = language == ENGLISH and bool(imperative(words) or finite(words))
    brief = whole and language == ENGLISH and 0 < len(words) <= SPOKEN and MARK.match(bare) is None
    if brief and (sentence := _completed(question, words)):
        return sentence
    counted = len(content) - (0 if acts else sum(word.lower() in {"a", "an"} for word in words))  # "an hour and a half"
    if counted >= SHORT or (content and acts and not (stands_for and _asks(question))):
        return answer
    numbered = said == "no" and any(token.kind == NUMBER for token in content)  # "No, in 1991."
    kept = _asked_about(question, language, numbers=not (numbered or stands_for))
    if not kept or not (content or (said and not _asks(question))):
        return answer
    if content or said == "yes":
        kept = f"can {kept}" if language == ENGLISH and _PERMITTED.match(question) else kept
        return f"{kept}: {' '.join(words[stands_for:])}" if content else kept
    denials = lexicon()["negation_marks"].get(language, "") or lexicon()["negations"].get(language, "not").split()
    return f"{denials[0]} {kept}"


def _completed(question: str, answer: Sequence[str]) -> str:
    """Return an English answer as a sentence with the question's subject or predicate; empty if neither fits.

    "It is open daily" gets the subject, "Bus 14" the predicate of "Which bus goes to the airport?".
    """
    asked = question.strip().rstrip("?").split()
    lows, said = ([plain(word) for word in some] for some in (asked, answer))
    stems = {stem_of(word, ENGLISH) for word in said}
    helps = next((i for i, low in enumerate(lows[:4]) if is_auxiliary(low)), None)
    if said[0] in _SUBJECTS:
        begin = len(lows) if helps is None or (helps and not _asks(lows[0])) else helps + 1
        repeated = (i for i in range(begin, len(lows)) if stem_of(lows[i], ENGLISH) in stems)
        ending = listed("base past third") if helps == 0 else _ENDS_SUBJECT
        ends = [*repeated, *(i for i in range(begin + 1, len(lows)) if lows[i] in ending)]
        # "Is the lens waterproof?": no list knows where the subject ends
        subject = lows[begin : min(ends, default=begin if helps == 0 else len(lows))]
        named = subject and not listed("determiners").issuperset(subject) and _OTHERS.isdisjoint(subject)
        return " ".join((*asked[begin : begin + len(subject)], *answer[1:])) if named else ""
    repeats = said[-1] in _OBJECTS and not stems.isdisjoint(stem_of(low, ENGLISH) for low in lows[1:4])
    answer = answer[:-2] if repeats else answer  # "Dr. Hofer leads it"
    if lows[:1] not in (["who"], ["what"], ["which"]) or not 0 < len(answer) <= SHORT or said[0] in _NO_SUBJECT:
        return ""
    verb = helps if helps is not None else 1 if lows[0] != "which" else next(iter(finite(asked[:5])), len(lows))
    whose = (
        verb >= len(lows) or lows[verb] in {"do", "does", "did"} or not _OTHERS.isdisjoint(lows[verb + 1 : verb + 2])
    )
    clause = not repeats and (imperative(answer) or finite(answer))
    return "" if whose or clause else " ".join((*answer[:-1], answer[-1].rstrip("."), *asked[verb:]))


def _yes_or_no(answer: str, language: str) -> tuple[str, int]:
    """Return "yes" or "no" if an answer begins so (else empty), and where that word ends."""
    low = answer.lower()
    for kind in ("yes", "no"):
        begun = (word for word in listed_words(kind, language, ENGLISH) if low.startswith(word))
        ended = (word for word in begun if UNSPACED.search(word) or not low[len(word) : len(word) + 1].isalnum())
        word = max(ended, key=len, default="")
        if word:
            return kind, len(word)
    return "", 0


def _content(text: str, language: str) -> list[Token]:
    empty = function_stems(language) | listed_stems("question_words", language)
    return [token for token in tokens_of(text, language) if token.kind != NEGATION and token.stem not in empty]


def _asked_about(question: str, language: str, *, numbers: bool) -> str:
    if UNSPACED.search(question):
        for word in sorted(filter(UNSPACED.match, listed_words("asking")), key=lambda word: (-len(word), word)):
            question = question.replace(word, " ")
        return " ".join(question.strip(_BREAKS + "?\uff1f").split())
    question = _DEGREE.sub(" ", question) if language == ENGLISH else question
    weight = weigher(language)
    own = pronouns(language) | listed_stems("selves", language)
    words = [token for token in _content(question, language) if numbers or token.kind != NUMBER]
    kept = [question[one.start : one.end] for one in words if one.stem not in own]
    return " ".join(word for word in kept if weight(word.lower()) >= CONTENT and not _asks(word))


_ENDS: Final = (
    " \t\r\n\u00a0\u00a1\u00bf#*_`>~-\u2013\u2014\u2022.!,:;\u060c\u061f"
    "\u2026\u3002\uff01\uff0c\uff1a()[]\"'\u00ab\u00bb\u201c\u201d"
)
_CITATION: Final = re.compile(r"\[[^\[\]\n]{1,24}\]")
NO_ANSWER: Final = "says that there is no answer"
_IGNORANT: Final = 16  # maximum words of a sentence that only says that the speaker does not know something
_LONGEST: Final = 30  # maximum words of a trivial sentence
_HEADING: Final = 12  # maximum words of a heading
_LABEL: Final = 3  # maximum words of a heading that is a label even with a name: "The Roman Empire"
_ALTERNATIVE: Final = 5
"""Maximum words of each of several offers: "let me know if you need help with setup, cleaning, or storage"."""

_ASKING: Final = frozenset({"what", "which", "who", "whom", "whose", "where", "when", "why", "how", "if", "whether"})
_POINTING: Final = re.compile(
    r"for (?:more|further) (?:information|details|help),? (?:please |you can |you may )?"
    r"(?:visit|see|contact|refer to|consult)\b"
)
_PIECE: Final = re.compile(r"[^!.,;]*\w[^!.,;]*")
_PAUSE: Final = re.compile(r"[,;:.!?](?=\s)|[\uff0c\uff1b\u3002\uff01\uff1f]|\s[-\u2013]\s|\u2014")
_JOINER: Final = re.compile(r"(?:(?:and|or|so|but|then|please|just|also|und|et|y|e|и)\s+)*")


def _unanswering(parts: Abstention, tokens: Sequence[Token], language: str) -> bool:
    """Return whether an abstention states nothing else; a short "I don't know who A was" states nothing."""
    if names(parts.besides, language):
        return False
    if not names(parts.topic, language):
        return True
    short = len(tokens) <= _IGNORANT and not any(token.kind == NUMBER for token in tokens)
    return parts.personal and short and begins_ignorant(parts.topic)


def _courteous(plain: str, language: str) -> bool:
    """Return whether a sentence begins with a courtesy and contains nothing else."""
    starts = listed_phrases("trivial_starts")  # in all languages, as that of a sentence is uncertain
    start = max((phrase for phrase in starts if plain.startswith(phrase)), key=len, default="")
    _, *more = (piece.strip(_ENDS) for piece in _PAUSE.split(plain[len(start) :]))
    if len(more) > 1 and more[-1].startswith("or "):
        more = [piece for piece in more if len(piece.split()) > _ALTERNATIVE]
    polite = starts + listed_phrases("courtesies", language, "en")
    return start != "" and all(
        not piece or _said(piece) or piece.startswith(polite) or _JOINER.sub("", piece, 1).startswith(polite)
        for piece in more
    )


def _said(plain: str) -> bool:
    return plain in listed_phrases("trivial")


def _stating(bare: str, tokens: Sequence[Token], language: str, *, named: bool) -> bool:
    """Return whether text formatted as a heading is a statement: it has a verb, or has a name and is not a title."""
    words = [word for raw in bare.replace("\u2019", "'").split() if (word := raw.strip(_ENDS))]
    if words[0].casefold() in _ASKING:
        return False
    if language == "en" and states(" ".join(words)):
        return True
    small = listed("prepositions determiners", language).union(FUNCTION_WORDS.get(language, ()))
    title = not any(word[0].islower() and word not in small for word in words)
    return named and len(tokens) > _LABEL and not title


def triviality(text: str, language: str) -> str:
    """Return in a few words why a sentence states nothing; empty if it may state something."""
    if len(text) > 400:
        return ""
    bare = _CITATION.sub(" ", text).strip()
    tokens = tokens_of(MARK.sub("", bare, 1), language)
    if not tokens or not any(c.isalpha() for c in bare):
        return "" if any(token.kind == NUMBER for token in tokens) else "no words"
    parts = abstention(bare, language)
    if parts is not None and _unanswering(parts, tokens, language):
        return NO_ANSWER
    if len(tokens) > _LONGEST:
        return ""
    plain = " ".join(bare.replace("\u2019", "'").casefold().strip(_ENDS).split())
    if _said(plain.replace(",", "")) or all(_said(piece.strip(_ENDS)) for piece in _PIECE.findall(plain)):
        return "greeting or label"
    if any(token.kind == NUMBER for token in tokens):
        return ""
    named = any(token.kind == NAME and len(token.stem) > 1 for token in tokens)  # "I" and "I'm" are not names
    if _POINTING.match(plain) or (not named and _courteous(plain, language)):
        return "courtesy"
    end = bare.rstrip("*_ ")[-1:]
    heading = bare.startswith("#") or (bare.startswith("**") and bare.endswith(("**", "**:")))
    heading = heading and len(tokens) <= _HEADING and end not in ".!?\u3002"
    if heading and not _stating(bare, tokens, language, named=named):
        return "heading"
    if end not in "?\uff1f" and leads(bare, language):
        return "lead-in"
    if end in ":\uff1a":
        announced = (
            len(tokens) <= 4
            or (language == "en" and plain.startswith("to ") and not states(plain))
            or any(phrase in plain for phrase in listed_phrases("announcements", language, "en"))
        )
        return "heading of a list" if announced else ""
    if end in "?\uff1f" and (not named or "you" in plain.split()) and not told(bare, language):  # "Do you mean Rome?"
        return "question"
    return ""
