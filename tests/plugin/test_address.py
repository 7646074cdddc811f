"""An address as a recipe, without a file, before a real server: in any spread and every way of use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.__main__ import main
from pytest_heta.calling import call
from pytest_heta.keys import document_id_of
from tests.integrations.helpers import build
from tests.integrations.server import Reply, Request, serving
from tests.plugin.project import ALONE, GOLD, N2, SEARCH, Project, clean, statuses

HANDBOOK = Path(__file__).parents[2] / "benchmarks/handbook"
OPTIONS = "#results=hits.hits&document_id=_id&score=_score"
BELOW = "::beir_data@test::corpus::"


class Service:
    """Searches as ``r.py`` does, and takes ``seconds`` for it.

    ``requests`` are all that came, ``refusals`` what the next of them get instead of an answer.
    """

    def __init__(self) -> None:
        """Begin without requests."""
        self.requests: list[Request] = []
        self.seconds = 0.0
        self.refusals: list[Reply] = []
        self._search: dict[str, Any] = {}
        exec(SEARCH, self._search)

    async def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        self.requests.append(request)
        if self.refusals:
            return self.refusals.pop(0)
        await asyncio.sleep(self.seconds)
        found = self._search["search"](request.query["q"], int(request.query["k"]))
        return Reply({"hits": {"hits": [{"_id": name, "_score": score} for name, score in found]}})


@pytest.fixture
def service() -> Service:
    """What is behind the address."""
    return Service()


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """The address at which the service is asked."""
    with serving(service) as url:
        yield f"{url}/search?q={{query}}&k={{top_k}}"


def name_of(address: str) -> str:
    """Return what node ids call the recipe."""
    return address.split("/")[2].replace(":", "-")


def anchor_of(name: str) -> str:
    """Return the file with which its node ids begin."""
    return f".heta/recipes/{name}.url"


def arguments(*recipes: str) -> list[str]:
    """Return the arguments of an evaluation."""
    return ["--heta-benchmark=data", "--heta-report=out.json", *(f"--heta-recipe={recipe}" for recipe in recipes)]


def test_an_address_is_evaluated_like_a_file(spread: Project, address: str) -> None:
    """The scores are those of the same search in a file; gates hold; the report names host and port."""
    spread.run(*arguments("r.py"), "--heta-min=ndcg@1=0.5").assert_outcomes(passed=5)
    expected = spread.report()
    result = spread.run(*arguments(address + OPTIONS), "--heta-min=ndcg@1=0.5")
    result.assert_outcomes(passed=5)
    assert f"recipe {address.split('/')[2]}" in clean(result)
    report = spread.report()
    assert report.score_summary == expected.score_summary
    assert [case.hits for case in report.cases] == [case.hits for case in expected.cases]
    assert report.cases[0].node_id == f"{anchor_of(name_of(address))}{BELOW}q1[search]"
    assert report.recipe["name"] == address.split("/")[2]
    assert report.knowledge_base_name == f"beir_data-{name_of(address)}"


@pytest.mark.parametrize("spread_args", [("-p", "xdist", "-n0"), N2], ids=["n0", "n2"])
def test_the_handbook_through_an_address(project: Project, spread_args: tuple[str, ...]) -> None:
    """All 44 cases score as through the recipe file of the same search, to six digits."""
    pytest.importorskip("bm25s", reason="bm25s is not installed: pip install 'pytest-heta[bm25]'")
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed: pip install 'pytest-heta[bm25]'")
    from recipes.bm25 import recipe

    rows = [json.loads(line) for line in (HANDBOOK / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    kb = asyncio.run(build(recipe, {row["_id"]: f"{row['title']}\n\n{row['text']}" for row in rows}))

    async def handler(request: Request) -> Reply:
        query, top_k = request.query["q"], int(request.query["k"])
        response = await call(kb.query, query, mode="full_text_search", top_k=top_k)
        return Reply({"hits": [{"key": document_id_of(hit), "score": hit.score} for hit in response.results]})

    project.spread = spread_args
    project.write("bm25.py", "from recipes.bm25 import recipe\n")
    benchmark, report = f"--heta-benchmark={HANDBOOK}", "--heta-report=out.json"
    project.run(benchmark, report, "--heta-recipe=bm25.py").assert_outcomes(passed=44)
    expected = {name.partition(".")[2]: mean for name, mean in project.report().score_summary.items()}
    with serving(handler) as url:
        address = f"{url}/search?q={{query}}&k={{top_k}}#results=hits&document_id=key"
        project.run(benchmark, report, f"--heta-recipe={address}").assert_outcomes(passed=44)
    found = {name.partition(".")[2]: mean for name, mean in project.report().score_summary.items()}
    assert found == pytest.approx(expected, abs=5e-7)
    assert expected["beir_ndcg@10"] > 0.6


def test_a_slow_flaky_limited_service_answers_in_the_end(project: Project, address: str, service: Service) -> None:
    """A 503 with Retry-After, a 429 and a 500 are tried again; the header comes from the environment."""
    service.refusals = [Reply({}, 503, {"retry-after": "0.05"}), Reply({}, 429, {"retry-after": "0"}), Reply({}, 500)]
    service.seconds = 0.02
    project.run(*arguments(f"{address}{OPTIONS}&requests_per_second=200&max_concurrency=1")).assert_outcomes(passed=4)
    report = project.report()
    assert set(statuses(report).values()) == {"finished"}
    assert len(service.requests) == 4 + 3
    assert report.score_summary["search.beir_ndcg@1"] == 0.5


def test_a_node_id_can_be_pasted(spread: Project, address: str) -> None:
    """Even where nothing of an earlier run is left."""
    ids = spread.collected(*arguments(address + OPTIONS))
    assert len(ids) == len(GOLD)
    (spread.path / anchor_of(name_of(address))).unlink()
    spread.run(*arguments(address + OPTIONS), ids[1]).assert_outcomes(passed=1)
    assert [case.case_id for case in spread.report().cases] == ["q2"]


def test_what_failed_last_runs_again(project: Project, address: str) -> None:
    """``--lf`` finds the failed cases of an address, those of a file beside it as well."""
    args = [*arguments(address + OPTIONS, "r.py"), "--heta-case-min=ndcg@1=0.5"]
    project.run(*args).assert_outcomes(passed=4, failed=4)
    project.run(*args, "--lf").assert_outcomes(failed=4)


def test_a_run_goes_on(spread: Project, address: str, service: Service) -> None:
    """``--heta-resume`` asks nothing that was answered, and all that failed."""
    service.refusals = [Reply({"detail": "no"}, 403)]
    args = arguments(f"{address}{OPTIONS}&max_concurrency=1")
    spread.run(*args).assert_outcomes(passed=3, errors=1)
    service.requests.clear()
    spread.run(*args, "--heta-resume").assert_outcomes(passed=4)
    assert len(service.requests) == 1
    service.requests.clear()
    spread.run(*args, "--heta-resume").assert_outcomes(passed=4)
    assert service.requests == []


def test_two_addresses_of_one_host_stay_apart(spread: Project, address: str) -> None:
    """They have names, node ids, folders and reports of their own; one with a name keeps it."""
    recipes = (f"{address}{OPTIONS}&name=live", f"{address}&x=1{OPTIONS}", f"{address}&x=2{OPTIONS}")
    spread.run(*arguments(*recipes)).assert_outcomes(passed=12)
    files = sorted(path.name for path in spread.path.glob("out-*.json"))
    names = {name.removeprefix("out-beir_data-").removesuffix(".json") for name in files}
    assert len(names) == 3
    assert "live" in names
    for name in names:
        report = spread.report(f"out-beir_data-{name}.json")
        assert report.cases[0].node_id == f"{anchor_of(name)}{BELOW}q1[search]"
        assert report.recipe["name"].replace(":", "-") == name
    assert len(list((spread.path / ".heta/runs").glob("*/heta-recipes-*/report.json"))) == 3


def test_the_order_of_recipes_is_that_of_the_options(project: Project, address: str) -> None:
    """An address that is named first is what the others are compared with."""
    result = project.run(*arguments(f"{address}{OPTIONS}&name=live", "r.py"))
    assert "[1] live, search (the others are compared with it)" in clean(result)


def test_an_address_in_a_suite_and_in_the_ini_file(spread: Project, address: str) -> None:
    """A suite may mix addresses and files; ``addopts`` takes an address in quotes."""
    recipes = json.dumps([f"{address}{OPTIONS}", f"{address}{OPTIONS}&name=live", "r.py"])
    spread.write("a.heta.toml", f'benchmark = "data"\nrecipe = {recipes}\n[min]\n"ndcg@1" = 0.5\n')
    spread.run("--heta-report=out.json").assert_outcomes(passed=15)
    assert spread.report("out-beir_data-live.json").cases[0].node_id == (
        "a.heta.toml::beir_data@test+live::corpus::q1[search]"
    )
    (spread.path / "a.heta.toml").unlink()
    spread.write("pytest.ini", f"[pytest]\naddopts = --heta-benchmark=data --heta-recipe='{address}{OPTIONS}'\n")
    spread.run().assert_outcomes(passed=4)


def test_two_addresses_of_one_host_in_a_suite(project: Project, address: str) -> None:
    """They stay apart there too."""
    recipes = json.dumps([f"{address}&x=1{OPTIONS}", f"{address}&x=2{OPTIONS}"])
    project.write("a.heta.toml", f'benchmark = "data"\nrecipe = {recipes}\n')
    project.run().assert_outcomes(passed=8)


def test_an_address_in_a_mark(project: Project, address: str) -> None:
    """A test of one's own gets what the service found."""
    project.write(
        "test_own.py",
        f"import pytest\n@pytest.mark.heta(benchmark='data', recipe='{address}{OPTIONS}')\n"
        "def test_own(heta_case, heta_response):\n    assert len(heta_response.results) == "
        "{'apples': 2, 'pears': 2, 'fish': 1, 'stones': 0}[heta_case.query]\n",
    )
    project.run("test_own.py").assert_outcomes(passed=4)


