"""Describe verdicts, metrics and judges in plain text; all wording comes from the metric, none is hard-coded by name.

The embedded judge only compares words and numbers, so its verdicts are never called supported or not supported:
metrics have other words for them. The signature selects the words for a mean, the judge those for a single verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ragstone.metrics import column_of, of_score
from ragstone.metrics.words import ANY_COLUMN, LEGEND, Labels, MetricWords, Sentence
from ragstone.questions import SCALES, TEXTS, Special
from ragstone.render.text import clean
from ragstone.types import NOTHING, RESPONSE, TRIVIAL

ORDER: Final = ("no", "partly", "unjudged", "yes", "trivial")
"""Kinds of verdicts, worst first: a sentence with several verdicts shows the worst."""
SPECIALS: Final[Mapping[Special, str]] = {
    "supported_without_sentence": "supported, but no sentence cited",
    "general": "needs no support",
    "well_known_fact": "a well-known fact",
    "numerical_reasoning": "follows from numbers",
}
"""Bases of a traced sentence other than passage sentences."""
_EMBEDDED: Final = "embedded"
_ALONE: Final = re.compile(
    rf"\|(?:support|response_support|trace|assign):{_EMBEDDED}\+[^|>,@\[\]]+(?:,cut=[\d.]+)?(?:\||$)"
)
"""Matches a signature whose verdicts come from the embedded judge, without a panel, a cascade or human labels."""
_COMPARES: Final = "compares words and numbers; it is not a language model"
_SENTENCES: Final = re.compile(
    r"(?P<passage>passage \d+), sentence \d+(?:(?:, | and )(?P=passage), sentence \d+)+(?P<verb> says| has)?"
)
_CONTRADICTED: Final = re.compile(r"contradicted\b")
_SURPRISING: Final = (', apart from "', "says information is missing")
"""In the embedded judge's reasons for accepting a unit without some of its words, or as a true refusal."""
_SUPPORT: Final = re.compile(r"\|support:[^|]*\bembedded-\d+#([0-9a-f]+)")


def kind_of(verdict: Mapping[str, Any]) -> str:
    """Return the kind of a verdict: ``yes``, ``partly``, ``no``, ``unjudged`` or ``trivial``."""
    if verdict["label"] is None:
        return "unjudged"
    if verdict["label"] == TRIVIAL or verdict["value"] is None:
        return "trivial"
    if verdict["value"] >= 1:
        return "yes"
    return "no" if verdict["value"] <= 0 else "partly"


# ---- a metric


def by_embedded(signature: str) -> bool:
    """Return whether the verdicts of scores with this signature come from the embedded judge alone."""
    return bool(_ALONE.search(signature))


def words_of(score: str, signature: str) -> MetricWords:
    """Return the words for the mean and the value of a score, depending on the judge in its signature."""
    metric = of_score(score)
    return metric.found_words if metric.found_words and by_embedded(signature) else metric.words


def title_of(score: str, signature: str) -> str:
    """Return what a value means, in a few words; empty for a metric that is not installed."""
    column = column_of(score)
    titles = words_of(score, signature).titles
    return titles.get(column) or titles.get(ANY_COLUMN, "").format(column) or of_score(score).title


def scored_by(score: str) -> str:
    """Return the metric of a score, or the score if each column has verdicts of its own, e.g. ``rubric.tone``."""
    return score if of_score(score).open_columns else score.partition(".")[0]


def sentence_of(score: str, signature: str) -> Sentence | None:
    """Return the headline sentence for a mean, or None if the metric has none."""
    return words_of(score, signature).sentences.get(column_of(score))


def labels_of(score: str, verdicts: Iterable[Mapping[str, Any]], signature: str = "") -> Labels:
    """Return the words for a score's verdicts: those for the embedded judge if it gave any of them.

    The ``signature`` selects the words for verdicts given by a rule, which name no judge.
    """
    metric = of_score(score)
    embedded = by_embedded(signature) or any(verdict["judge"] == _EMBEDDED for verdict in verdicts)
    return metric.found_words.labels if metric.found_words and embedded else metric.words.labels


def word(score: str, verdict: Mapping[str, Any], signature: str = "") -> str:
    """Return ``not supported``, ``not found`` or ``partly relevant``: the metric's words for its judge's verdict."""
    metric = of_score(score)
    if metric.open_columns and verdict["label"] not in (None, *metric.words.labels):
        return clean(verdict["label"])
    found, kind = labels_of(score, (verdict,), signature), kind_of(verdict)
    other = found.get(f"{kind} {'/'.join(verdict['unit'].split('/')[-2:-1])}", found[kind])
    return or_contradicted(found, found.get(verdict["label"], other), [verdict["reason"]]) if kind == "no" else other


