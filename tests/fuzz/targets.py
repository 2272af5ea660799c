"""What reads files and requests of others: for any bytes a value, or an error of this library with a code."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from api_helpers import ask
from data.token_files.token_files import write_arrow, write_megatron, write_parquet, write_raw
from format_trips import put, readable, written
from stream_helpers import DOMAINS, make_store

from mixture.data.ingest.sources import read_sources
from mixture.data.linking import build_catalog
from mixture.data.store import open_store
from mixture.errors import MixtureError, Place
from mixture.formats import FORMATS, Given, Holds, SourceFile, export_mixture, import_mixture
from mixture.json_text import digest
from mixture.lock import lock_text, parse_lock
from mixture.lock.mask_file import read_mask_file
from mixture.planning.catalog import read_catalog, read_column, read_overview
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import parse_spec, read_spec
from mixture.stream.state import read_state

SPECS = [
    """\
mixture: test
catalog: {table: cells.csv, domain: domain}
tokenizer: t
seed: 0
sequence_length: 64
batch: 8 sequences
budget: {steps: 100, tokens: 51200}
max_epochs: 4
shuffle: {block: 65536 tokens, window: 64 blocks}
accept: [budget-mismatch]
phases:
  - phase: pretraining
    until: step 80
    weights: {web: 0.5, code: 30%, math: 2e-1}
  - phase: midtraining
    share: 10%
    sequence_length: 128
    batch: 1024 tokens
    weights:
      - {where: "quality >= 3", share: 30%, within: uniform}
      - {replay: pretraining, share: 70%}
  - phase: cooldown
    weights: {table: cells.csv, column: cooldown}
""",
    """\
mixture: small
catalog: cells.csv
sequence_length: 128
batch: 2048 tokens
budget: 10M tokens
phases:
  - phase: all
    steps: 100
    weights:
      - {where: "kind = 'a' or tokens < 400_000", tokens: 1M, within: {temperature: 2}}
      - {where: "kind <> 'a' and tokens >= 400_000", tokens: 3M, within: {unimax: {max_epochs: 40}}}
  - phase: rest
    weights: {web: 4M, code: 1.5M tokens}
""",
]
CELLS = """\
domain,kind,quality,tokens,documents,max_epochs,cooldown
code,a,3,300000,2000,,0.5
math,a,4,100000,300,,0.25
web,b,1,9000000,80000,8,0.25
"""
CONDITIONS = [
    "quality >= 3 and kind in ('a', 'b')",
    "not (tokens between 1 and 2_000_000) or starts_with(domain, 'we')",
    "lower(kind) like '%a_' and documents is not null and tokens / documents > 1.5",
]
SOURCES = """\
end_of_document: <eod>
tokenizer_name: some-tokenizer
dtype: uint32
overview: overview.json
domains:
  web: {files: ['w*.jsonl'], text: text, id: id, attributes: [path], labels: {quality: 3, kind: web}}
  code:
    files: [code.jsonl]
    format: jsonl
"""
LINKED = """\
tokenizer: t
vocabulary_size: 1000
end_of_document: 0
dtype: uint16
domains:
  a: {format: megatron, files: ['*.bin'], attributes: {license: MIT}}
  b: {format: npy, files: [b.npy], dtype: uint16, documents: '{stem}.csv.gz'}
  c: {format: parquet, files: ['*.parquet'], column: input_ids}
  d: {format: arrow, files: ['*.arrow']}
"""
MASKS = """\
web-3
{"document": "web-4", "domain": "web"}
{"domain": "web", "first_token": 10, "tokens": 5}
"""
STATE = {
    "step": 3, "history": "0" * 64, "content": "tokens:" + "1" * 64, "boundaries": [[0, "2" * 64]],
}  # fmt: skip
TOKEN_DOCUMENTS = [[5, 6, 7, 0], [8, 0], [9, 10, 11, 12, 13, 0], [1, 0]]
TRIP = """\
mixture: trip
tokenizer: t
sequence_length: 64
batch: 8 sequences
budget: 40 steps
phases:
  - {phase: first, share: 50%, weights: {a: 25%, b: 75%}}
  - {phase: second, weights: {a: 50%, b: 50%}}
