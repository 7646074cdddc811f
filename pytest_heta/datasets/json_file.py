"""Files that are one JSON value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from pytest_heta.errors import DataError


def read_json(path: Path) -> Any:
    r"""Return the value in a UTF-8 JSON file.

    Raises:
        DataError: the file cannot be read or is not JSON (``path:line: what``). NaN and Infinity are not JSON.
            Half of a surrogate pair, which no UTF-8 can hold, is read as ``?``.

    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except json.JSONDecodeError as error:
        raise DataError.at(path, error.lineno, f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError.at(path, None, f"not JSON: {error}") from error
    except OSError as error:
        raise DataError.at(path, None, f"cannot be read: {error.strerror or error}") from error


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
