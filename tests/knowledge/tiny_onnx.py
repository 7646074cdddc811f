"""Writes a tiny ONNX model by hand: each token id becomes a row of a table, as a transformer's hidden states would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

_INT64, _FLOAT = 7, 1


def write_model(folder: Path, words: Sequence[str], table: Sequence[Sequence[float]]) -> None:
    """Write ``model.onnx`` and ``tokenizer.json``; word i has row i of the table, word 0 stands for unknown ones."""
    rows = np.array(table, dtype="<f4")
    weights = b"".join(_number(1, size) for size in rows.shape) + _number(2, _FLOAT) + _text(8, "table")
    gather = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    graph = _bytes(1, gather) + _text(2, "tiny") + _bytes(5, weights + _bytes(9, rows.tobytes()))
    graph += _bytes(11, _value("input_ids", _INT64, "batch", "sequence"))
    graph += _bytes(12, _value("last_hidden_state", _FLOAT, "batch", "sequence", rows.shape[1]))
    model = _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))
    (folder / "model.onnx").write_bytes(model)
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def _value(name: str, kind: int, *shape: int | str) -> bytes:
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    dimensions = b"".join(_bytes(1, size) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dimensions)))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
