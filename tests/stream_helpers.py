"""What tests of streams share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store
from mixture.data.texts import Empty
from mixture.json_text import digest
from mixture.lock import Lock
from mixture.lock.lock import Mask, document
from mixture.lock.masks import in_order
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import Batch


def rows_of(batches: Iterable[Batch]) -> dict[int, tuple[int, ...]]:
    """Tokens by position; no position may come twice."""
    found: dict[int, tuple[int, ...]] = {}
    for batch in batches:
        for position, row in zip(batch.position.tolist(), batch.input_ids.tolist(), strict=True):
            assert position not in found
            found[position] = tuple(row)
    return found


def write_documents(path: Path, texts: dict[str, str]) -> None:
    """JSON lines of documents by id."""
    path.write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()), encoding="utf-8")


def make_store(folder: Path, domains: dict[str, dict[str, str]]) -> Store:
    """A store from documents by domain and id; a domain may have none."""
    folder.mkdir(parents=True)
    for name, texts in domains.items():
        write_documents(folder / f"{name}.jsonl", texts)
    lines = "\n".join(f"  {name}: {{files: [{name}.jsonl], text: text, id: id}}" for name in domains)
    (folder / "sources.yaml").write_text(f"domains:\n{lines}\n", encoding="utf-8")
    ingest(folder / "sources.yaml", folder / "store", processes=1, empty=Empty.ALLOW)
    return open_store(folder / "store")


def lock_over(store: Store, folder: Path, phases: str, **keys: str) -> Lock:
    """A lock of a spec over a store: YAML lines of phases, and keys such as batch="8 sequences"."""
    folder.mkdir(exist_ok=True)
    lines = [f"{key}: {value}" for key, value in ({"mixture": "m", "catalog": str(store.path)} | keys).items()]
    spec = folder / "mixture.yaml"
    spec.write_text("\n".join([*lines, "phases:", phases]), encoding="utf-8")
    content = {name: domain.content for name, domain in store.domains.items()}
    return make_lock(make_plan(read_spec(spec)), content=content)


def with_masks(lock: Lock, *masks: Mask) -> Lock:
    """The lock with text taken down, as it would stand in a file."""
    masked = replace(lock, masks=in_order(lock.data, masks))
    return replace(masked, digest=digest(document(masked)))


def bytes_of(batches: Iterable[Batch]) -> bytes:
    """All that batches hold, as bytes, one after the other."""
    columns = ("input_ids", "domain", "position", "epoch", "first_token")
    return b"".join(getattr(batch, column).tobytes() for batch in batches for column in columns)


def texts_of(name: str, documents: int, words: int) -> dict[str, str]:
    """Documents whose every word says where it stands."""
    return {f"{name}-{i}": " ".join(f"{name}{i}.{w}" for w in range(words + i % 7)) for i in range(documents)}


DOMAINS = {"code": texts_of("code", 40, 60), "notes": texts_of("notes", 12, 20), "web": texts_of("web", 90, 80)}
