"""Find facts that the evidence states differently: numbers, dates, names, polarity, direction, roles.

Numbers, names and negations are not a matter of probability. Each is a slot that must have the same value at the
corresponding place in the evidence, which is where the statement's other words are. A slot with another value, or with
a value that is in no passage, is a ``Clash`` that names both values.
"""

from __future__ import annotations

from typing import Final

from ragstone.judges.embedded.alignment import MOSTLY, WHOLE, Alignment, Clash
from ragstone.judges.embedded.arithmetic import compared, measured
from ragstone.judges.embedded.conditions import condition, exception, of_the_rest, permitted, separate
from ragstone.judges.embedded.contrasts import crossed, graded, opposite, polarity
from ragstone.judges.embedded.converse import converse
from ragstone.judges.embedded.modality import doubted, too_sure, unrealised
from ragstone.judges.embedded.naming import exchanged, names
from ragstone.judges.embedded.order import transposed
from ragstone.judges.embedded.qualified import on_closed_day, unqualified
from ragstone.judges.embedded.roles import misattributed, turned
from ragstone.judges.embedded.substitutions import addition, replaced
from ragstone.judges.embedded.values import values
from ragstone.judges.embedded.words import NUMBER
from ragstone.segment import shortened

VALUES: Final = frozenset(("number", "limit"))
REVERSED: Final = frozenset(("negation", "order"))


def clash(aligned: Alignment) -> Clash | None:
    """Find the first slot that differs from the evidence: numbers, then names, then the rest.

    If no passage has a number and a name, both are reported. Only another value, or a negation or another order in a
    nearly identical sentence, is a contradiction: in real answers, the nearest sentence with the opposite, or with a
    value if passages also have that of the statement, is mostly about something else.
    """
    found = _clash(aligned)
    if found is None or not found.has:
        return found
    line = aligned.line(found.passage, found.sentence)
    other = {one.at for one in aligned.quantities if not aligned.found(one.at, line)[0]}
    wanted = aligned.total - sum(aligned.weight.get(i, 0.0) for i in other)
    known = all(aligned.is_known(aligned.stems[i]) for i in aligned.content if aligned.tokens[i].kind == NUMBER)
    same = found.kind in VALUES and aligned.weight_in(line) >= (WHOLE if known else MOSTLY) * wanted
    return found._replace(same=found.same or same or (found.kind in REVERSED and aligned.matches(line)))


_CHECKS: Final = (
    doubted, unrealised, exception, separate, condition, unqualified, on_closed_day, compared, permitted, polarity,
    converse, opposite, graded, too_sure, misattributed, turned, transposed, replaced, crossed, addition,
)  # fmt: skip


def _clash(aligned: Alignment) -> Clash | None:
    rest = of_the_rest(aligned)  # first, since "all other days" include days that no passage has
    number = values(aligned)
    name = None if number is not None and number.has else names(aligned) or exchanged(aligned)
    if number is not None:
        both = number if name is None else number._replace(says=shortened(f"{name.says} and {number.says}"))
        return number if name is None or name.says in number.says else both
    if name is not None or rest is not None:
        return name or (rest if isinstance(rest, Clash) else None)
    if by_value := measured(aligned):
        return by_value if isinstance(by_value, Clash) else None
    agreed = False
    for check in _CHECKS:
        if agreed and check in {polarity, opposite, crossed}:
            continue
        found = check(aligned)
        if isinstance(found, Clash):
            return found
        agreed = agreed or bool(found)  # the statement's negations and opposites are correct
    return None