"""


@dataclass(frozen=True)
class Target:
    """Files that one reader reads: right ones to begin with, and the reading. tree: whether they are JSON."""

    seeds: Sequence[bytes]
    read: Callable[[bytes], None]
    is_text: bool = True
    is_json: bool = False


def check(target: Target, data: bytes) -> None:
    """Read a file. Raises whatever is no error of this library, and AssertionError where such an error says nothing."""
    try:
        target.read(data)
    except MixtureError as error:
        for single in getattr(error, "errors", ()) or (error,):
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", single.code), single.code
            assert str(single), single.code


def make_targets(folder: Path, *, app: object = None) -> Mapping[str, Target]:
    """All targets by name, with their files in a folder; app: a service, whose requests are then a target, too."""
    targets = {**_specs(folder), **_tables(folder), **_stores(folder), **_token_files(folder), **_formats(folder)}
    return targets | (_requests(app) if app is not None else {})


def _leaves(data: bytes) -> bool:
    """Whether a file could name others outside of its folder, all of a disk or of an object store among them."""
    return b"/" in data or b".." in data or b"\\" in data


def _specs(folder: Path) -> dict[str, Target]:
    (folder / "cells.csv").write_text(CELLS, encoding="utf-8")
    for name in ("code", "web"):
        (folder / f"{name}.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    path = folder / "spec.yaml"

    def spec(data: bytes) -> None:
        read = parse_spec(data, path=path)
        if _leaves(data):
            return
        plan = make_plan(read)
        if plan.refusals:
            plan.require()
        lock = make_lock(plan)
        assert parse_lock(lock_text(lock).encode(), place=Place()) == lock

    def lock(data: bytes) -> None:
        parse_lock(data, place=Place(file="a.lock.json")).schedule().at([0])

    def sealed_lock(data: bytes) -> None:
        lock(_sealed(data, "digest"))

    def sources(data: bytes) -> None:
        place = folder / "SOURCES.yaml"
        place.write_bytes(data)
        if not _leaves(data):
            read_sources(place)

    def masks(data: bytes) -> None:
        place = folder / "masks.jsonl"
        place.write_bytes(data)
        read_mask_file(place)

    def overview(data: bytes) -> None:
        place = folder / "made.overview.json"
        place.write_bytes(data)
        read_overview(place)

    catalog = read_catalog(folder / "cells.csv")

    def condition(data: bytes) -> None:
        catalog.select(data.decode("utf-8", "surrogateescape"), seconds=2)

    def state(data: bytes) -> None:
        read_state(json.loads(data))

    locks = []
    for text in SPECS:
        (folder / "spec.yaml").write_text(text, encoding="utf-8")
        locks.append(lock_text(make_lock(make_plan(read_spec(path)))).encode())
    clusters = [{"id": "c0", "title": "News", "terms": ["a"], "documents": 3, "tokens": 5}]
    said = {
        "format": 1,
        "clusters": clusters,
        "made": {"method": "k-means", "k": 3, "sources": [{"name": "web", "bytes": 7}]},
        "quality": {"cut_offs": [0.5]},
    }
    described = json.dumps(said)
    (folder / "overview.json").write_text(
        json.dumps({"format": 1, "rows": "kind", "clusters": [], "made": {"method": "k-means"}}), encoding="utf-8"
    )
    return {
        "spec": Target([text.encode() for text in SPECS], spec),
        "lock": Target(locks, lock, is_json=True),
        "sealed-lock": Target(locks, sealed_lock, is_json=True),
        "sources": Target([SOURCES.encode()], sources),
        "masks": Target([MASKS.encode()], masks),
        "overview": Target([described.encode()], overview, is_json=True),
        "condition": Target([text.encode() for text in CONDITIONS], condition),
        "state": Target([json.dumps(STATE).encode()], _with_json(state), is_json=True),
    }


def _with_json(read: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """For what is given as a value, not as a text: no JSON is nobody's fault."""

    def of(data: bytes) -> None:
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            return
        read(data)

    return of


def _sealed(data: bytes, key: str) -> bytes:
    """A JSON object with the digest that its other fields have, as whoever makes files on purpose would write it."""
    try:
        fields = json.loads(data)
        fields.pop(key, None)
        return json.dumps(fields | {key: digest(fields)}).encode()
    except (ValueError, AttributeError, TypeError, RecursionError):
        return data


