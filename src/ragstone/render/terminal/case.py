"""Draw one record: the question, the response by sentence with verdicts and evidence, the scores, and the passages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.run import unit_text
from ragstone.questions import EARLIER, history_of
from ragstone.render.excerpt import evidence_in
from ragstone.render.explanation import score_facts
from ragstone.render.facts import answered, comparable, rate
from ragstone.render.terminal.columns import columns_of, columns_of_record, methods_block
from ragstone.render.terminal.evidence import QUOTES, Grounds
from ragstone.render.terminal.nuggets import GRADED, bank_nuggets, response_nuggets
from ragstone.render.terminal.screen import DOT, Look, Page, facts, heading, indented, page, section
from ragstone.render.terminal.sentence_map import SentenceMap, TracedSentence
from ragstone.render.terminal.tables import grid, marked
from ragstone.render.text import clean, dollars, flat, middle, number, percent, plural, shorten, tokens
from ragstone.render.wording import ORDER, drawn_at, grade_said, in_response, kind_of, needs_reason, source_of, word

SHOWN: Final = 800
"""Maximum length, in characters, of earlier turns unless the record is shown in full."""


class Marked(Struct):
    """A span of the response with its verdicts: its own, those on its claims, and its trace.

    ``names`` are the scores of its verdicts, by the place where they are drawn.
    """

    start: int
    end: int
    names: Mapping[str, str]
    own: Mapping[str, Any] | None = None
    claims: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    traced: list[TracedSentence] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The kind of its own verdict, else the worst of its trace, else the worst of its claims."""
        if self.own is not None:
            return kind_of(self.own)
        kinds = {resting.kind for resting in self.traced} or {kind_of(verdict) for _, verdict in self.claims}
        return next((kind for kind in ORDER if kind in kinds), "none")

    def signs(self) -> Iterable[tuple[str, str]]:
        """Return the kind of every verdict with its label text."""
        verdicts = [(self.names["sentences"], self.own)] if self.own is not None else []
        verdicts += [(self.names["claims"], verdict) for _, verdict in self.claims]
        verdicts += [(self.names["map"], resting.verdict) for resting in self.traced]
        return ((kind_of(verdict), word(metric, verdict)) for metric, verdict in verdicts)


def case(result: Mapping[str, Any], total: int, run: int, look: Look, *, full: bool = False) -> Page:
    """Return the whole screen of one record; ``full`` omits nothing."""
    title = heading(result["id"], look, f"record {number(result['position'])} of {number(total)}", f"run {run}")
    if "set_aside" in result:
        reason = Text(clean(result["set_aside"]), overflow="fold")
        return page(title, section("Unreadable", indented(reason)))
    drawing = _Drawing(result, look, full)
    return page(
        title,
        drawing.history(),
        drawing.text("Question", result["question"]),
        drawing.response(),
        *(drawing.map.standing_out() if drawing.map else ()),
        drawing.off_topic(),
        response_nuggets(result, drawing.grounds),
        bank_nuggets(result, drawing.grounds),
        drawing.scores(),
        drawing.repeats(),
        methods_block(result["methods"]) if comparable(result) else None,
        drawing.contexts(),
        drawing.text("Reference", result["reference"]) if result["reference"] else None,
        drawing.footer(),
    )


