"""What several machines must agree on, in words."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytest_heta.engine.agreement import Facts, disagreements, document_facts, evaluation_facts
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.records import KnowledgeBaseReport
from tests.engine.toys import ToyRecipe, case, evaluation_of, plan_of

BASE = KnowledgeBaseReport(unit_id="corpus", name="kb", build_seconds=1.0)


def facts_of(question: str = "q", file: Path | None = None) -> Facts:
    """Return the facts of an evaluation with one case, of a recipe that a file defines."""

    async def story() -> Facts:
        one = case("c1", "d1").model_copy(update={"query": question})
        evaluation = evaluation_of(await plan_of(cases=(one,)), ToyRecipe())
        if file is not None:
            evaluation.recipe = LoadedRecipe(ToyRecipe(), "toy", file)
        return evaluation_facts(evaluation)

    return asyncio.run(story())


def test_the_same_evaluation_agrees_with_itself() -> None:
    """In every fact, however often they are made."""
    assert disagreements(facts_of(), facts_of()) == []


def test_another_question_is_told() -> None:
    """As other cases, and nothing else."""
    (difference,) = disagreements(facts_of(), facts_of("another"))
    assert difference.startswith("the cases and gold labels: ")
    assert difference.endswith(" here")


def test_a_changed_recipe_is_told_by_its_file(tmp_path: Path) -> None:
    """Wherever the file lies."""
    found = []
    for folder, text in (("a", "x = 1\n"), ("b", "x = 1\n"), ("c", "x = 2\n")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "r.py"
        file.write_text(text)
        found.append(facts_of(file=file))
    assert disagreements(found[0], found[1]) == []
    (difference,) = disagreements(found[0], found[2])
    assert difference.startswith("the recipe's file r.py: ")


def test_a_library_that_one_side_lacks_is_told() -> None:
    """With both versions."""
    assert disagreements({"the library x": "1.2"}, {"the library x": "none", "y": "2"}) == [
        "the library x: none there, 1.2 here",
        "y: 2 there, none here",
    ]


def test_documents_are_known_by_their_digest() -> None:
    """By the one that the knowledge base was kept under, else by one made of them; not where none are needed."""

    class Needless(ToyRecipe):
        needs_documents = False

    async def story(recipe: ToyRecipe, base: KnowledgeBaseReport) -> Facts:
        return await document_facts(evaluation_of(await plan_of(), recipe), [base])

    known = BASE.model_copy(update={"manifest": {"documents_digest": "abc"}})
    assert asyncio.run(story(ToyRecipe(), known)) == {"the documents of run unit 'corpus'": "abc"}
    (digest,) = asyncio.run(story(ToyRecipe(), BASE)).values()
    assert len(digest) == 64
    assert asyncio.run(story(Needless(), BASE)) == {}
