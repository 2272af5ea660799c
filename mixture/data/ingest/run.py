"""From source files to a store."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np

from mixture.data.ingest.parts import leave_finished
from mixture.data.ingest.resumption import Earlier, ResumedCallback
from mixture.data.ingest.sources import Sources, read_sources
from mixture.data.ingest.work import Work
from mixture.data.layout import BYTES, FILE_TOKENS
from mixture.data.texts import Empty, IngestReport, ProgressCallback, Unfit, Unreadable
from mixture.data.writing import Tokenizer, choose_tokenizer, lasting_workplace, remove
from mixture.errors import IngestError, Place

_FILE_UNIT = 65_536
_OF_TOKENIZER = ("end_of_document", "tokenizer_name")  # keys of a sources file
_ALONE_BYTES = 1 << 24  # less than this is read sooner than processes start


def ingest(
    sources: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tokenizer: str = BYTES,
    processes: int | None = None,
    seed: int = 0,
    file_tokens: int = FILE_TOKENS,
    earlier: Earlier = Earlier.GO_ON,
    unfit: Unfit = Unfit.QUARANTINE,
    unreadable: Unreadable = Unreadable.REFUSE,
    empty: Empty = Empty.REFUSE,
    progress: ProgressCallback | None = None,
    resumed: ResumedCallback | None = None,
) -> IngestReport:
    """Make a store at `out` from the files that a sources file names.

    tokenizer:    `bytes`, or the path of a tokenizer.json
    processes:    None: as many as there are processors, one where there is little to do; the store is the same
    seed:         of the order of documents, which follows from it, the domain, and each document's id and text alone
    file_tokens:  the most that one file holds, a multiple of 65,536; how tokens are cut does not enter the digest
    earlier:      what becomes of the parts that an ingest to `out` had finished when it was stopped
    unfit:        what becomes of rows that are no documents: null, no UTF-8, no JSON, without a domain, …
    unreadable:   what becomes of files that cannot be read
    empty:        what becomes of a source that gave no document
    progress:     called in this process with how far a domain is
    resumed:      called once, where an ingest was stopped, with what of it is there

    The store appears at `out` at once, when it is whole. Stopped by whatever, an error included, it keeps the parts
    that are finished, beside `out`, and goes on from there when it is started again: the store is as if never stopped.
    Errors: IngestError; SpecError for what is not right in the sources file's YAML, CatalogError in its
    overview.
    """
    source_path, out_path = Path(sources), Path(out)
    if not 0 <= seed < 2**63:
        raise IngestError(f"the seed is {seed}", code="seed-outside", hint="a whole number from 0 below 2^63")
    if file_tokens < 1 or file_tokens % _FILE_UNIT:
        message = f"files of {file_tokens:,} tokens"
        raise IngestError(message, code="file-tokens-outside", hint=f"a multiple of {_FILE_UNIT:,} is right here")
    if processes is not None and processes < 1:
        raise IngestError(f"{processes} processes", code="processes-outside", hint="at least one is right here")
    read = read_sources(source_path)
    choice = choose_tokenizer(
        tokenizer,
        name=read.tokenizer_name,
        end_of_document=read.end_of_document,
        place=next((read.places[key] for key in _OF_TOKENIZER if key in read.places), Place(file=str(source_path))),
    )
    made = choice.make()
    dtype = _dtype(made, read, source_path)
    try:
        with lasting_workplace(out_path) as place:
            work = Work(
                sources=read,
                choice=choice,
                tokenizer=made,
                dtype=dtype,
                place=place,
                processes=processes or _usual_processes(read),
                seed=seed,
                file_tokens=file_tokens,
                unfit=unfit,
                unreadable=unreadable,
                empty=empty,
                progress=progress,
                resumed=resumed,
            )
            try:
                report = work.run(out_path, earlier)
            except BaseException as error:
                finished = leave_finished(place.folder)
                if finished:
                    parts = "1 finished part is" if finished == 1 else f"{finished:,} finished parts are"
                    error.add_note(f"{parts} kept: the same ingest goes on from there")
                raise
            remove([*place.left, place.folder])
            return report
    except OSError as error:
        raise _unwritable(error.filename or out_path, error.strerror or error) from error
    except duckdb.Error as error:  # it sorts the ids
        raise _unwritable(out_path, error) from error


def _unwritable(path: str | Path, reason: object) -> IngestError:
    message = f"the store can not be written: {reason}"
    return IngestError(message, code="store-unwritable", place=Place(file=str(path)))


def _usual_processes(sources: Sources) -> int:
    size = sum(group.num_bytes for group in sources.groups)
    return 1 if size < _ALONE_BYTES else os.cpu_count() or 1


def _dtype(tokenizer: Tokenizer, sources: Sources, path: Path) -> np.dtype[np.unsignedinteger]:
    """The type that was asked for, or the smallest that holds the vocabulary."""
    vocabulary = tokenizer.record.vocabulary
    asked = np.dtype(sources.dtype.value) if sources.dtype else None
    chosen = asked or np.dtype(np.uint16 if vocabulary <= 2**16 else np.uint32)
    if vocabulary > 2 ** (8 * chosen.itemsize):
        raise IngestError(
            f"dtype: a vocabulary of {vocabulary:,} does not go into {chosen}",
            code="dtype-too-small",
            place=sources.places.get("dtype", Place(file=str(path))),
            hint="uint32 does, or leave it out",
            vocabulary=vocabulary,
        )
    return chosen
