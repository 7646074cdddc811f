"""Ids of every kind become node ids that can be pasted, are unique, and are told apart in the report."""

from __future__ import annotations

from hashlib import sha256

from tests.plugin.project import EVALUATION, Project

ODD = [
    "two words",
    "a/b",
    "a\\b",
    "a::b",
    "a[1]",
    "[x]",
    "]",
    "Größe 日本語",
    "🍎",
    "\u2028line",
    "-k",
    "%20&=?#*'\"`$(x)",
    "x" * 300,
    "x" * 299 + " ",
    "CASE",
    "case",
    "Case",
    ".",
    "..",
    "a.b-c_d",
    "corpus",
    "12",
]


def test_ids_of_every_kind_run_and_can_be_pasted(spread: Project) -> None:
    """Each id has one item of letters, digits and ._- only; the report holds the original; -k and paths find them."""
    ids = [name for name in ODD if name == name.strip()]
    spread.benchmark(queries=dict.fromkeys(ids, "apples"), gold=dict.fromkeys(ids, "d1"))
    spread.evaluate().assert_outcomes(passed=len(ids))
    found = spread.report().cases
    assert [result.case_id for result in found] == ids
    nodes = {result.case_id: str(result.node_id) for result in found}
    assert len({node.casefold() for node in nodes.values()}) == len(ids) - 2
    for name, node in nodes.items():
        item = node.removeprefix("r.py::beir_data@test::corpus::").removesuffix("[search]")
        assert set(item) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
        assert item == name or item.endswith(sha256(name.encode()).hexdigest()[:8])
        assert len(item) <= 300
    pasted = [nodes[name] for name in ("a::b", "]", "🍎", "CASE", "..", "x" * 300)]
    spread.evaluate(*pasted).assert_outcomes(passed=len(pasted))
    assert [result.node_id for result in spread.report().cases] == [node for node in nodes.values() if node in pasted]


def test_an_id_that_looks_like_the_name_of_another_stays_apart(project: Project) -> None:
    """An id that is spelled as another's node name is does not displace it."""
    trap = "two-words-" + sha256(b"two words").hexdigest()[:8]
    project.benchmark(queries={"two words": "apples", trap: "pears"}, gold={"two words": "d1", trap: "d2"})
    ids = project.collected(*EVALUATION)
    assert len(set(ids)) == 2
    project.evaluate(ids[0]).assert_outcomes(passed=1)
    assert [result.case_id for result in project.report().cases] == ["two words"]


def test_case_ids_twice_are_refused(project: Project) -> None:
    """A benchmark with the same case id twice is an error that names the id."""
    project.write(
        "own.py",
        "from pytest_heta import BeirBenchmark\n"
        "class Own(BeirBenchmark):\n"
        "    async def cases(self, prepared):\n"
        "        async for case in super().cases(prepared):\n"
        "            yield case\n"
        "            yield case\n"
        "benchmark = Own('data', data_root='data')\n",
    )
    result = project.run("--heta-benchmark=own.py", "--heta-recipe=r.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: benchmark beir_data has duplicate case ids: 'q1', 'q2', *"])
