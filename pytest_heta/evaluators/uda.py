"""The answer metrics of UDA-Benchmark, as its official scripts count (``official``) and as they should (``strict``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_heta.errors import DataError
from pytest_heta.evaluators import tatqa
from pytest_heta.evaluators.checks import ScoringMode, check_known, check_mode, suffix_of
from pytest_heta.evaluators.finqa import financial_match
from pytest_heta.evaluators.squad import bag_f1, squad_tokens, strict_tokens
from pytest_heta.records import BenchmarkCase, EvaluationScore, QueryResponse

UDA_MEASURES: dict[str, tuple[str, ...]] = {
    "fin": ("em",),
    "tat": ("em", "f1"),
    "paper_tab": ("f1",),
    "paper_text": ("f1",),
    "feta": ("f1",),
    "nq": ("f1",),
}
"""The measures of each subset, the default one first."""

_ANSWER_PHRASE = "The answer is:"
_MOST_REFERENCES = 3


class UdaAnswerMetric:
    """One figure of UDA's official scripts, named ``uda_{measure}``, in strict mode ``uda_{measure}_strict``.

    The prediction is the response's answer, from the last "The answer is:" on. The gold answer is
    ``case.expected.metadata["uda"]["answers"]``, in the shape of UDA's extended files.

    ``official`` gives what the scripts give, which leave a missing prediction out: it is unscored. ``strict`` counts it
    as 0, reads ``1,234`` as one number, ``not`` as no ``no``, and takes no best over things that are not alternatives
    (nq: the long answer only where there is no short one; tat: see ``tatqa.strict_scores``).

    Sources: UDA-Benchmark (arXiv:2406.15187); SQuAD, Qasper, TAT-QA and FinQA for the measures it uses.

    Raises:
        UnknownNameError: There is no such subset or mode, or the subset has no such measure.
    """

    def __init__(self, subset: str, mode: ScoringMode = "official", measure: str | None = None) -> None:
        check_known("UDA subset", subset, tuple(UDA_MEASURES))
        check_mode(mode)
        self.subset, self.mode = subset, mode
        self.measure = measure or UDA_MEASURES[subset][0]
        check_known(f"measure of uda:{subset}", self.measure, UDA_MEASURES[subset])
        self.name = f"uda_{self.measure}" + suffix_of(mode)
        self.definition = f"{self.name}: UDA {subset}, {mode}"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return the figure, in [0, 1].

        Raises:
            DataError: The gold answer does not have the shape of its subset.
        """
        gold = case.expected.metadata.get("uda") or {}
        if gold.get("subset") != self.subset or not _states_something(self.subset, gold.get("answers")):
            return EvaluationScore.unscored(self.name, f"the case has no gold answer of uda:{self.subset}")
        if response.answer is None:
            return self._missing()
        prediction = response.answer.rsplit(_ANSWER_PHRASE, 1)[-1].strip()
        try:
            value = self._score(prediction, gold["answers"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"case {case.case_id!r}: malformed gold answer of uda:{self.subset}: {error!r}") from error
        return EvaluationScore(name=self.name, value=value, metadata={"mode": self.mode})

    def _missing(self) -> EvaluationScore:
        """A missing answer counts 0; the official scripts leave it out, and so does a report's official view."""
        metadata = {"mode": self.mode, "reason": "the response has no answer"}
        if self.mode == "official":
            metadata["official"] = "left out"
        return EvaluationScore(name=self.name, value=0.0, metadata=metadata)

    def _score(self, prediction: str, answers: Any) -> float:
        strict = self.mode == "strict"
        if self.subset == "fin":
            return financial_match(prediction, [answers["str_answer"], answers["exe_answer"]], strict=strict)
        if self.subset == "tat":
            scores = (tatqa.strict_scores if strict else tatqa.official_scores)(prediction, answers)
            return scores[UDA_MEASURES["tat"].index(self.measure)]
        references = _references(self.subset, answers, strict)
        if self.subset.startswith("paper_"):
            return max(_paper_f1(prediction, reference, strict) for reference in references)
        return max(_token_f1(prediction, reference, strict) for reference in references)


def _states_something(subset: str, answers: Any) -> bool:
    """Tell whether a gold answer is there and not blank; 0 is an answer."""
    if isinstance(answers, dict):
        return _states_something(subset, answers.get("answer") if subset == "tat" else list(answers.values()))
    if isinstance(answers, list | tuple):
        return any(
            _states_something(subset, part.get("answer") if isinstance(part, dict) else part) for part in answers
        )
    return answers is not None and bool(str(answers).strip())


def _references(subset: str, answers: Any, strict: bool) -> list[str]:
    """Return the texts of which the best counts."""
    if subset == "feta":
        return [answers]
    if subset == "nq":
        both = [answers["short_answer"], answers["long_answer"]]
        return both if not strict else [next(text for text in both if text.strip())]
    return [answer["answer"] for answer in (answers if strict else answers[:_MOST_REFERENCES])]


def _paper_f1(prediction: str, reference: str, strict: bool) -> float:
    """Return token F1; a prediction that begins with the yes or no of the reference counts as that word (Qasper)."""
    word = reference.strip().lower().rstrip(".")
    said_word = strict_tokens(prediction)[:1] == [word] if strict else prediction.lower().startswith(word)
    if word in {"yes", "no"} and said_word:
        return 1.0
    return _token_f1(prediction, reference, strict)


def _token_f1(prediction: str, reference: str, strict: bool) -> float:
    tokens: Callable[[str], list[str]] = strict_tokens if strict else squad_tokens
    return bag_f1(tokens(prediction), tokens(reference))
