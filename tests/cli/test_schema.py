"""``python -m pytest_heta schema``, and the schema that the documentation publishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.cli.schema import report_schema

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"


def test_the_published_schema_is_up_to_date() -> None:
    """If this fails: ``python -m pytest_heta schema --output docs/report.schema.json``."""
    assert PUBLISHED.read_text(encoding="utf-8") == report_schema()


def test_it_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text either way."""
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == report_schema()
    path = tmp_path / "deep" / "schema.json"
    assert main(["schema", "--output", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == report_schema()
    assert '"additionalProperties": false' in report_schema()
