"""What cannot be used is told in one clear message, before anything runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.project import GOLD, N2, Project, clean

D, R = "--heta-benchmark=data", "--heta-recipe=r.py"


def recipe(text: str) -> Callable[[Project], object]:
    """Make the change that writes another recipe."""
    return lambda project: project.write("r.py", text)


def data(name: str, text: str) -> Callable[[Project], object]:
    """Make the change that writes another file of the data set."""
    return lambda project: project.write(f"data/{name}", text)


def gone(name: str) -> Callable[[Project], object]:
    """Make the change that removes a file."""
    return lambda project: (project.path / name).unlink()


def nothing(project: Project) -> None:
    """Change nothing."""


QUERIES, QRELS = "queries.jsonl", "qrels/test.tsv"
BUILD = "    def build(self, *, name, objects, source_keys): pass\n"
HEAD = "query-id\tcorpus-id\tscore\n"

OPTIONS = {
    "no recipe": ([D], "--heta-benchmark needs --heta-recipe"),
    "no benchmark": ([R], "--heta-recipe needs --heta-benchmark"),
    "unknown benchmark": (["--heta-benchmark=nope", R], "unknown benchmark 'nope' (known: beir:scifact"),
    "near benchmark": (["--heta-benchmark=beir:scifct", R], "did you mean 'scifact'? (known: scifact, nfcorpus"),
    "no folder": (["--heta-benchmark=./nope", R], "nope: there is no such folder"),
    "no layout": (["--heta-benchmark=.", R], "must be in one benchmark layout, it is in none"),
    "unknown split": (["--heta-benchmark=data@dev", R], "no split 'dev', qrels/dev.tsv is missing (splits: test)"),
    "list and more": (["--heta-benchmark=list", "--heta-benchmark=data", R], "list"),
    "missing recipe": ([D, "--heta-recipe=none.py"], "none.py"),
    "no python": ([D, "--heta-recipe=data"], "recipe 'data': expected FILE.py or FILE.py:ATTRIBUTE"),
    "unknown attribute": ([D, "--heta-recipe=r.py:nope"], "r.py: has no 'nope' (it has: FOUND, search)"),
    "unknown mode": ([D, R, "--heta-mode=nope"], "unknown query mode 'nope' (known: search)"),
    "threshold without value": ([D, R, "--heta-min=ndcg@1"], "cannot read the threshold 'ndcg@1'"),
    "threshold no number": ([D, R, "--heta-max=ndcg@1=high"], "cannot read the threshold 'ndcg@1=high'"),
    "threshold nan": ([D, R, "--heta-case-min=ndcg@1=nan"], "cannot read the threshold 'ndcg@1=nan'"),
    "unknown metric": ([D, R, "--heta-min=ndgc@1=0.5"], "unknown metric 'ndgc@1' (known: beir_ndcg@1"),
    "unknown case metric": ([D, R, "--heta-case-max=none=0.5"], "unknown metric 'none' (known: beir_ndcg@1"),
    "unknown metric mode": ([D, R, "--heta-min=nope.ndcg@1=0.5"], "unknown mode 'nope' (known: search)"),
    "depth": ([D, R, "--heta-top-k=0"], "--heta-top-k: invalid positive value: '0'"),
    "limit": ([D, R, "--heta-limit=x"], "--heta-limit: invalid positive value: 'x'"),
    "timeout": ([D, R, "--heta-timeout=-1"], "--heta-timeout: invalid seconds value: '-1'"),
    "same benchmark twice": ([D, "--heta-benchmark=./data", R], "have the same name: beir_data@test"),
    "offline": (["--heta-benchmark=beir:scifact", R, "--heta-offline"], "scifact"),
    "uda offline": (["--heta-benchmark=uda:fin", R, "--heta-offline"], "fin"),
}

FILES = {
    "recipe without recipe": (recipe("x = 1\n"), "r.py: has no 'recipe' (it has: x)"),
    "empty recipe": (recipe(""), "r.py: has no 'recipe' (it has: nothing)"),
    "recipe of a wrong kind": (recipe("recipe = 5\n"), "r.py:recipe is int, which is not a recipe"),
    "recipe that fails": (recipe("x = 1\nraise ValueError('not today')\n"), "r.py:2: ValueError: not today"),
    "recipe that exits": (recipe("import sys\nsys.exit('bye')\n"), "r.py:2: SystemExit: bye"),
    "recipe with bad syntax": (recipe("def recipe(:\n"), "r.py:1: SyntaxError: "),
    "recipe that lacks a module": (
        recipe("import nope_nope\n"),
        "r.py:1: ModuleNotFoundError: No module named 'nope_nope'",
    ),
    "factory that fails": (recipe("def recipe():\n    raise ValueError('no model')\n"), "r.py:2: ValueError: no model"),
    "class that fails": (
        recipe(f"class recipe:\n    def __init__(self): raise ValueError('no model')\n{BUILD}"),
        "r.py:recipe: ",
    ),
    "class that needs arguments": (
        recipe(f"class recipe:\n    def __init__(self, model): pass\n{BUILD}"),
        "r.py:recipe: TypeError: recipe.__init__() missing 1 required positional argument: 'model'",
    ),
    "no queries": (gone(f"data/{QUERIES}"), "data: queries.jsonl is missing"),
    "no qrels": (gone(f"data/{QRELS}"), "no split 'test', qrels/test.tsv is missing (splits: none)"),
    "queries no JSON": (data(QUERIES, '{"_id": "q1", "text": "a"}\n{"_id"\n'), "data/queries.jsonl:2: "),
    "queries no object": (data(QUERIES, "[1]\n"), "data/queries.jsonl:1: "),
    "queries without id": (data(QUERIES, '{"text": "a"}\n'), "data/queries.jsonl:1: "),
    "queries without text": (
        data(QUERIES, "".join(f'{{"_id": "{name}"}}\n' for name in GOLD)),
        "data/queries.jsonl:1: ",
    ),
    "query ids twice": (
        data(QUERIES, '{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n'),
        "data/queries.jsonl:2: _id 'q1' is already on line 1",
    ),
    "query missing": (data(QRELS, HEAD + "q9\td1\t1\n"), "data/qrels/test.tsv:2: query 'q9' is not in queries.jsonl"),
    "qrels empty": (data(QRELS, ""), "data/qrels/test.tsv: "),
    "qrels header only": (data(QRELS, HEAD), "data/qrels/test.tsv: "),
    "qrels short line": (data(QRELS, HEAD + "q1\td1\n"), "data/qrels/test.tsv:2: "),
    "qrels no grade": (data(QRELS, HEAD + "q1\td1\thigh\n"), "data/qrels/test.tsv:2: "),
    "qrels twice": (data(QRELS, HEAD + "q1\td1\t1\nq1\td1\t0\n"), "data/qrels/test.tsv:3: "),
    "wrong ini": (lambda project: project.write("pytest.ini", "[pytest]\nheta_top_k = many\n"), "heta_top_k"),
}


def one_message(result: pytest.RunResult, told: str) -> None:
    """See that the run ended with exit code 4 and one message that says ``told``."""
    text = clean(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, text
    errors = [line for line in result.errlines if "error: " in line.lower() and "ERROR: usage: " not in line]
    assert len(errors) == 1, text
    assert told in errors[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_cannot_be_used(project: Project, name: str) -> None:
    """A bad option ends the run with exit code 4 and one message that lists what there is."""
    args, told = OPTIONS[name]
    one_message(project.run(*args), told)


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_used(project: Project, name: str) -> None:
    """A bad recipe or data file ends the run with exit code 4 and one message with file and line."""
    change, told = FILES[name]
    change(project)
    one_message(project.run(D, R), told)


def test_workers_do_not_start_in_vain(project: Project) -> None:
    """Under xdist the same message comes once, from the process that reports."""
    project.spread = N2
    result = project.run(D, R, "--heta-min=none=1")
    one_message(result, "unknown metric 'none'")
    assert "created" not in result.stdout.str()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (gone("data/corpus.jsonl"), "data/corpus.jsonl"),
        (data("corpus.jsonl", '{"_id": "d1", "text": "a"}\n{"_id": \n'), "data/corpus.jsonl:2: "),
        (
            data("corpus.jsonl", '{"_id": "d1", "text": "a"}\n' * 2),
            "data/corpus.jsonl:2: _id 'd1' is already on line 1",
        ),
        (data("corpus.jsonl", '{"text": "a"}\n'), "data/corpus.jsonl:1: "),
        (data("corpus.jsonl", ""), "no documents"),
    ],
    ids=["missing", "no-json", "twice", "no-id", "empty"],
)
def test_a_corpus_that_cannot_be_read(project: Project, change: Callable[[Project], object], told: str) -> None:
    """The corpus is read when a knowledge base is built: each case is an error that names file and line."""
    from tests.plugin.project import BUILT

    project.write("r.py", BUILT)
    change(project)
    assert len(project.collected(D, R)) == 4
    result = project.evaluate("-q")
    assert result.ret == 1
    result.assert_outcomes(errors=4)
    assert sum(told in line for line in result.outlines if line.startswith(("DataError", "BuildError"))) == 4, clean(
        result
    )
    assert {case.status for case in project.report().cases} == {"errored"}
