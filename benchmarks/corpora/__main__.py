"""Fetch the corpora into a folder: what is there is not fetched again.

    python -m benchmarks.corpora -o .cache/corpora [--only brown foldoc]

NAME.parquet (a document a row), corpora.json (what was got), sources.yaml (for `mixture cluster` and `mixture ingest`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora.packages import FetchError, Package
from benchmarks.corpora.sources import CORPORA, Corpus, Text
from mixture.json_text import by_line
from mixture.whole_file import whole_file

LEAST_CHARACTERS = 500
"""Of a document. Below are redirections, empty modules and short entries of the dictionary, which would be half of all
documents and most of the clusters."""

_ROW_GROUP = 1000
_SCHEMA = pa.schema(
    {name: pa.string() for name in ("id", "text", "source", "license", "package", "path", "language", "genre")}
)


@dataclass(frozen=True, slots=True)
class Record:
    """What was got. short, not_text: files and entries that are no documents, below 500 characters or not UTF-8."""

    name: str
    package: str
    version: str
    license: str
    documents: int
    bytes: int
    short: int
    not_text: int


def gather(corpora: Iterable[Corpus], out: Path) -> dict[str, str]:
    """Fetch what is not there yet; gives the reasons, by name, for what can not be had."""
    out.mkdir(parents=True, exist_ok=True)
    records = {record.name: record for record in _read_records(out)}
    missing: dict[str, str] = {}
    for corpus in corpora:
        path = out / f"{corpus.name}.parquet"
        if corpus.name not in records or not path.exists():
            try:
                records[corpus.name] = _get(corpus, path)
            except FetchError as error:
                missing[corpus.name] = str(error)
                continue
            _write_records(out, records)
        record = records[corpus.name]
        print(f"  {record.name:<16}{record.documents:>8,} documents {record.bytes:>12,} bytes  {record.package} "
              f"{record.version}", flush=True)  # fmt: skip
    if records:
        _write_sources(out, records.values())
    return missing


def _get(corpus: Corpus, path: Path) -> Record:
    """Fetch one and write its documents."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".fetch-") as name:
        package = corpus.fetch(Path(name))
        counts = {"documents": 0, "bytes": 0, "short": 0, "not_text": 0}
        with whole_file(path) as beside, pq.ParquetWriter(beside, _SCHEMA, compression="zstd") as writer:
            for rows in _batches(_rows(corpus, package, counts)):
                writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
        if not counts["documents"]:
            path.unlink()
            raise FetchError(f"{package.name} {package.version} has no documents where they were: it has changed")
    return Record(corpus.name, package.name, package.version, corpus.license, **counts)


def _rows(corpus: Corpus, package: Package, counts: dict[str, int]) -> Iterator[dict[str, str | None]]:
    for text in corpus.texts(package.folder):
        if len(text.text) < LEAST_CHARACTERS:
            counts["short"] += 1
            continue
        try:
            counts["bytes"] += len(text.text.encode())
        except UnicodeEncodeError:
            counts["not_text"] += 1
            continue
        counts["documents"] += 1
        yield _row(corpus, package, text)


def _row(corpus: Corpus, package: Package, text: Text) -> dict[str, str | None]:
    return {
        "id": f"{corpus.name}/{text.path}",
        "text": text.text,
        "source": corpus.name,
        "license": corpus.license,
        "package": f"{package.name} {package.version}",
        "path": text.path,
        "language": text.language,
        "genre": text.genre,
    }


def _batches(rows: Iterator[dict[str, str | None]]) -> Iterator[list[dict[str, str | None]]]:
    """Row groups, so that several processes can read a source."""
    while batch := list(islice(rows, _ROW_GROUP)):
        yield batch


def _read_records(out: Path) -> list[Record]:
    path = out / "corpora.json"
    return [Record(**fields) for fields in json.loads(path.read_bytes())["corpora"]] if path.exists() else []


def _write_records(out: Path, records: dict[str, Record]) -> None:
    ordered = [asdict(records[name]) for name in sorted(records)]
    totals = {key: sum(record[key] for record in ordered) for key in ("documents", "bytes")}
    with whole_file(out / "corpora.json") as beside:
        beside.write_text(by_line({**totals, "corpora": ordered}), encoding="utf-8")


def _write_sources(out: Path, records: Iterable[Record]) -> None:
    attributes = ", ".join(name for name in _SCHEMA.names if name not in ("id", "text"))
    lines = [
        f"  {record.name}:\n    {{files: [{record.name}.parquet], text: text, id: id, attributes: [{attributes}],\n"
        f"     labels: {{license: {json.dumps(record.license)}}}}}\n"
        for record in sorted(records, key=lambda record: record.name)
    ]
    with whole_file(out / "sources.yaml") as beside:
        beside.write_text("domains:\n" + "".join(lines), encoding="utf-8")


def main() -> None:
    """The command."""
    names = [corpus.name for corpus in CORPORA]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpora", description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    options = parser.parse_args()
    for left in options.out.glob(".fetch-*"):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    missing = gather([corpus for corpus in CORPORA if corpus.name in options.only], options.out)
    if missing:
        sys.exit("\n".join(f"corpora: no {name}: {reason}" for name, reason in missing.items()))


if __name__ == "__main__":
    main()
