"""How many results a query must ask for, so that the deepest metric sees enough distinct documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_heta.keys import document_id_of, safe_document_id
from pytest_heta.records import BenchmarkCase, QueryResponse

DEFAULT_TOP_K = 10
_FACTOR, _DEEPENINGS = 4, 3


@dataclass(frozen=True)
class Depth:
    """What is asked for (``top_k`` results) and what is needed (``documents`` distinct ones; 0: none in particular).

    ``fixed`` marks a ``top_k`` that the user chose: it is kept, and what it leaves shallow is only counted.
    """

    top_k: int
    documents: int = 0
    fixed: bool = False
    drop_query_id: bool = False

    @classmethod
    def of(cls, evaluators: Sequence[Any], top_k: int | None) -> Depth:
        """Find the depth that these evaluators look at; ``top_k`` is the user's wish, if there is one."""
        deepest = max((getattr(evaluator, "k", 0) for evaluator in evaluators), default=0)
        counting = [evaluator for evaluator in evaluators if getattr(evaluator, "distinct_documents", False)]
        return cls(
            top_k=top_k or deepest or DEFAULT_TOP_K,
            documents=max((evaluator.k for evaluator in counting), default=0),
            fixed=top_k is not None,
            drop_query_id=any(getattr(evaluator, "drop_query_id", False) for evaluator in counting),
        )

    def deeper(self) -> Iterator[int]:
        """Yield the depths to try after ``top_k``, each four times the last."""
        if not self.fixed:
            yield from (self.top_k * _FACTOR**step for step in range(1, _DEEPENINGS + 1))

    def collapsed(self, case: BenchmarkCase, response: QueryResponse, asked: int) -> bool:
        """Tell whether the response has too few distinct documents although the KB may have more to give."""
        if not self.documents or len(response.results) < asked:
            return False
        if len(response.results) < self.documents:
            return True
        documents = {document_id_of(result) or result.id for result in response.results}
        if self.drop_query_id:
            documents -= {case.case_id, safe_document_id(case.case_id)}
        return len(documents) < self.documents
