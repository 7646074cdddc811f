"""Does a response state a gold answer? Whole tokens only: "no" is not in "know"."""

from __future__ import annotations

from pytest_heta.evaluators.texts import contains_tokens, whole_tokens
from pytest_heta.records import BenchmarkCase, EvaluationScore, QueryResponse

_ARTICLES = frozenset({"a", "an", "the"})
_NO_GOLD = "the case has no gold answer"


class AnswerContains:
    """1 where a gold answer occurs as whole tokens in the answer, else 0; named ``answer_contains``.

    A KB that only retrieves gives no answer: then the text of one of its results must contain a gold answer. The
    score's metadata says which was judged: ``judged`` is ``answer`` or ``results``. An article at the head of a gold
    answer does not matter; for the rest of the comparison see ``texts.whole_tokens``. A case without a gold answer is
    unscored.
    """

    name = "answer_contains"
    definition = "answer_contains: whole tokens in the answer, or in one result where there is no answer"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return 1 or 0."""
        golds = _gold_tokens(case)
        if not golds:
            return EvaluationScore.unscored(self.name, _NO_GOLD)
        answered = response.answer is not None
        texts = [response.answer or ""] if answered else [result.text for result in response.results]
        found = any(contains_tokens(tokens, gold) for tokens in map(whole_tokens, texts) for gold in golds)
        return EvaluationScore(
            name=self.name, value=float(found), metadata={"judged": "answer" if answered else "results"}
        )


class AnswerExactMatch:
    """1 where the answer has the same tokens as a gold answer, else 0; named ``answer_exact_match``.

    An article at the head of either does not matter; for the rest of the comparison see ``texts.whole_tokens``. A
    missing answer is 0; a case without a gold answer is unscored.
    """

    name = "answer_exact_match"
    definition = "answer_exact_match: same whole tokens; a missing answer is 0"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return 1 or 0."""
        golds = _gold_tokens(case)
        if not golds:
            return EvaluationScore.unscored(self.name, _NO_GOLD)
        if response.answer is None:
            return EvaluationScore(name=self.name, value=0.0, metadata={"reason": "the response has no answer"})
        return EvaluationScore(name=self.name, value=float(_without_article(response.answer) in golds))


def _gold_tokens(case: BenchmarkCase) -> list[list[str]]:
    return [tokens for tokens in map(_without_article, case.expected.answers) if tokens]


def _without_article(text: str) -> list[str]:
    tokens = whole_tokens(text)
    return tokens[1:] if len(tokens) > 1 and tokens[0] in _ARTICLES else tokens
