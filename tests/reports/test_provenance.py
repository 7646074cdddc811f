"""Where a report comes from, and that nothing secret leaves through it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_heta.masking import is_secret_name, mask, mask_text
from pytest_heta.records import EvaluationError, KnowledgeBaseReport
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.provenance import git_state, mask_command, mask_report, provenance
from tests.reports.samples import errored, finished, report_of

SECRET = "s3cr3t-Value"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "api_key",
        "apiKey",
        "API-KEY",
        "X-Auth-Token",
        "dbPassword",
        "secret",
        "openai_key",
        "Authorization",
        "--token",
        "access_tokens",
        "client.secret",
        "passwd",
        "aws_secret_access_key",
        "credentials",
        "private_key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    """Whatever the spelling: snake, camel, kebab or dotted."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "tokens",
        "max_tokens",
        "tokenizer",
        "source_key",
        "cache_key",
        "keyword",
        "top_k",
        "passages",
        "author",
        "key_count",
        "public_key",
        "monkey",
        "chunk_tokens",
        "name",
    ],
)
def test_names_that_only_look_like_it(name: str) -> None:
    """Settings of recipes keep their values."""
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://user:{SECRET}@host:5432/db", "postgresql://***@host:5432/db"),
        (f"https://user:p@{SECRET}@host/x?a=1", "https://***@host/x?a=1"),
        (f"url=https://host/x?token={SECRET}#top", "url=https://host/x?token=***"),
        (f"https://host/x?api_key={SECRET}&page=2", "https://host/x?api_key=***&page=2"),
        (f'{{"password": "{SECRET} more", "n": 1}}', '{"password": "***", "n": 1}'),
        (f"401 for Authorization: Bearer {SECRET}", "401 for Authorization: *** ***"),
        (f"curl -H 'bearer {SECRET}'", "curl -H 'bearer ***'"),
        ("failed with sk-abcdefghijklmnop1234", "failed with ***"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789, AKIAABCDEFGHIJKLMNOP", "***, ***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF", "***"),
        ("ndcg@10=0.65 mail me@host.org http://host/a@b", "ndcg@10=0.65 mail me@host.org http://host/a@b"),
        ("beir:scifact?data_root=/data&max_tokens=512", "beir:scifact?data_root=/data&max_tokens=512"),
    ],
)
def test_secrets_in_texts(text: str, shown: str) -> None:
    """In URLs, in queries, in JSON, in headers, by their form; all else stays."""
    assert mask_text(text) == shown
    assert mask_text(shown) == shown


def test_secrets_in_manifests() -> None:
    """All texts under a secret name go, however deep; numbers and what has another name stay."""
    manifest = {
        "url": f"http://me:{SECRET}@host",
        "api_key": SECRET,
        "auth": {"user": "me", "parts": [SECRET, 1]},
        "chunker": {"by": "tokens", "max_tokens": 512, "token": None, "key": ""},
    }
    assert mask(manifest) == {
        "url": "http://***@host",
        "api_key": "***",
        "auth": {"user": "***", "parts": ["***", 1]},
        "chunker": {"by": "tokens", "max_tokens": 512, "token": None, "key": ""},
    }


def test_secrets_in_a_command_line() -> None:
    """Behind an equals sign, or as the argument that follows."""
    command = ["pytest", f"--heta-api-key={SECRET}", "--token", SECRET, "-k", "token", f"http://u:{SECRET}@h"]
    assert mask_command(command) == ["pytest", "--heta-api-key=***", "--token", "***", "-k", "token", "http://***@h"]


def test_no_planted_secret_is_in_the_file(tmp_path: Path) -> None:
    """Recipe, manifest and error of a knowledge base, error of a case, selection and metadata are masked."""
    url = f"https://me:{SECRET}@host"
    error = EvaluationError(message=f"cannot reach {url}", error_type="QueryError")
    base = KnowledgeBaseReport(unit_id="corpus", name="kb", manifest={"dsn": SECRET, "n": 1}, error=error)
    report = report_of(
        [finished("1", {"a": 0.5}), errored("2", f"password={SECRET}")],
        ("a",),
        recipe={"name": "r", "api_key": SECRET, "modes": {"m": {"url": url}}},
        knowledge_bases=(base,),
        selection={"spec": f"beir:x?dataset_url={url}"},
        metadata=provenance(tmp_path, ["pytest", "--password", SECRET]),
    )
    write_report(tmp_path / "report.json", mask_report(report))
    text = (tmp_path / "report.json").read_text()
    assert SECRET not in text
    assert text.count("***") == 7
    assert mask_report(report).cases[0] is report.cases[0]


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_the_state_of_the_repository_is_noted(tmp_path: Path) -> None:
    """Commit, branch, and whether a file differs or is new; no branch where the head is detached."""
    _git(tmp_path, "init")
    (tmp_path / "file").write_text("1")
    assert git_state(tmp_path) is None  # nothing is committed yet
    _git(tmp_path, "add", "file")
    _git(tmp_path, "commit", "-m", "first")
    (tmp_path / "below").mkdir()
    clean = git_state(tmp_path / "below")
    assert clean is not None
    assert (len(clean["commit"]), clean["branch"], clean["dirty"]) == (40, "main", False)
    (tmp_path / "new").write_text("2")
    assert git_state(tmp_path) == clean | {"dirty": True}
    _git(tmp_path, "checkout", "--detach")
    assert git_state(tmp_path) == clean | {"branch": None, "dirty": True}


def test_without_git_there_is_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a missing program nor a missing repository is an error; the host is noted all the same."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = provenance(tmp_path, ["pytest"])
    assert list(found) == ["command", "host"]
    assert list(found["host"]) == ["name", "system", "machine", "cpus"]
    monkeypatch.setenv("PATH", "")
    assert git_state(tmp_path) is None