def needs_reason(verdict: Mapping[str, Any]) -> bool:
    """Return whether the embedded judge accepted the unit for a reason other than that all of it was found."""
    return any(part in (verdict["reason"] or "") for part in _SURPRISING)


def or_contradicted(words: Labels, said: str, reasons: Iterable[str | None]) -> str:
    """Return ``said``; ``contradicted`` if all reasons name a contradiction, or the words for both if only some do.

    A judge whose labels do not distinguish the two says in its reason which one applies.
    """
    told = {bool(_CONTRADICTED.match(reason or "")) for reason in reasons}
    if said != words["no"] or LEGEND not in words or True not in told:
        return said
    return words[LEGEND] if False in told else words["contradicted"]


def grade_said(score: Mapping[str, Any]) -> str:
    """Return ``rated 1 out of 2`` if the score is a single verdict on the whole response; empty for other scores."""
    verdict = score["verdicts"][0] if len(score["verdicts"]) == 1 else None
    if verdict is None or score["value"] is None or "/response/" not in verdict["unit"]:
        return ""
    scales = (scale for scale in SCALES.get(of_score(score["metric"]).task(), ()) if scale.labels[-1].isdigit())
    levels = {(label, round(scale.value(label), 6)): scale.labels[-1] for scale in scales for label in scale.labels}
    best = levels.get((verdict["label"], round(score["value"], 6)))
    return f"rated {verdict['label']} out of {best}" if best else ""


def lead_order(score: str) -> tuple[int, ...]:
    """Return a sort key for the lead score: scores with a headline first, without columns before columns, by rank."""
    metric, column = of_score(score), column_of(score)
    leading = [*metric.words.sentences]
    return (0, bool(column), metric.rank, leading.index(column)) if column in leading else (1,)


def card_order(score: str) -> tuple[bool, int]:
    """Return a sort key for scores on a page: by rank; columns other than the leading one come after all metrics."""
    metric, column = of_score(score), column_of(score)
    return column != next(iter(metric.words.sentences), ""), metric.rank


def in_response(score: str) -> bool:
    """Return whether the evidence for a score's verdicts is in the response, not in the passages."""
    return of_score(score).task() in ("assign", "rubric")


def drawn_at(names: Iterable[str]) -> dict[str, str]:
    """Return the score drawn at each place of a record, by place; if there are several, the first by rank.

    Places: ``map``, ``bank``, ``passages``, ``sentences`` and ``claims`` of the response, and ``off_topic`` claims. The
    verdicts of other scores are drawn with the scores.
    """
    kinds = {
        ("trace", "sentence"): "map", ("assign", "nugget"): "bank", ("relevance", "passage"): "passages",
        ("support", "sentence"): "sentences", ("support", "claim"): "claims", ("relevance", "claim"): "off_topic",
    }  # fmt: skip
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda name: of_score(name).rank):
        metric = of_score(name)
        if name == metric.score_names()[0]:
            found.setdefault(kinds.get((metric.task(), metric.unit), name), name)
    return {place: name for place, name in found.items() if place != name}


def folded(names: Iterable[str]) -> list[str]:
    """Return score names for a sentence: one metric name for all its columns, else the metric with its columns.

    Columns in one row of the metric's table have the name of the row.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        metric, _, column = name.partition(".")
        found.setdefault(metric, []).append(column)
    return [
        metric
        if columns == [""] or len(columns) == len(of_score(metric).columns)
        else f"{metric}.{columns[0]}"
        if len(columns) == 1
        else f"{metric} ({', '.join(_rows(metric, columns))})"
        for metric, columns in found.items()
    ]


def _rows(metric: str, columns: Sequence[str]) -> list[str]:
    """Return the columns, with the name of a row of the metric's table instead if all of its columns are there."""
    drawn = of_score(metric).table
    rows = drawn.rows if drawn else NOTHING
    named = {column: row for row, own in rows.items() if {*own} <= {*columns} for column in own}
    return [*dict.fromkeys(named.get(column, column) for column in columns)]


