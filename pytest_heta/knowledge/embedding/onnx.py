"""Sentence transformers as ONNX models, through onnxruntime and tokenizers (Reimers and Gurevych, 2019)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ModelFiles(NamedTuple):
    """The two files of a model."""

    model: Path
    tokenizer: Path


@dataclass(frozen=True)
class OnnxEmbedder:
    """A transformer whose last hidden states are averaged over the tokens of the text (mean pooling).

    The files come from ``folder`` if it is given (``file`` and ``tokenizer.json`` in it), else from the Hugging Face
    Hub, whose cache, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE are respected. A text is cut after ``max_length`` tokens.
    """

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    folder: Path | str | None = None
    file: str = "onnx/model.onnx"
    revision: str = "main"
    max_length: int = 256
    query_prefix: str = ""
    document_prefix: str = ""
    batch_size: int = 16
    threads: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _loaded: list[_Session] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._session().dimension

    def warm(self) -> None:
        """Load the model, which else the first text does."""
        self._session()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of documents, shape (len(texts), dimension), of length 1.

        Raises:
            RecipeError: the model is not there, or a library that runs it.
        """
        return self._embed([self.document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries in the same form."""
        return self._embed([self.query_prefix + text for text in texts])

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON, without loading anything."""
        return {
            "model": self.model,
            "folder": None if self.folder is None else str(self.folder),
            "file": self.file,
            "revision": self.revision,
            "max_length": self.max_length,
            "query_prefix": self.query_prefix,
            "document_prefix": self.document_prefix,
            "pooling": "mean",
        }

    def fingerprint(self) -> str:
        """Return the digests of the model's files, which are found (or downloaded) for it, and the versions."""
        digests = ", ".join(f"{path.name} {_sha256(path)}" for path in self.files())
        libraries = ", ".join(f"{name} {installed_version(name)}" for name in ("onnxruntime", "tokenizers"))
        return f"{digests}, {libraries}"

    def files(self) -> ModelFiles:
        """Find the model's files, and download them where they are not on this machine.

        Raises:
            RecipeError: they can be had neither here nor there; says what was tried and what to do.
        """
        return self._files_in_folder(Path(self.folder)) if self.folder is not None else self._files_of_hub()

    def _files_in_folder(self, folder: Path) -> ModelFiles:
        files = ModelFiles(folder / self.file, folder / "tokenizer.json")
        for path in files:
            if not path.is_file():
                raise RecipeError(
                    f"embedding model {self.model!r}: {path} does not exist; "
                    f"folder= must hold {self.file} (see file=) and tokenizer.json"
                )
        return files

    def _files_of_hub(self) -> ModelFiles:
        from huggingface_hub import hf_hub_download

        try:
            names = (self.file, "tokenizer.json")
            paths = [Path(hf_hub_download(self.model, name, revision=self.revision)) for name in names]
        except Exception as error:  # The hub's client raises its own, the network library's and the system's errors.
            why = (str(error).strip() or "no details").splitlines()[0]
            raise RecipeError(
                f"embedding model {self.model!r}: {self.file} is not in the Hugging Face cache and the download failed "
                f"({type(error).__name__}: {why}); connect to {os.environ.get('HF_ENDPOINT', 'huggingface.co')} once, "
                f"or give the model as a local folder=..."
            ) from error
        return ModelFiles(*paths)

    def _session(self) -> _Session:
        with self._lock:
            if not self._loaded:
                self._loaded.append(_Session(self.files(), self.max_length, self.threads))
            return self._loaded[0]

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        session = self._session()
        vectors = np.empty((len(texts), session.dimension), dtype=np.float32)
        # Neighbours in length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for batch in _batches(order, self.batch_size):
            vectors[batch] = session.run([texts[index] for index in batch])
        return vectors


class _Session:
    """A loaded model. onnxruntime and tokenizers may be called from several threads at once."""

    def __init__(self, files: ModelFiles, max_length: int, threads: int) -> None:
        onnxruntime, tokenizers = require("onnxruntime", "onnx"), require("tokenizers", "onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self._model = onnxruntime.InferenceSession(files.model, options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        except Exception as error:  # Neither library has a base of its own for its errors.
            raise RecipeError(f"the model in {files.model.parent} cannot be loaded: {error}") from error
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.enable_padding()
        self._inputs = [each.name for each in self._model.get_inputs()]
        self.dimension = _dimension(files.model, self._model.get_outputs()[0].shape)

    def run(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the pooled vectors of one batch, shape (len(texts), dimension), of length 1."""
        import numpy as np

        from pytest_heta.knowledge.vector import normalised

        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([each.attention_mask for each in encoded], dtype=np.int64)
        feeds = {
            "input_ids": np.array([each.ids for each in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([each.type_ids for each in encoded], dtype=np.int64),
        }
        states = self._model.run(None, {name: feeds[name] for name in self._inputs})[0]
        weights = mask[:, :, None].astype(np.float32)
        sums = (states * weights).sum(axis=1)
        return normalised(sums / np.maximum(weights.sum(axis=1), 1))


def _dimension(model: Path, shape: list[Any]) -> int:
    if len(shape) != 3 or not isinstance(shape[-1], int):
        raise RecipeError(f"{model}: its first output has the shape {shape}, not (texts, tokens, dimension)")
    return shape[-1]


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(order), size):
        yield order[first : first + size]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