def _tables(folder: Path) -> dict[str, Target]:
    rows = [
        dict(zip(CELLS.split("\n")[0].split(","), line.split(","), strict=True)) for line in CELLS.split("\n")[1:-1]
    ]
    typed = [
        {k: int(v) if v.isdigit() else float(v) if k == "cooldown" else v or None for k, v in row.items()}
        for row in rows
    ]
    pq.write_table(pa.Table.from_pylist(typed), folder / "cells.parquet")
    seeds = {
        "csv": CELLS.encode(),
        "json": json.dumps(typed).encode(),
        "jsonl": "\n".join(map(json.dumps, typed)).encode(),
        "parquet": (folder / "cells.parquet").read_bytes(),
    }

    def reads(ending: str) -> Callable[[bytes], None]:
        path = folder / f"table.{ending}"

        def read(data: bytes) -> None:
            path.write_bytes(data)
            catalog = read_catalog(path)
            catalog.select("tokens > 5")
            read_column(path, "cooldown")

        return read

    return {
        f"catalog-{ending}": Target([seed], reads(ending), ending != "parquet", ending == "json")
        for ending, seed in seeds.items()
    }


def _stores(folder: Path) -> dict[str, Target]:
    few = {name: dict(list(texts.items())[:9]) for name, texts in DOMAINS.items()}
    whole = make_store(folder / "native", few).path
    tokens = next(iter(sorted((whole / "tokens").rglob("*.arrow")))).relative_to(whole).as_posix()

    def reads(name: str, *, sealed: bool) -> Callable[[bytes], None]:
        broken = folder / f"broken-{sealed}-{Path(name).name}"
        shutil.copytree(whole, broken)

        def read(data: bytes) -> None:
            (broken / name).write_bytes(data)
            if sealed:
                _seal_store(broken, whole, name, data)
            store = open_store(broken)
            for domain in store.domains:
                store.read(domain, 0, min(40, store.domains[domain].tokens))
                store.documents_from(domain, 0, 5)
                store.documents(domain, 0, 1)
            store.document("web-1")
            store.spans(list(store.domains), np.zeros(1, np.int64), np.zeros(1, np.int64), 16)
            _ = store.labels, read_catalog(broken)
            open_store(broken, verify="full")

        return read

    targets = {}
    for name in [
        "store.json",
        "domains.parquet",
        "documents.parquet",
        "documents_by_id.parquet",
        "document_ends.arrow",
        tokens,
    ]:
        seed = (whole / name).read_bytes()
        # pyarrow ends the process at damaged bounds of a row group, which only who made the store can have put there:
        # the file's digest is compared first.
        for sealed in (False,) if name == "documents_by_id.parquet" else (False, True):
            kind = "sealed" if sealed else "store"
            is_text = name == "store.json"
            targets[f"{kind}-{'tokens' if name == tokens else name}"] = Target(
                [seed], reads(name, sealed=sealed), is_text, is_text
            )
    return targets


def _seal_store(broken: Path, whole: Path, name: str, data: bytes) -> None:
    """Let a store's description say of a changed file what it is, as whoever makes stores on purpose would."""
    import hashlib

    if name == "store.json":
        (broken / name).write_bytes(_sealed(data, "sha256"))
        return
    fields = json.loads((whole / "store.json").read_bytes())
    records = [*fields["tables"], *(file for domain in fields["domains"] for file in domain["files"])]
    for record in records:
        if record["file"] == name:
            record |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (broken / "store.json").write_bytes(_sealed(json.dumps(fields).encode(), "sha256"))