def measures(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return, by metric, what a page needs to know of it, as plain JSON."""
    found = {}
    for name in dict.fromkeys(name.partition(".")[0] for name in names):
        metric = of_score(name)
        found[name] = {
            "heading": clean(metric.heading) or name.replace("_", " "),
            "unit": metric.unit,
            "task": metric.task(),
            "rank": metric.rank,
            "best_at_zero": [metric.score_name(column) for column in metric.lower_is_better],
            "shown": [*metric.score_names()[: 1 if metric.table else None]] if metric.columns else [name],
            "open": metric.open_columns,
            "exclusive": metric.exclusive,
        }
    return found


# ---- a verdict


def why(verdict: Mapping[str, Any]) -> str:
    """Return the reason or the failure; for a panel, the members with their labels, those that it agrees with first."""
    members = sorted(verdict.get("members", ()), key=lambda member: member["label"] != verdict["label"])
    names = [member["judge"].partition("@")[0] for member in members]  # without addresses, if that is clear
    names = names if len({*names}) == len(names) else [member["judge"] for member in members]
    labels = [f" {member['label']}".replace("_", " ") if member["label"] else "" for member in members]
    given = [(name + label, why(member)) for name, label, member in zip(names, labels, members, strict=True)]
    of_members = "; ".join(f"{who}: {said}" if said else who for who, said in given)
    return of_members or verdict.get("failure") or verdict["reason"]


def in_words(result: Mapping[str, Any], reason: str) -> str:
    """Replace keys of traced sentences, which readers never saw, in a reason: ``passage 2, sentences 1 and 2``."""
    words = sentence_names(result)
    named = re.sub(r"\w+", lambda found: words.get(found[0], found[0]), reason) if words else reason
    return sentences_merged(named)


def sentences_merged(text: str) -> str:
    """Combine references to sentences of one passage: ``passage 2, sentences 1 and 2``."""
    return _SENTENCES.sub(_together, text)


def _together(found: re.Match[str]) -> str:
    *others, last = re.findall(r"sentence (\d+)", found[0])
    verb = {" says": " say", " has": " have"}.get(found["verb"] or "", "")
    return f"{found['passage']}, sentences {', '.join(others)} and {last}{verb}"


def sentence_names(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of each traced sentence by its key; empty if nothing was traced."""
    traced = (score["detail"] for score in result["scores"] if is_map(score))
    detail: Mapping[str, Any] = next(traced, {})
    if not detail:
        return {}
    ranks = {context["id"]: context["rank"] for context in result["contexts"]}
    numbers: Counter[str] = Counter()
    words: dict[str, str] = {}
    for row in detail["contexts"]:
        numbers[row["passage"]] += 1
        rank = ranks.get(row["passage"], row["passage"])
        words[row["key"]] = f"passage {rank}, sentence {numbers[row['passage']]}"
    return words | {row["key"]: f"sentence {n} of the response" for n, row in enumerate(detail["response"], 1)}


def is_map(score: Mapping[str, Any]) -> bool:
    """Return whether a score has a sentence map: which response sentences are based on which passage sentences."""
    return of_score(score["metric"]).task() == "trace" and bool(score["detail"].get("response"))


def place(result: Mapping[str, Any], score: str, quote: Mapping[str, Any]) -> str:
    """Return where a verdict's quote is: ``passage 2``, ``response``, or that it was not found."""
    ranks = {context["id"]: context["rank"] for context in result["contexts"]}
    found = where(quote, ranks, of_response=in_response(score))
    return f"quote {found}" if quote["start"] is None else found


def where(quote: Mapping[str, Any], ranks: Mapping[str, int], *, of_response: bool) -> str:
    """Return the text that contains a quote, or that it was not found there; ``ranks`` are those of the passages."""
    name = quote["passage"]
    other = RESPONSE if of_response else name if name in TEXTS and name not in ranks else ""
    if quote["start"] is None:
        return f"not found in the {other or 'passages'}"
    return other or f"passage {ranks.get(name, name)}"


def source_of(where: str) -> str:
    """Return a record's location in its input: ``traces.jsonl:3`` or ``record 3 of traces.json``."""
    file, _, item = where.rpartition(" item ")
    return f"record {item} of {'the input' if file == 'records' else file}" if file else where


# ---- a run


def embedded_among(judges: Sequence[str], summary: Mapping[str, Any]) -> str:
    """Return the reliability of the embedded judge, with its name if there are others; empty if it was not used."""
    if _EMBEDDED not in judges:
        return ""
    return f"{'It' if list(judges) == [_EMBEDDED] else 'The embedded judge'} {about_embedded(summary)}."


def about_embedded(summary: Mapping[str, Any]) -> str:
    """Return the reliability of the embedded judge as a clause without a subject.

    The figures were measured on claims with this version's model. They are omitted for runs that used another model or
    checked no claims against passages.
    """
    signatures = (entry["signature"] for entry in summary.get("metrics", {}).values())
    models = {model for signature in signatures for model in _SUPPORT.findall(signature)}
    if not models:
        return _COMPARES
    from ragstone.judges.embedded.measured import measured  # noqa: PLC0415 - loads the judge, rarely needed

    known = measured()
    if models != {known.model}:
        return _COMPARES
    return (
        f"{_COMPARES}. On {known.sets} public datasets, it ranks a supported claim above an unsupported one in "
        f"{100 * known.auroc:.0f} of 100 pairs (a word-overlap baseline: {100 * known.floor:.0f})"
    )
