"""The first look at a partition: its documents' words, scores and labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixture.clusters.embed import TFIDF, Embedder, load_embedder
from mixture.clusters.names import check_label
from mixture.clusters.options import Label, Labels, Origin
from mixture.clusters.partitions import Partition, PartitionResult, Read, documents, folder_label, missing_label
from mixture.clusters.quality import measure, score
from mixture.clusters.vectors import VectorRows
from mixture.clusters.words import content_words, excerpt
from mixture.errors import IngestError

_TEXTS = 256  # that a model is given together
_MODEL_EXCERPT = 2048  # characters: models read no more than some hundreds of tokens


@dataclass(frozen=True, slots=True)
class SurveyTask:
    """Read a partition and write its vectors to `path`; where a file cannot be read, nothing is written."""

    partition: Partition
    path: Path
    seed: int
    labels: Labels
    embed: str

    def run(self) -> PartitionResult:
        """Errors: ClusterError `label-missing`, and as `check_label` and models."""
        errors: list[IngestError] = []
        model = None if self.embed == TFIDF else load_embedder(self.embed)
        rows = VectorRows()
        dense: list[NDArray[np.float32]] = []
        texts: list[str] = []
        for read in self._documents(errors):
            measured = measure(read.text)
            rows.ids.append(read.id)
            rows.keys.append(int.from_bytes(read.key[:8], "big"))
            rows.sizes.append(len(read.data))
            rows.scores.append(score(measured) if self.labels.quality.is_made else None)
            rows.clusters.append(self._label(self.labels.cluster, "cluster", read))
            rows.qualities.append(self._label(self.labels.quality, "quality", read))
            rows.add_terms(content_words(measured.counted))
            if model is not None:
                texts.append(excerpt(read.text, most=_MODEL_EXCERPT))
                if len(texts) == _TEXTS:
                    dense.append(model.embed(texts))
                    texts = []
        if not errors:
            rows.write(self.path, _together(model, dense, texts))
        return PartitionResult(self.partition.number, tuple(errors))

    def _documents(self, errors: list[IngestError]) -> Iterator[Read]:
        for read in documents(self.partition, seed=self.seed, errors=errors):
            if isinstance(read, Read):
                yield read

    def _label(self, label: Label, kind: str, read: Read) -> str | None:
        """A document's label; None where labels are made later."""
        match label.origin:
            case Origin.MADE:
                return None
            case Origin.COLUMN:
                value = read.attributes[self.partition.columns.attributes.index(label.name)]
            case Origin.FOLDER:
                value = folder_label(read.file, label.name)
        if not value or not value.strip():
            raise missing_label(f"{label.origin.value} {label.name!r}", read)
        check_label(value, kind, read)
        return value


def _together(model: Embedder | None, dense: list[NDArray[np.float32]], texts: list[str]) -> NDArray[np.float32] | None:
    if model is None:
        return None
    rest = [model.embed(texts)] if texts else []
    return np.concatenate([*dense, *rest]) if dense or rest else None
