"""An agreement with people as ``agree --attach`` keeps it: of two metrics, one without a corrected mean."""

from __future__ import annotations

from ragstone.result_types import AgreementDict, CorrectedDict, MetricAgreementDict

WITHHELD = "the labels are of records drawn as the worst, no random sample"


def corrected(value: float, low: float, high: float, method: str = "ppi") -> CorrectedDict:
    return {
        "method": method, "value": value, "low": low, "high": high, "raw": 0.7812, "labelled": 60, "records": 500,
        "power": 0.61,
    }  # fmt: skip


def of_metric(*, task: str = "support", unit: str = "claim", mean: CorrectedDict | None = None) -> MetricAgreementDict:
    return {
        "task": task, "unit": unit, "judge": "scripted", "labels": ["not_support", "partial_support", "support"],
        "counts": [[30, 6, 4], [5, 20, 9], [2, 8, 130]], "units": 214, "records": 60, "unjudged": 3, "accuracy": 0.8411,
        "base_rate": 0.6542, "kappa": 0.7095, "interval": [0.58, 0.82], "corrected": mean,
        "withheld": "" if mean else WITHHELD,
    }  # fmt: skip


def agreement(mean: CorrectedDict | None = None) -> AgreementDict:
    doubtful = of_metric(task="relevance", unit="passage")
    doubtful |= {"labels": ["no", "yes"], "counts": [[10, 9], [8, 12]], "units": 39, "unjudged": 0}
    doubtful |= {"kappa": 0.126, "interval": [-0.18, 0.41], "accuracy": 0.5641, "base_rate": 0.5128}
    metrics = {"grounding": of_metric(mean=mean or corrected(0.7412, 0.6612, 0.8112)), "context_relevance": doubtful}
    return {"gold": ["labels.jsonl"], "annotators": ["Ann"], "at": "2026-01-02T03:04:05+00:00", "metrics": metrics}


CI = "95% CI"
SAID = (
    "Agreement with people on grounding: kappa .71 (95% CI .58\u2013.82) on 214 claims",
    "grounding 78%, corrected 74% (95% CI 66\u201381)",
    f"No significant agreement with people on context_relevance: kappa .13 ({CI} -.18 to .41) on 39 passages",
)
