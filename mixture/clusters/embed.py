"""Models that make vectors of texts: any that is installed or on disk. Nothing is ever fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mixture.errors import ClusterError
from mixture.units import quote

TFIDF = "tfidf-svd"
"""The default, which needs no model; see tfidf.py."""
_WORDLLAMA = "wordllama"


class Embedder(Protocol):
    """A model: texts to vectors [texts, dimensions], float32, of any length, the same for the same text."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of some texts."""
        ...


@lru_cache(maxsize=1)  # a process does one partition after the other
def load_embedder(name: str) -> Embedder:
    """The model of this name or in this folder.

    `wordllama`: the package, which has its weights with it. A folder: a model of sentence-transformers or model2vec.
    Any other name: a model that sentence-transformers has in its cache. Errors: ClusterError `no-such-model`,
    `embedder-not-installed`.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"  # what is not here is not fetched
    if name == _WORDLLAMA:
        return _WordLlama()
    folder = Path(name)
    if folder.is_dir():
        kind = _StaticModel if _is_static(folder) else _SentenceModel
        return kind(str(folder))
    if os.sep in name and (name.startswith((".", os.sep)) or folder.parent.is_dir()):
        raise ClusterError(f"{quote(name)} is no folder of a model", code="no-such-model", hint=_HINT)
    return _SentenceModel(name)


_HINT = f"right here: {TFIDF}, {_WORDLLAMA}, a model's folder, or the name of one that sentence-transformers has here"


def shown_name(name: str) -> str:
    """What a model is called where all can read it: of one in a folder, the folder's name and not where it is."""
    folder = Path(name)
    return folder.resolve().name if folder.is_dir() else name


def _is_static(folder: Path) -> bool:
    config = folder / "config.json"
    return not (folder / "modules.json").exists() and config.exists() and "model2vec" in config.read_text("utf-8")


def _package(package: str, name: str) -> Any:  # noqa: ANN401 a module that need not be there
    try:
        return import_module(package.replace("-", "_"))
    except ImportError as error:
        message = f"the embedding {quote(name)} needs the package {package}, which is not installed"
        hint = f"pip install {package}; or {_HINT}"
        raise ClusterError(message, code="embedder-not-installed", hint=hint) from error


class _WordLlama:
    def __init__(self) -> None:
        wordllama = _package(_WORDLLAMA, _WORDLLAMA)
        # It looks for its own weights in a folder that it does not have: say where they are.
        place = Path(str(wordllama.__file__)).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=place, disable_download=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.embed(list(texts)), np.float32)


class _StaticModel:
    def __init__(self, folder: str) -> None:
        self._model: Any = _package("model2vec", folder).StaticModel.from_pretrained(folder)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts), use_multiprocessing=False), np.float32)


class _SentenceModel:
    def __init__(self, name: str) -> None:
        library = _package("sentence-transformers", name)
        try:
            self._model: Any = library.SentenceTransformer(name, device="cpu", local_files_only=True)
        except (OSError, ValueError) as error:
            raise ClusterError(f"the model {quote(name)} is not here", code="no-such-model", hint=_HINT) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts), show_progress_bar=False), np.float32)