class _Drawing:
    def __init__(self, result: Mapping[str, Any], look: Look, full: bool) -> None:
        self.result = result
        self.look = look
        self.full = full
        self.units: dict[str, Mapping[str, Any]] = {unit["id"]: unit for unit in result["units"]}
        judges = frozenset(judge for told in result.get("cascade", {}).values() for judge in told["answered"])
        self.grounds = Grounds(look, full, {context["id"]: context["rank"] for context in result["contexts"]}, judges)
        self.by_metric: dict[str, Mapping[str, Any]] = {score["metric"]: score for score in result["scores"]}
        self.map = SentenceMap.of(result, self.grounds)
        self.names = drawn_at(self.by_metric)
        self.kinds: set[str] = set()

    # ---- texts

    def text(self, title: str, text: str | None) -> RenderableType:
        """Return a heading with a text below it."""
        if text is None or not text.strip():
            return section(title, indented(self.grounds.aside("(none)" if text is None else "(blank)")))
        return section(title, indented(Text(clean(text).strip("\n"), overflow="fold")))

    def history(self) -> RenderableType | None:
        """Return the turns before the question, shortened unless shown in full; None if there are none."""
        most, longest = (sys.maxsize, sys.maxsize) if self.full else (SHOWN, SHOWN // 4)
        found = history_of(self.result["meta"], most, longest)
        return self.text(EARLIER, str(found)) if found else None

    # ---- the response

    def response(self) -> RenderableType:
        """Return the sentences with their marks, and the reason and evidence below those with low verdicts."""
        text = self.result["response"]
        sentences = self._marked()
        if not sentences:
            return self.text("Response", text)
        rows: list[tuple[RenderableType, RenderableType]] = []
        at = 0
        for part in sentences:
            if part.start > at and text[at : part.start].strip():
                rows.append(("", self.grounds.piece(text[at : part.start])))
            at = max(at, part.end)
            piece = self.grounds.piece(text[part.start : part.end], part.kind)
            rows.append((self._mark(part.kind), Group(piece, *self._under(part, text[part.start : part.end]))))
        if text[at:].strip():
            rows.append(("", self.grounds.piece(text[at:])))
        signs = (sign for part in sentences for sign in part.signs() if sign[0] in self.kinds)
        below: list[RenderableType | None] = [self.grounds.legend(signs)]
        below += [self.map.reason("support"), self.map.notes()] if self.map else []
        shown = (indented(block) for block in below if block is not None)
        return section("Response", marked(rows), *shown, note=self._asked())

    def _mark(self, kind: str) -> Text:
        """Return the sign of a kind of verdict, which the legend then explains."""
        self.kinds.add(kind)
        return self.look.mark(kind)

    def _marked(self) -> list[Marked]:
        """Return the judged sentences and those from which claims were extracted, in order."""
        found: dict[tuple[int, int], Marked] = {}
        for verdict in self._verdicts("sentences"):
            unit = self.units[verdict["unit"]]
            if unit["start"] is not None:
                place = (unit["start"], unit["end"])
                found.setdefault(place, Marked(*place, self.names)).own = verdict
        for verdict in self._verdicts("claims"):
            unit = self.units[verdict["unit"]]
            if unit["start"] is not None:
                place = (unit["start"], unit["end"])
                found.setdefault(place, Marked(*place, self.names)).claims.append((unit, verdict))
        for resting in self.map.response if self.map else ():
            place = (resting.start, resting.end)
            if place not in found:  # segmented differently: add it to the last overlapping one
                place = max((other for other in found if other[0] < place[1] and place[0] < other[1]), default=place)
            found.setdefault(place, Marked(*place, self.names)).traced.append(resting)
        return [found[place] for place in sorted(found)]

    def _under(self, part: Marked, text: str) -> Iterable[RenderableType]:
        """Yield a sentence's own reason, then its claims with low verdicts."""
        if part.own is not None and (self.full or part.kind in ("no", "partly", "unjudged") or needs_reason(part.own)):
            yield from self.grounds.because(part.own)
        yield from self._traced(part)
        for unit, verdict in part.claims:
            kind = kind_of(verdict)
            if kind in ("yes", "trivial") and not (self.full or needs_reason(verdict)):
                continue
            claim = unit_text(self.result, unit)
            same = _folded(claim) == _folded(text)
            if same and part.own is None:
                yield from self.grounds.because(verdict)
                continue
            told = part.own is not None and _grounds(verdict) == _grounds(part.own)
            if told and kind == part.kind and (same or len(part.claims) == 1):
                continue
            below = () if told else self.grounds.because(verdict)
            if len(part.claims) > 1:
                yield marked([(self._mark(kind), Group(Text(self.grounds.shown(claim)), *below))], margin=1)
                continue
            which = "the claim" if same else f"the claim \u201c{self.grounds.shown(claim, 1)}\u201d"
            yield self.grounds.aside(f"{self.names['claims']}: {which} counts as {word(self.names['claims'], verdict)}")
            yield from below

    def _traced(self, part: Marked) -> Iterable[RenderableType]:
        """Yield the trace of a sentence, with a sign only if it was segmented differently: one sign per text."""
        if self.map is None:
            return
        shown: Sequence[Mapping[str, Any]] = ()
        told = ""
        if part.own is not None and (self.full or part.kind in ("no", "partly", "unjudged")):
            shown, told = part.own["evidence"][: None if self.full else QUOTES], part.own["reason"]
        for resting in part.traced:
            same = (resting.start, resting.end) == (part.start, part.end)
            if part.own is None and same:
                yield from self.map.under(resting, ())
                continue
            if same:
                yield from self.map.under(resting, shown, named="trace", beside=part.kind, told=told)
                continue
            blocks = self.map.under(resting, shown, named=f"trace of {self.map.names[resting.key]}")
            yield marked([(self._mark(resting.kind), Group(*blocks))], margin=1)

    def _asked(self) -> str:
        own = self.names.get("sentences", "") if self._verdicts("sentences") else ""
        traced = self.names.get("map", "").partition(".")[0] if self.map else ""
        sentences = [name for name in (own, traced) if name]
        claims = self.names.get("claims", "") if self._verdicts("claims") else ""
        judge = "judge" if len(sentences) > 1 else "judges"
        parts = [f"{' and '.join(sentences)} {judge} sentences"] if sentences else []
        parts += [f"{claims} judges claims"] if claims else []
        return f"({'; '.join(parts)})" if parts else ""

    # ---- irrelevant claims

    def off_topic(self) -> RenderableType | None:
        """Return the claims that do not help to answer the question; None if there are none."""
        verdicts = self._verdicts("off_topic")
        shown = [v for v in verdicts if self.full or kind_of(v) in ("no", "partly")]
        if not shown:
            return None
        rows: list[tuple[RenderableType, RenderableType]] = []
        for verdict in shown:
            claim = self.grounds.piece(unit_text(self.result, self.units[verdict["unit"]]))
            rows.append((self.look.mark(kind_of(verdict)), Group(claim, *self.grounds.because(verdict))))
        signs = {(kind_of(v), word(self.names["off_topic"], v)) for v in shown}
        legend = [indented(self.grounds.legend(signs))] if len(signs) > 1 else []
        relevant = sum(kind_of(v) == "yes" for v in verdicts)
        count = f"{relevant} of {plural(len(verdicts), 'claim')} relevant"
        return section("Relevance of claims", marked(rows), *legend, note=count)

    # ---- scores

    def scores(self) -> RenderableType:
        """Return every metric with its value or status, and the reasons for it."""
        holders = {metric.score_names()[0]: metric for name in self.by_metric if (metric := columns_of(name))}
        scores = [s for s in self.result["scores"] if columns_of(s["metric"]) is None or s["metric"] in holders]
        names = {name: holders[name].name if name in holders else flat(name) for name in (s["metric"] for s in scores)}
        widest = max(map(len, names.values()), default=0)
        blocks: list[RenderableType] = []
        for score in scores:
            columns = holders.get(score["metric"])
            own = [other for name, other in self.by_metric.items() if columns and columns_of(name) is columns]
            in_columns = score["asked"] > 0 and any(other["value"] is not None for other in own)
            value = Text(f"{'' if in_columns else percent(score['value']):>4}", style="head")
            elsewhere = score["status"] == "scored" or (in_columns and score["value"] is None)
            facts = ["" if elsewhere else score["status"], grade_said(score)]
            told = DOT.join(filter(None, [*facts, *score_facts(self.result, score, of_columns=in_columns)]))
            line = grid([(names[score["metric"]], value, told)], "<>~", first=widest)
            blocks += [line, *(indented(block) for block in self._behind(score, in_columns=in_columns))]
            if columns is not None and in_columns:
                blocks.append(indented(columns_of_record(columns, self.by_metric, self.look, full=self.full)))
        return section("Scores", indented(Group(*blocks)))

    def _behind(self, score: Mapping[str, Any], *, in_columns: bool) -> Iterable[RenderableType]:
        """Yield the score's own reason, then the verdicts that are shown nowhere else."""
        if score["reason"] and not (in_columns and score["value"] is None):
            yield self.grounds.aside(self.grounds.shown(score["reason"]))
        if score["metric"] in self.names.values() or score["metric"] in GRADED:
            return
        if score["status"] == "empty" and not self.full:  # the reason has said so
            return
        for name, steps in (score["detail"].get("steps") or {}).items():
            listed = " ".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
            yield self.grounds.aside(self.grounds.shown(f"steps of {name}: {listed}"))
        for verdict in score["verdicts"]:
            if not (score["detail"].get("shortcut") or (verdict["reason"] and verdict["reason"] == score["reason"])):
                yield from self._alone(score, verdict)

    def _alone(self, score: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterable[RenderableType]:
        """Yield a verdict that is drawn with its score; one on a part of the response has its sign and label text."""
        unit = self.units[verdict["unit"]]
        if unit["level"] == "response":
            yield from self.grounds.because(verdict)
        elif self.full or kind_of(verdict) in ("no", "partly", "unjudged"):
            said = word(score["metric"], verdict, score["signature"])
            text = Text(f"{said}: {self.grounds.shown(unit_text(self.result, unit))}")
            why = self.grounds.because(verdict, of_response=in_response(score["metric"]))
            yield marked([(self.look.mark(kind_of(verdict)), Group(text, *why))], margin=1)

    def repeats(self) -> RenderableType | None:
        """Return the spread of scores that were repeated; None if there are none."""
        rows = [
            (flat(score["metric"]), _repeats_said(score["repeats"]))
            for score in self.result["scores"]
            if score.get("repeats")
        ]
        return section("Repeats", indented(grid(rows, "<~"))) if rows else None

    # ---- contexts

    def contexts(self) -> RenderableType:
        """Return the passages by rank with their evidence marked; long ones are shortened around it."""
        contexts = self.result["contexts"]
        if not contexts:
            return self.text("Passages", None)
        grades = {self.units[verdict["unit"]]["parent"]: verdict for verdict in self._verdicts("passages")}
        quoted = evidence_in(self.result)
        rows = []
        for context in contexts:
            head = self._head(context, grades.get(context["id"]))
            body = self._body(context, quoted.get(context["id"], []))
            rows.append((Text(str(context["rank"]), style="quiet"), Group(*head, *body)))
        opened, closed = self.look.brackets
        note = f"({opened} {closed} mark the evidence for the verdicts)" if quoted else ""
        below = [self.map.legend(), self.map.reason("relevance")] if self.map else []
        blocks = (indented(block) for block in (grid(rows, ">~"), *below) if block is not None)
        return section("Passages", *blocks, note=note)

    def _head(self, context: Mapping[str, Any], grade: Mapping[str, Any] | None) -> list[Text]:
        parts = []
        if context["id"] != str(context["rank"]):
            parts.append(middle(flat(context["id"]), self.look.width // 2, self.look.ellipsis))
        if grade is not None:
            value = f" ({percent(grade['value'])})" if kind_of(grade) == "partly" else ""
            parts.append(f"{self.names['passages']}: {word(self.names['passages'], grade)}{value}")
        if self.map and context["text"].strip():
            parts.append(f"{self.names['map'].partition('.')[0]}: {self.map.counts(context['id'])}")
        return [self.grounds.aside(DOT.join(parts))] if parts else []

    def _body(self, context: Mapping[str, Any], spans: Sequence[tuple[int, int]]) -> Iterable[RenderableType]:
        """Return the passage; if it was traced, with a sign or, in full, a row for each of its sentences."""
        text = context["text"]
        if self.map is not None and self.full and text.strip():
            return [self.map.sentences(context["id"], spans)]
        if self.map is None or self.map.silent or not text.strip():
            return [self._passage(text, spans)]
        opening = self.grounds.aside(shorten(text, self.look.width - 10, self.look.ellipsis))
        strip = self.map.strip(context["id"])
        return [*([strip] if strip else []), self._passage(text, spans) if spans else opening]

    def _passage(self, text: str, spans: Sequence[tuple[int, int]]) -> Text:
        if not text.strip():
            return self.grounds.aside("(blank)")
        drawn = self.grounds.passage(text, spans, full=self.full)
        drawn.style = "" if spans else "quiet"
        return drawn

    # ---- the rest

    def footer(self) -> RenderableType:
        """Return the source of the record, its notes and meta, the judges of cascades, and the cost."""
        result = self.result
        rows = [("Source", source_of(result["where"]))]
        rows += [("Note", note) for note in result["notes"]]
        meta = {key: value for key, value in result["meta"].items() if isinstance(value, str | int | float)}
        if meta:
            shown = ", ".join(f"{key}: {value}" for key, value in list(meta.items())[: None if self.full else 6])
            rows.append(("Meta", shown))
        for step, told in result.get("cascade", {}).items():
            rows.append(("Judged", f"{step}: {answered(told)}; accepted error rate {rate(told['error'])}"))
        cost = result["cost"]
        spent = plural(cost["calls"], "call")
        if cost["calls"]:
            if cost["input_tokens"] or cost["output_tokens"]:
                spent += f", {tokens(cost['input_tokens'])} tokens in, {tokens(cost['output_tokens'])} out"
            spent += f", {dollars(cost['dollars'])}"
        rows.append(("Cost", spent))
        return facts([(label, self.grounds.shown(value)) for label, value in rows], 6)

    # ---- helpers

    def _verdicts(self, place: str) -> Sequence[Mapping[str, Any]]:
        score = self.by_metric.get(self.names.get(place, ""))
        return score["verdicts"] if score else ()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?")


def _grounds(verdict: Mapping[str, Any]) -> tuple[object, ...]:
    return verdict["reason"], verdict.get("failure"), verdict["evidence"], verdict.get("members")


def _repeats_said(repeats: Mapping[str, Any]) -> str:
    """Return a record's repeated score as text: its values in order, the spread, and the flips."""
    values = DOT.join(percent(value) for value in repeats["values"])
    parts = [f"asked {len(repeats['values'])} times: {values}"]
    if repeats["spread"] is not None:
        parts.append(f"spread {100 * repeats['spread']:.1f} points")
    if repeats["units"]:
        parts.append(f"{number(repeats['flips'])} of {plural(repeats['units'], 'unit')} flipped")
    if repeats["unmatched"]:
        parts.append(f"{plural(repeats['unmatched'], 'unit')} not judged every time")
    return ", ".join(parts)
