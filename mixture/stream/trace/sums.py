"""What a run has read before a step: by domain, by an attribute of documents, or by a column of the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mixture.data.store import Store, require_agreement
from mixture.errors import StoreError, nearest
from mixture.lock import Lock, Mask
from mixture.schedule import Coverage, Schedule

I64 = npt.NDArray[np.int64]
Value = str | int | float | bool | None

DOMAIN = "domain"
MOST_VALUES = 1_000_000
"""Different values that are summed by: an attribute with more says which document it is, not of what kind."""
SUMS = ("documents", "tokens", "tokens_with_repeats", "tokens_masked")


@dataclass(frozen=True, slots=True)
class ReadValue:
    """What was read of the documents with one value. None: they have none.

    documents:           of which at least one token was read
    tokens:              different ones that were read
    tokens_with_repeats: all that were read, each as often as it was
    tokens_masked:       beside them: those that stood in sequences, and that the stream hid
    """

    value: Value
    documents: int
    tokens: int
    tokens_with_repeats: int
    tokens_masked: int


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """What steps 0 to step - 1 read, and of it by each value of the column `by`, most tokens with repeats first."""

    step: int
    by: str
    values: tuple[ReadValue, ...]

    @property
    def total(self) -> ReadValue:
        """All values together."""
        sums = (sum(getattr(value, name) for value in self.values) for name in SUMS)
        return ReadValue(None, *sums)


def read_so_far(lock: Lock, store: Store, step: int, *, by: str = DOMAIN) -> ReadSoFar:
    """What all steps before `step` read, exact to the token, by `domain`, an attribute or a column of the catalog.

    Memory: one domain at a time, what `Coverage` says of it (150 MiB where an epoch of 6.8·10^11 tokens in blocks of
    262,144 is half through); a row group of documents.parquet at a time; and the sums by value. Time: a pass over the
    places of all documents of the domains that were read, and over their column.

    Errors: StoreError `unknown-column`, `too-many-values`, and where the store is not the lock's or can not be read;
    ScheduleError `step-out-of-range`.
    """
    require_agreement(store, lock)
    schedule = lock.schedule()
    of_domain = _values_by_domain(store, by)
    sums: Counter[tuple[Value, str]] = Counter()
    for d, drawn in enumerate(schedule.counts(step).tolist()):
        if not drawn:
            continue
        name = schedule.names[d]
        masks = [mask for mask in lock.masks if mask.domain == name and mask.first_step < step]
        read = _DomainRead(schedule, d, step, masks)
        for table in _documents_read(store, name, read, by if of_domain is None else None):
            _add(sums, table, None if of_domain is None else of_domain[name])
            if len(sums) > MOST_VALUES * len(SUMS):
                raise StoreError(
                    f"'{by}' has more than {MOST_VALUES:,} different values",
                    code="too-many-values",
                    hint="take a column that says of what kind a document is",
                    column=by,
                )
    values = dict.fromkeys(value for value, _ in sums)
    read_values = [ReadValue(value, *(sums[value, name] for name in SUMS)) for value in values]
    read_values.sort(
        key=lambda read_value: (-read_value.tokens_with_repeats, read_value.value is None, str(read_value.value))
    )
    return ReadSoFar(step, by, tuple(read_values))


class _DomainRead:
    """What was read of one domain before a step, masks looked at: a mask ends what is read of its tokens."""

    def __init__(self, schedule: Schedule, domain: int, step: int, masks: Sequence[Mask]) -> None:
        self._all = schedule.coverage(domain, step)
        self._masked: list[tuple[Coverage, I64, I64]] = []
        for begins in sorted({mask.first_step for mask in masks}):
            here = sorted((mask.first_token, mask.end) for mask in masks if mask.first_step == begins)
            first, end = np.array(here, np.int64).T
            self._masked.append((schedule.coverage(domain, begins), first, end))

    def before(self, tokens: I64) -> tuple[I64, I64, I64]:
        """Of the first `tokens` [n] tokens: how many were read, how often in all, and how often they were hidden."""
        read, in_all = self._all.before(tokens)
        hidden = np.zeros(tokens.size, np.int64)
        for until, first, end in self._masked:
            lost_read, lost = self._lost(until, first, end, tokens)
            read = read - lost_read
            hidden += lost
        return read, in_all - hidden, hidden

    def _lost(self, until: Coverage, first: I64, end: I64, tokens: I64) -> tuple[I64, I64]:
        """What was not read of the first `tokens` [n] tokens since masks [m], in order of place, hid them."""
        whole = np.searchsorted(end, tokens, side="right")
        at = np.minimum(whole, first.size - 1)
        inside = np.clip(tokens, first[at], end[at])
        inside = np.where(whole < first.size, inside, first[at])
        sums = []
        for by_end, by_first, by_inside, by_at in zip(
            *(self._since(until, places) for places in (end, first, inside, first[at])), strict=True
        ):
            before = np.concatenate([[0], np.cumsum(by_end - by_first)])
            sums.append(before[whole] + by_inside - by_at)
        return sums[0], sums[1]

    def _since(self, until: Coverage, tokens: I64) -> tuple[I64, I64]:
        (read, in_all), (read_until, in_all_until) = self._all.before(tokens), until.before(tokens)
        return read - read_until, in_all - in_all_until


def _documents_read(store: Store, name: str, read: _DomainRead, attribute: str | None) -> Iterator[pa.Table]:
    """The documents of a domain that stood in sequences, a part at a time: `value`, where asked for, and the sums."""
    columns = ["first_token", "tokens"] + ([] if attribute is None else [attribute])
    for part in store.scan_documents(name, columns):
        first = part["first_token"].to_numpy()
        end = first + part["tokens"].to_numpy()
        if store.packed is None:
            tokens, in_all, masked = (np.diff(sums) for sums in read.before(np.append(first, end[-1:])))
        else:  # what lies between documents is padding
            bounds = np.stack([first, end], axis=1).reshape(-1)
            tokens, in_all, masked = (np.diff(sums)[::2] for sums in read.before(bounds))
        made = {
            "documents": (tokens > 0).astype(np.int64),
            "tokens": tokens,
            "tokens_with_repeats": in_all,
            "tokens_masked": masked,
        }
        table = pa.table(made if attribute is None else made | {"value": part[attribute]})
        yield table.filter((in_all > 0) | (masked > 0))


def _add(sums: Counter[tuple[Value, str]], table: pa.Table, value: Value) -> None:
    """Add a part's sums, by its column `value`, or all under the one value given where it has none."""
    if "value" not in table.column_names:
        for name in SUMS:
            if table.num_rows:
                sums[value, name] += pc.sum(table[name]).as_py()
        return
    grouped = table.group_by("value").aggregate([(name, "sum") for name in SUMS])
    for name in SUMS:
        for one, total in zip(grouped["value"].to_pylist(), grouped[f"{name}_sum"].to_pylist(), strict=True):
            sums[one, name] += total


def _values_by_domain(store: Store, by: str) -> dict[str, Value] | None:
    """What each domain's documents have in common of a column; None: each document has its own, an attribute."""
    if by == DOMAIN:
        return {name: name for name in store.domains}
    if by in store.attributes:
        return None
    labels = store.labels
    if by not in labels.column_names:
        known = [DOMAIN, *store.attributes, *labels.column_names[1:]]
        raise StoreError(
            f"neither documents nor the catalog of the store have a column '{by}'",
            code="unknown-column",
            hint=nearest(by, known) or f"there are {', '.join(known)}",
            column=by,
        )
    return dict(zip(labels[DOMAIN].to_pylist(), labels[by].to_pylist(), strict=True))
