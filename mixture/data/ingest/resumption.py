"""What of an ingest is finished when it begins, and what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import version

from mixture._version import __version__
from mixture.data.ingest.holdout import Holdouts
from mixture.data.ingest.jobs import MergedDomain, MergeResult, ReadResult
from mixture.data.ingest.parts import Kept, Parts, asked_otherwise, note_asked, part_key, together, without_place
from mixture.data.ingest.sources import SourceGroup, Sources
from mixture.data.layout import BYTES, TokenizerRecord
from mixture.data.texts import EndInText, Piece, Unreadable, check_errors, split_all
from mixture.data.writing import Workplace, remove
from mixture.errors import IngestError
from mixture.names import HELD_OUT_ENDING

_ASKED = ("end_of_document", "end_of_document_in_text", "dtype", "seed", "file_tokens")
_FORMAT = "mixture-part/3"
_MERGE_BYTES = 1 << 23  # a part costs as much as to merge some MB: small domains are merged together
_MERGE_DOMAINS = 1000


class Earlier(StrEnum):
    """What becomes of the parts that an ingest to the same place had finished when it was stopped.

    GO_ON: those that belong into this store are used, the others removed
    ANEW:  all are removed
    """

    GO_ON = "go-on"
    ANEW = "anew"


@dataclass(frozen=True, slots=True)
class Resumed:
    """How an ingest goes on from one that was stopped.

    kept, parts: so many of so many parts are there
    dropped:     so many did not belong into this store, and were removed
    reasons:     in words, why: the options that the earlier ingest had otherwise; none where it is for the sources
    """

    kept: int
    parts: int
    dropped: int
    reasons: tuple[str, ...]


ResumedCallback = Callable[[Resumed], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What decides a store beside its sources."""

    tokenizer: TokenizerRecord
    end_of_document: int
    dtype: str
    seed: int
    file_tokens: int
    end_of_document_in_text: EndInText

    @property
    def asked(self) -> dict[str, str]:
        """In words, by name."""
        words = {"tokenizer": f"{self.tokenizer.name} ({str(self.tokenizer.digest)[:12]})"}
        return words | {name: str(getattr(self, name)) for name in _ASKED}

    def reading(self, group: SourceGroup, holdouts: Holdouts) -> tuple[object, ...]:
        """What decides what comes of a piece of some files, beside the piece."""
        library = "" if self.tokenizer.name == BYTES else version("tokenizers")
        made_with = (
            self.tokenizer.digest,
            self.end_of_document,
            self.end_of_document_in_text,
            self.dtype,
            self.seed,
        )
        held = sorted(holdouts.own.items()) if group.name is None else []
        bounds = [(name, one.bound) for name, one in held]
        others = (holdouts.others if group.name is None else holdouts.of(group.name)).bound
        return (_FORMAT, __version__, library, made_with, group.name, group.columns, bounds, others)