def _token_files(folder: Path) -> dict[str, Target]:
    whole = folder / "token-files"
    whole.mkdir()
    write_megatron(whole / "a.bin", TOKEN_DOCUMENTS)
    write_raw(whole / "b.npy", TOKEN_DOCUMENTS)
    np.save(whole / "headed.npy", np.arange(1, 30, dtype=np.uint16))
    write_raw(whole / "i.ds", TOKEN_DOCUMENTS, beside=".index")
    write_parquet(whole / "c.parquet", TOKEN_DOCUMENTS)
    write_arrow(whole / "d.arrow", TOKEN_DOCUMENTS)
    how = {
        "a.idx": "format: megatron, files: ['a.bin']",
        "b.csv.gz": "format: npy, files: [b.npy], dtype: uint16, documents: '{stem}.csv.gz'",
        "headed.npy": "format: npy, files: [headed.npy]",
        "i.ds.index": "format: npy, files: [i.ds], dtype: uint16, documents: '{name}.index'",
        "c.parquet": "format: parquet, files: [c.parquet]",
        "d.arrow": "format: arrow, files: [d.arrow]",
    }

    def reads(name: str) -> Callable[[bytes], None]:
        broken = folder / f"token-files-{name}"
        shutil.copytree(whole, broken)
        head = "tokenizer: t\nvocabulary_size: 1000\nend_of_document: 0\ndomains:\n"
        (broken / "sources.yaml").write_text(f"{head}  d: {{{how[name]}}}\n", encoding="utf-8")

        def read(data: bytes) -> None:
            (broken / name).write_bytes(data)
            shutil.rmtree(broken / "made", ignore_errors=True)
            build_catalog(broken / "sources.yaml", broken / "made", full=True, threads=1)
            store = open_store(broken / "made")
            tokens = store.domains["d"].tokens
            store.read("d", 0, min(tokens, 1000))
            store.documents_from("d", 0, 5)
            open_store(broken / "made", verify="full")

        return read

    def linked(data: bytes) -> None:
        (whole / "sources.yaml").write_bytes(data)
        shutil.rmtree(whole / "made", ignore_errors=True)
        if not _leaves(data):
            build_catalog(whole / "sources.yaml", whole / "made", threads=1)

    files = {f"foreign-{name}": Target([(whole / name).read_bytes()], reads(name), False) for name in how}
    return {"linked-sources": Target([LINKED.encode()], linked), **files}


def _formats(folder: Path) -> dict[str, Target]:
    made = written(folder / "trip", TRIP, "domain,tokens,documents\na,60000,60\nb,90000,70\n")
    targets = {}
    for name, form in FORMATS.items():
        if form.read is None:
            continue
        has_phases = Holds.PHASES in form.holds
        exported = export_mixture(made.lock, form, catalog=made.catalog, phase=None if has_phases else "first")
        files = exported.files
        put(folder, files)
        seeds = [files[path.name].encode() for path in readable(exported, [Path(file) for file in files])]
        steps = () if has_phases or name == "mosaic" else (20,)

        def read(data: bytes, form=form, steps=steps) -> None:
            source = SourceFile(folder / "given.txt", data.decode("utf-8", "replace"))
            given = Given(catalog=made.catalog, sequence_length=64, batch_sequences=8, steps=steps)
            imported = import_mixture(form, [source], folder, given).files
            parse_spec(imported["mixture.yaml"].encode(), path=folder / "imported.yaml")

        targets[f"format-{name}"] = Target(seeds, read, is_json=all(seed.startswith((b"{", b"[")) for seed in seeds))
    return targets


def _requests(app: object) -> dict[str, Target]:
    """Requests with a body of JSON to a service that anybody may write to: an answer, and no failure of the service."""
    services = app.state.services  # type: ignore[attr-defined]
    from mixture.api.database import Scope

    secret = services.repository.add_token("anybody", [Scope.PUBLISH, Scope.RUN])[1]
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    cells = {"cells.csv": CELLS}
    bodies = {
        "PUT /v1/mixtures/fuzzed": [{"spec": text, "tables": cells} for text in SPECS],
        "POST /v1/mixtures/demo/what-if": [
            {"phases": [{"phase": "pretraining", "weights": {"books": "0.2"}}]}, {"budget": "10B tokens"},
        ],
        "POST /v1/runs": [{"mixture": "demo", "name": "a"}],
    }  # fmt: skip

    def asks(request: str) -> Callable[[bytes], None]:
        method, address = request.split()

        def read(data: bytes) -> None:
            answer = ask(app, method, address, content=data, headers=headers)
            assert answer.status_code < 500, f"{answer.status_code}: {answer.text[:500]}"
            if answer.status_code >= 400:
                assert answer.json()["code"], answer.text

        return read

    return {
        f"http-{request.rsplit('/', 1)[1]}": Target([json.dumps(b).encode() for b in made], asks(request), is_json=True)
        for request, made in bodies.items()
    }
