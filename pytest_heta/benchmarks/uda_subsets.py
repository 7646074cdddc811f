"""The six subsets of UDA-Benchmark: what they are called, which columns they have, what their gold answers look like.

Gold answers have one shape a subset, that of the extended files; a case without an extended item gets the same shape
from the columns of its row.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_heta.errors import UnknownNameError

Row = Mapping[str, str]
Evidence = Iterable[tuple[str, str, dict[str, Any]]]


@dataclass(frozen=True)
class Subset:
    """One subset.

    ``folder`` holds its documents, also as the name of the published zip. ``gold_of_row`` makes the gold answers from
    a row (ValueError where a cell cannot be read), ``texts`` flattens gold answers to texts that may be blank,
    ``evidence`` lists the evidence of an extended item as (name, text, what else is known of it).
    """

    name: str
    folder: str
    columns: tuple[str, ...]
    gold_of_row: Callable[[Row], Any]
    texts: Callable[[Any], Iterable[Any]]
    evidence: Callable[[Mapping[str, Any]], Evidence]


def number_or_text(cell: str) -> int | float | str:
    """Return the finite number that a cell spells, or the cell."""
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if math.isfinite(number) else cell


def _fin_gold(row: Row) -> dict[str, Any]:
    return {"str_answer": row["answer_1"], "exe_answer": number_or_text(row["answer_2"])}


def _tat_gold(row: Row) -> dict[str, Any]:
    """Return the cell, a list literal, as the extended files have it: a number, a text or a list by ``answer_type``."""
    answer: Any = _list_literal(row["answer"])
    if row["answer_type"] in {"arithmetic", "count"} and len(answer) == 1:
        (answer,) = answer
    if row["answer_type"] == "arithmetic" and isinstance(answer, str):
        answer = number_or_text(answer)
    return {"answer": answer, "answer_type": row["answer_type"], "scale": row["answer_scale"]}


def _list_literal(cell: str) -> list[Any]:
    try:
        answer = ast.literal_eval(cell)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"the answer is not a list literal: {cell!r}") from error
    if not isinstance(answer, list):
        raise ValueError(f"the answer is not a list literal: {cell!r}")
    return answer


def _tat_texts(gold: Any) -> Iterable[Any]:
    answer = gold["answer"]
    return answer if isinstance(answer, list) else (answer,)


def _paper_gold(row: Row) -> list[dict[str, Any]]:
    cells = (row[column] for column in ("answer_1", "answer_2", "answer_3"))
    return [{"answer": cell, "type": None} for cell in cells if cell.strip()]


def _fin_evidence(item: Mapping[str, Any]) -> Evidence:
    return ((name, text, {}) for name, text in item["evidence"].items())


def _tat_evidence(item: Mapping[str, Any]) -> Evidence:
    return ((f"fact_{place}", text, {}) for place, text in enumerate(item["facts"], start=1))


def _paper_evidence(item: Mapping[str, Any]) -> Evidence:
    for annotator, found in enumerate(item["evidence"], start=1):
        for kind in ("raw_evidence", "highlighted_evidence"):
            for place, text in enumerate(found[kind], start=1):
                # QASPER marks the caption of a figure or table so; the paper itself has only the caption.
                caption = text.removeprefix("FLOAT SELECTED: ")
                extra = {"annotator": annotator, "kind": kind, "float_selected": caption != text}
                yield f"{kind}_{annotator}_{place}", caption, extra


def _feta_evidence(item: Mapping[str, Any]) -> Evidence:
    table = item["evidence"]["table_array"]
    text = "\n".join(" ".join(str(cell) for cell in cells) for cells in table)
    yield "table", text, {"highlighted_cell_ids": item["evidence"]["highlighted_cell_ids"]}


def _nq_gold(row: Row) -> dict[str, Any]:
    return {"short_answer": row["short_answer"], "long_answer": row["long_answer"]}


def _nq_evidence(item: Mapping[str, Any]) -> Evidence:
    return (("long_answer", item["answers"]["long_answer"], {}),)


def _paper(name: str) -> Subset:
    return Subset(
        name,
        "paper_docs",
        ("answer_1", "answer_2", "answer_3"),
        _paper_gold,
        lambda gold: (given["answer"] for given in gold),
        _paper_evidence,
    )


SUBSETS = {
    subset.name: subset
    for subset in (
        Subset(
            "fin",
            "fin_docs",
            ("answer_1", "answer_2"),
            _fin_gold,
            lambda gold: (gold["str_answer"], gold["exe_answer"]),
            _fin_evidence,
        ),
        Subset("tat", "tat_docs", ("answer", "answer_scale", "answer_type"), _tat_gold, _tat_texts, _tat_evidence),
        _paper("paper_tab"),
        _paper("paper_text"),
        Subset("feta", "wiki_feta_docs", ("answer",), lambda row: row["answer"], lambda gold: (gold,), _feta_evidence),
        Subset(
            "nq",
            "wiki_nq_docs",
            ("short_answer", "long_answer"),
            _nq_gold,
            lambda gold: (gold["short_answer"], gold["long_answer"]),
            _nq_evidence,
        ),
    )
}


def subset_named(name: str) -> Subset:
    """Return one subset.

    Raises:
        UnknownNameError: for a name that none has.

    """
    if name not in SUBSETS:
        raise UnknownNameError("UDA subset", name, SUBSETS)
    return SUBSETS[name]