NO_FISH = """
import pytest

@pytest.fixture(autouse=True)
def no_fish(heta_case):
    if heta_case.query == "fish":
        pytest.fail("no fish")
"""


def test_the_conftest_of_the_root_folder_holds(project: Project, address: str) -> None:
    """Its fixtures decide on the cases of an address."""
    project.write("conftest.py", NO_FISH)
    project.run(*arguments(address + OPTIONS)).assert_outcomes(passed=3, errors=1)


def test_the_folder_of_runs_may_be_a_link(project: Project, address: str, service: Service) -> None:
    """Where it leads out of the root folder, the conftest.py there holds all the same, and a run goes on."""
    root = project.path / "root"
    (project.path / "shared").mkdir()
    project.write("root/conftest.py", NO_FISH)
    (root / ".heta").symlink_to(project.path / "shared")
    args = [f"--rootdir={root}", *arguments(address + OPTIONS)]
    project.run(*args).assert_outcomes(passed=3, errors=1)
    assert project.report().cases[0].node_id == f"{anchor_of(name_of(address))}{BELOW}q1[search]"
    service.requests.clear()
    project.run(*args, "--heta-resume").assert_outcomes(passed=3, errors=1)
    assert service.requests == []


def test_secrets_are_nowhere(spread: Project, address: str, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the address or from the environment reaches the server, and no file, node id, line or error."""
    monkeypatch.setenv("SEARCH_TOKEN", "hush-env-1")
    service.refusals = [Reply({"detail": "no"}, 403)]
    recipe = f"{address}&api_key=hush-url-1{OPTIONS}&header.Authorization=Bearer ${{SEARCH_TOKEN}}"
    result = spread.run(*arguments(recipe), "--heta-report=out.html", "--junitxml=out.xml", "-v")
    result.assert_outcomes(passed=3, errors=1)
    assert {request.query["api_key"] for request in service.requests} == {"hush-url-1"}
    assert {request.headers["authorization"] for request in service.requests} == {"Bearer hush-env-1"}
    assert "hush" not in clean(result)
    files = [path for path in spread.path.rglob("*") if path.is_file()]
    assert {"out.json", "out.html", "out.xml", "report.json"} <= {path.name for path in files}
    assert [path for path in files if b"hush" in path.read_bytes() or "hush" in path.name] == []


def test_a_missing_variable_is_named(project: Project, address: str) -> None:
    """Each case fails with its name and that of the header."""
    result = project.run(*arguments(f"{address}{OPTIONS}&header.Authorization=Bearer ${{NO_TOKEN}}"))
    result.assert_outcomes(errors=4)
    assert "header 'Authorization' needs the environment variable NO_TOKEN, which is not set" in clean(result)


@pytest.mark.parametrize("spread_args", [ALONE, N2], ids=["no-xdist", "n2"])
@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("https://me:hush@h/{query}", "recipe 'https://***@h/{query}': no user or password may stand in it"),
        (
            "https://h/{query}#resluts=a",
            "recipe 'https://h/{query}': unknown option 'resluts'; did you mean 'results'?",
        ),
    ],
)
def test_a_bad_address_ends_the_run_at_once(
    project: Project, spread_args: tuple[str, ...], recipe: str, message: str
) -> None:
    """Exit code 4 and one message, in a suite too."""
    project.spread = spread_args
    result = project.run(*arguments(recipe))
    assert result.ret == 4
    assert clean(result).count(message) == 1
    project.write("a.heta.toml", f'benchmark = "data"\nrecipe = "{recipe}"\n')
    assert f"a.heta.toml: {message}" in clean(project.run())


def test_a_root_folder_that_takes_no_files(project: Project, address: str) -> None:
    """The message says what the file is for."""
    project.write(".heta", "in the way")
    result = project.run(*arguments(address + OPTIONS))
    assert result.ret == 4
    assert f"an address as a recipe takes a file below {project.path / '.heta'}: " in clean(result)


def test_the_checker_takes_an_address(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And masks what is secret in it."""
    assert main(["check", f"{address}&api_key=hush{OPTIONS}", "--query=apples", "--query=fish"]) == 0
    assert "ok      determinism [search]" in capsys.readouterr().out
    assert main(["check", f"{address}&api_key=hush{OPTIONS}", "--query=unknown"]) == 1
    told = capsys.readouterr().out
    assert "Error" in told
    assert "hush" not in told
