"""How a response is scored."""

from __future__ import annotations

from pytest_heta.evaluators.answers import AnswerContains, AnswerExactMatch
from pytest_heta.evaluators.evidence import EvidenceRecallAtK
from pytest_heta.evaluators.multihop import MultiHopRetrievalMetric, WordOverlapAnswer
from pytest_heta.evaluators.ranking import BeirRetrievalMetric, rank_documents, ranking_measure, relevant_documents
from pytest_heta.evaluators.uda import UDA_MEASURES, UdaAnswerMetric

__all__ = [
    "UDA_MEASURES",
    "AnswerContains",
    "AnswerExactMatch",
    "BeirRetrievalMetric",
    "EvidenceRecallAtK",
    "MultiHopRetrievalMetric",
    "UdaAnswerMetric",
    "WordOverlapAnswer",
    "rank_documents",
    "ranking_measure",
    "relevant_documents",
]
