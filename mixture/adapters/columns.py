"""What of a batch a trainer is given, as arrays by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from mixture.errors import StreamError
from mixture.stream import Batch, Stream, ids_as, ids_dtype

IGNORED = -100
"""A label of which no loss is taken: the default of torch's `cross_entropy`."""

Values = dict[str, npt.NDArray[np.generic] | int]


class Column(StrEnum):
    """Names of columns.

    INPUT_IDS:    [n, L], of the dtype that is asked for
    LABELS:       int64 [n, L], the token after each; -100 where no loss is to be taken (`Batch.loss_mask`). With
                  `shifted=False` each token itself, for models that shift labels, as those of transformers do
    LOSS_MASK:    bool [n, L], False where labels are -100
    POSITION_IDS: int64 [n, L], each token's place in its document (`Batch.position_ids`)
    DOCUMENT_IDS: int32 [n, L], which document of its row each token is of (`Batch.document_ids`)
    CU_SEQLENS:   int32 [segments + 1], and the integer `max_seqlen` beside it (`Batch.cu_seqlens`)
    DOMAIN, POSITION, EPOCH, FIRST_TOKEN: [n], as `Batch` has them
    """

    INPUT_IDS = "input_ids"
    LABELS = "labels"
    LOSS_MASK = "loss_mask"
    POSITION_IDS = "position_ids"
    DOCUMENT_IDS = "document_ids"
    CU_SEQLENS = "cu_seqlens"
    DOMAIN = "domain"
    POSITION = "position"
    EPOCH = "epoch"
    FIRST_TOKEN = "first_token"


_OF_LABELS = frozenset({Column.LABELS, Column.LOSS_MASK})
_OF_DOCUMENTS = frozenset({Column.POSITION_IDS, Column.DOCUMENT_IDS, Column.CU_SEQLENS})
_ALONG_ROWS = frozenset(
    {Column.INPUT_IDS, Column.LABELS, Column.LOSS_MASK, Column.POSITION_IDS, Column.DOCUMENT_IDS},
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a batch has; the integer `step` always stands beside them.

    names: what is given
    dtype: of input_ids; labels are int64 as torch's losses want them
    across_documents: whether a loss is taken of a document's first token behind the end of another
    shifted: whether label i is of token i + 1; False: of token i, and -100 for the first of each row, which no token
             precedes. A model that shifts labels takes no loss of the token after the row
    cp_rank, cp_size: context parallelism: of cp_size even, consecutive parts of each row the cp_rank-th is given.
           CU_SEQLENS stays that of whole rows
    """

    names: tuple[Column, ...] = (Column.INPUT_IDS, Column.LABELS, Column.DOMAIN, Column.POSITION)
    dtype: str = "int64"
    across_documents: bool = True
    shifted: bool = True
    cp_rank: int = 0
    cp_size: int = 1

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in list(Column):
                raise StreamError(f"there is no column {name!r}", code="unknown-column", hint=", ".join(Column))
        object.__setattr__(self, "names", tuple(map(Column, self.names)))  # plain texts are as good
        if not 0 <= self.cp_rank < self.cp_size:
            raise StreamError(
                f"there is no part {self.cp_rank} of a row in {self.cp_size} parts",
                code="rank-invalid",
                hint="cp_rank counts from 0 to cp_size - 1",
            )
        if self.cp_size > 1 and not self.shifted and self._of_labels:
            raise StreamError(
                "labels that the model shifts lose one token at the end of each part of a row",
                code="columns-conflict",
                hint="use shifted=True with cp_size; models of transformers take such labels as shift_labels",
            )

    @property
    def next_token(self) -> bool:
        """Whether rows have to be read with the token behind them."""
        return self.shifted and self._of_labels

    @property
    def documents(self) -> bool:
        """Whether documents have to be looked up."""
        return not _OF_DOCUMENTS.isdisjoint(self.names) or (self._of_labels and not self.across_documents)

    @property
    def _of_labels(self) -> bool:
        return not _OF_LABELS.isdisjoint(self.names)

    def check(self, stream: Stream) -> None:
        """Raise StreamError, `dtype-unfit` or `length-not-divisible`, where a stream's rows can not be given so."""
        ids_dtype(self.dtype, stream.store.dtype)
        for length in {segment.sequence_length for segment in stream.lock.data.segments}:
            if length % self.cp_size:
                raise StreamError(
                    f"rows of {length:,} tokens can not be cut into {self.cp_size} even parts",
                    code="length-not-divisible",
                    hint="cp_size has to divide every sequence length of the run",
                )

    def of(self, batch: Batch, vocabulary: int | None = None) -> Values:
        """The columns of a batch, each in memory of its own along rows, so that it may be viewed as one row.

        vocabulary: every id is below it; None: that is not known
        """
        if batch.next_token and not self.shifted:
            masked = None if batch.masked is None else batch.masked[:, :-1]
            batch = replace(batch, input_ids=batch.input_ids[:, :-1], masked=masked, next_token=False)
        values: Values = {"step": batch.step}
        for name in self.names:
            if name is Column.CU_SEQLENS:
                values[name], values["max_seqlen"] = batch.cu_seqlens()
            else:
                values[name] = self._column(batch, name, vocabulary)
        return values

    def _column(self, batch: Batch, name: Column, vocabulary: int | None) -> npt.NDArray[np.generic]:
        if name not in _ALONG_ROWS:
            column: npt.NDArray[np.generic] = getattr(batch, name)
            return column
        part = batch.length // self.cp_size
        here = slice(self.cp_rank * part, (self.cp_rank + 1) * part)
        match name:
            case Column.INPUT_IDS:
                ids = batch.input_ids[:, here]
                return np.ascontiguousarray(ids_as(ids, np.dtype(self.dtype), vocabulary))
            case Column.LABELS:
                labels = batch.input_ids[:, int(self.shifted) :][:, here].astype(np.int64)
                taken = self._loss_mask(batch)[:, here]
                if not taken.all():
                    labels[~taken] = IGNORED
                return np.ascontiguousarray(labels)
            case Column.LOSS_MASK:
                return np.ascontiguousarray(self._loss_mask(batch)[:, here])
            case Column.POSITION_IDS:
                return np.ascontiguousarray(batch.position_ids()[:, here])
            case _:
                return np.ascontiguousarray(batch.document_ids()[:, here])

    def _loss_mask(self, batch: Batch) -> npt.NDArray[np.bool_]:
        return batch.loss_mask(across_documents=self.across_documents)


DEFAULT = Columns()