class Begun:
    """An ingest as it begins.

    pieces: of each group of files, those that are not read, by key
    totals: of each group, how many bytes all of its pieces are
    read:   of each group, what is read
    done:   of each group, how many bytes that is
    merged: what is merged, by name of the domain; merges: parts that it is in
    """

    def __init__(self, sources: Sources, options: Options, unreadable: Unreadable) -> None:
        """All of it is still to be done. Errors: those of `split`, of all files."""
        self.pieces: list[dict[str, Piece]] = []
        self._groups, self._holdouts = sources.groups, sources.holdouts
        self._numbers = {group.name: number for number, group in enumerate(self._groups)}
        self._decides: list[str] = []
        self._unreadable = unreadable
        errors: list[IngestError] = []
        for group in self._groups:
            reading = options.reading(group, self._holdouts)
            pieces = split_all(group.files, group.columns, errors)
            keys = {part_key(reading, replace(piece, file=without_place(piece.file))): piece for piece in pieces}
            self.pieces.append(keys)
            self._decides.append(part_key(reading, sorted(keys)))
        check_errors(errors, unreadable)
        self._options = (options.file_tokens, sources.attributes, sources.origin)
        self.totals = [sum(piece.size for piece in pieces.values()) for pieces in self.pieces]
        self.read: list[list[ReadResult]] = [[] for _ in self.pieces]
        self.done = [0] * len(self.pieces)
        self.merged: dict[str, MergedDomain] = {}
        self.merges = 0
        self._files = [file for group in self._groups for file in group.files]

    def merge_key(self, name: str) -> str:
        """The key of all that decides what a domain of the store has."""
        source = name.removesuffix(HELD_OUT_ENDING)
        made_of = [self._decides[number] for number in self._groups_of(source)]
        return part_key(self._options, made_of, self._holdouts.of(source), name)

    def merge_parts(self, sizes: Mapping[str, int]) -> Iterator[list[str]]:
        """The domains that are not merged, as they are merged together. sizes: of all, bytes of their runs, by name."""
        rest = {name: size for name, size in sizes.items() if name not in self.merged}
        return together(rest, most_bytes=_MERGE_BYTES, most=_MERGE_DOMAINS)

    @property
    def num_merges(self) -> int:
        """How many parts the store's domains are, as far as that is known: columns that name them may be unread."""
        sizes = {group.name: 0 for group in self._groups if group.name is not None}
        for run in (run for results in self.read for result in results for run in result.runs):
            name = run.domain + HELD_OUT_ENDING if run.held else run.domain
            sizes[name] = sizes.get(name, 0) + run.num_bytes
        return self.merges + sum(1 for _ in self.merge_parts(dict(sorted(sizes.items()))))

    def _groups_of(self, name: str) -> list[int]:
        """The groups of files that have documents of a domain, or may have some."""
        return [self._numbers[one] for one in (name, None) if one in self._numbers]

    def take(self, parts: Parts) -> None:
        """Take what is finished; the parts that are not taken are removed."""
        owner = {key: number for number, pieces in enumerate(self.pieces) for key in pieces}

        def is_wanted(kept: Kept[ReadResult]) -> bool:
            # What could not be read may be readable now.
            is_read = self._unreadable is Unreadable.QUARANTINE or not kept.result.unreadable
            return is_read and all(key in owner for key in kept.made_of)

        for kept in parts.take(ReadResult, is_wanted, self._files):
            number = owner[kept.made_of[0]]
            self.read[number].append(replace(kept.result, group=number))
            for key in kept.made_of:
                del owner[key]
                self.done[number] += self.pieces[number].pop(key).size
        for merge in parts.take(MergeResult, self._is_merged, ()):
            self.merges += 1
            self.merged |= {domain.record.name: domain for domain in merge.result.domains}

    def _is_merged(self, merge: Kept[MergeResult]) -> bool:
        names = [domain.record.name for domain in merge.result.domains]
        if merge.made_of != tuple(self.merge_key(name) for name in names):
            return False
        # What was merged of files of which one has changed since is not of this store.
        groups = {number for name in names for number in self._groups_of(name.removesuffix(HELD_OUT_ENDING))}
        return not any(self.pieces[number] for number in groups)


def begin(
    sources: Sources, options: Options, place: Workplace, earlier: Earlier, unreadable: Unreadable
) -> tuple[Begun, Parts, int, tuple[str, ...]]:
    """Look at the sources, and at what earlier ingests have finished; how many parts of theirs were removed, and in
    words, why. Errors: those of `split`.
    """
    begun = Begun(sources, options, unreadable)
    parts = Parts(place.folder)
    note_asked(place.folder, options.asked)
    reasons = asked_otherwise(place.left, options.asked)
    parts.adopt(place.left)
    remove(place.left)
    if earlier is Earlier.GO_ON:
        begun.take(parts)
    else:
        reasons = ["it begins anew"]
    return begun, parts, parts.drop_rest(), tuple(reasons)
