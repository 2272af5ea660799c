"""How fast text becomes a store, by stage, against what `tokenizers` alone reaches; and how much memory it takes.

    python -m benchmarks.ingest [--bytes 1000000000] [--processes N] [--json]
    python -m benchmarks.ingest --tiny 10000000 [--processes N] [--json]

The first ingests text of this machine, each copy of a document under another first line, so that none is a duplicate:
half of it JSON lines, a third Parquet, and one large .jsonl.gz. It does so as bytes and with a BPE of 32,000 tokens
that is trained on it. MB/s are of the text in UTF-8, by the clock. By stage: what one process spends on each over a
tenth of the text. `tokenizers` alone: the same texts out of memory by its own batches, with as many threads as the
ingest has processes; both in turn, twice, the better of each.

The second ingests so many documents of some 30 bytes, and gives the most memory that all of its processes have together
(Linux's proportional set size, looked at twenty times a second).

What it makes stays below bench/ingest for the next time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import watched
from mixture.cli.data.demo_text import gather
from mixture.data.ingest import Earlier, ingest, jobs, work
from mixture.data.ingest.sorted_runs import RunWriter
from mixture.data.texts import IngestProgress, Stage, texts
from mixture.data.writing.tokenizer import ByteTokenizer, JsonTokenizer

FOLDER = Path("bench/ingest")
VOCABULARY = 32_000
TRAINED_ON = 50_000_000
LINES_BYTES = 100_000_000  # of a file
ROW_GROUP_BYTES = 16_000_000
TOGETHER = 1_000
ROUNDS = 2


def documents(size: int) -> Iterator[tuple[str, str]]:
    """Ids and texts of so many bytes, in an order that mixes the kinds of text."""
    gathered = FOLDER / "gathered"
    names = sorted(path.stem for path in gathered.glob("*.jsonl")) or sorted(gather(gathered))
    copy = done = 0
    while done < size:
        files = [(gathered / f"{name}.jsonl").open(encoding="ascii") for name in names]
        while files:
            for file in list(files):
                line = file.readline()
                if not line:
                    file.close()
                    files.remove(file)
                    continue
                row = {name: value.encode(errors="replace").decode() for name, value in json.loads(line).items()}
                text = f"{copy} {row['id']}\n{row['text']}" if copy else row["text"]
                yield f"{copy}/{row['id']}", text
                done += len(text.encode())
                if done >= size:
                    return
        copy += 1


def sources(size: int) -> Path:
    """Text of so many bytes in files, and the sources file that names them."""
    folder = FOLDER / f"text-{size}"
    path = folder / "sources.yaml"
    if not path.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        parts = {"lines": size // 2, "parquet": size // 3}
        parts["packed"] = size - sum(parts.values())
        rest = documents(size)
        for name, wanted in parts.items():
            write = {"lines": _write_lines, "parquet": _write_parquet, "packed": _write_packed}[name]
            write(folder, _some(rest, wanted))
        listed = [f"  {name}: {{files: ['{name}*'], id: id}}" for name in parts]
        path.write_text("domains:\n" + "\n".join(listed) + "\n", encoding="utf-8")
    return path


def _some(rest: Iterator[tuple[str, str]], size: int) -> Iterator[dict[str, str]]:
    done = 0
    for identity, text in rest:
        yield {"id": identity, "text": text}
        done += len(text.encode())
        if done >= size:
            return


def _write_lines(folder: Path, rows: Iterator[dict[str, str]]) -> None:
    number, file = 0, (folder / "lines-0.jsonl").open("w", encoding="utf-8")
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
        if file.tell() > LINES_BYTES:
            file.close()
            number += 1
            file = (folder / f"lines-{number}.jsonl").open("w", encoding="utf-8")
    file.close()


def _write_parquet(folder: Path, rows: Iterator[dict[str, str]]) -> None:
    schema = pa.schema({"id": pa.string(), "text": pa.large_string()})
    with pq.ParquetWriter(folder / "parquet-0.parquet", schema, compression="zstd") as writer:
        group: list[dict[str, str]] = []
        for row in rows:
            group.append(row)
            if sum(len(one["text"]) for one in group) > ROW_GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group = []
        if group:
            writer.write_table(pa.Table.from_pylist(group, schema))


def _write_packed(folder: Path, rows: Iterator[dict[str, str]]) -> None:
    with gzip.open(folder / "packed-0.jsonl.gz", "wt", compresslevel=5, encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def tokenizer() -> Path:
    """A byte-level BPE that is trained on the text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    path = FOLDER / "tokenizer.json"
    if not path.exists():
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        made.train_from_iterator((text for _, text in documents(TRAINED_ON)), trainer)
        made.save(str(path))
    return path


def clocked(path: Path, chosen: str, processes: int) -> dict[str, float]:
    """Seconds of an ingest: all of it, and its stages by the clock."""
    out = FOLDER / "store"
    shutil.rmtree(out, ignore_errors=True)
    begun = time.perf_counter()
    last = {Stage.READ: begun, Stage.WRITE: begun}

    def told(progress: IngestProgress) -> None:
        last[progress.stage] = time.perf_counter()

    report = ingest(path, out, tokenizer=chosen, processes=processes, earlier=Earlier.ANEW, progress=told)
    ended = time.perf_counter()
    shutil.rmtree(out)
    return {
        "tokens": report.tokens,
        "all": ended - begun,
        "read": last[Stage.READ] - begun,
        "merge": last[Stage.WRITE] - last[Stage.READ],
        "tables": ended - last[Stage.WRITE],
    }


def alone(path: Path, threads: int, size: int) -> float:
    """Seconds that `tokenizers` takes for texts that are in memory."""
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(path))
    texts = [text for _, text in documents(size)]
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    begun = time.perf_counter()
    for first in range(0, len(texts), TOGETHER):
        library.encode_batch_fast(texts[first : first + TOGETHER], add_special_tokens=False)
    return time.perf_counter() - begun


def by_stage(path: Path, chosen: str) -> dict[str, float]:
    """Seconds of one process by stage; what a stage calls that is a stage itself is not counted twice."""
    spent: dict[str, float] = defaultdict(float)
    running: list[str] = ["rest"]
    since = time.perf_counter()

    def turn(to: str | None) -> None:
        nonlocal since
        now = time.perf_counter()
        spent[running[-1]] += now - since
        since = now
        running.pop() if to is None else running.append(to)

    def staged(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 it is any call
            turn(name)
            try:
                return call(*arguments, **named)
            finally:
                turn(None)

        return timed

    def read(*arguments: Any, **named: Any) -> Iterator[Any]:  # noqa: ANN401
        batches = iter(texts.read(*arguments, **named))
        following = staged("read", lambda: next(batches, None))
        while (batch := following()) is not None:
            yield batch

    stages = (
        (ByteTokenizer, "encode", "tokenise"),
        (JsonTokenizer, "encode", "tokenise"),
        (RunWriter, "flush", "sort and write runs"),
        (jobs.MergeJob, "run", "merge"),
        (work, "write_tables", "tables"),
        (work, "shared_ids", "tables"),
        (work, "publish", "publish"),
        (jobs.ReadJob, "run", "hash and gather"),
    )
    out = FOLDER / "store"
    shutil.rmtree(out, ignore_errors=True)
    with ExitStack() as patches:
        patches.enter_context(patch.object(jobs, "read", read))
        for owner, attribute, name in stages:
            patches.enter_context(patch.object(owner, attribute, staged(name, getattr(owner, attribute))))
        since = time.perf_counter()
        ingest(path, out, tokenizer=chosen, processes=1, earlier=Earlier.ANEW)
        turn(None)
    shutil.rmtree(out)
    return spent


def tiny(count: int) -> Path:
    """So many documents of some 30 bytes in two domains, and the sources file that names them."""
    folder = FOLDER / f"tiny-{count}"
    path = folder / "sources.yaml"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, numbers in (("even", range(0, count, 2)), ("odd", range(1, count, 2))):
            with (folder / f"{name}.jsonl").open("w", encoding="ascii") as file:
                for number in numbers:
                    file.write(f'{{"id": "document-{number}", "text": "tiny document {number:x} of {count}"}}\n')
        path.write_text("domains:\n  even: {files: [even.jsonl], id: id}\n  odd: {files: [odd.jsonl], id: id}\n")
    return path


def memory(count: int, processes: int) -> dict[str, float]:
    """The memory that an ingest of tiny documents takes, and its time."""
    path = tiny(count)
    again = ["--clocked", str(path), "--processes", str(processes)]
    found, most = watched([sys.executable, "-m", "benchmarks.ingest", *again], seconds=0.05)
    return {"documents": count, "most_memory_megabytes": most / 1e6, **{f"{k}_seconds": v for k, v in found.items()}}


def speeds(size: int, processes: int) -> dict[str, float]:
    """MB/s, and ratios to `tokenizers` alone."""
    path, small = sources(size), sources(size // 10)
    found: dict[str, float] = {"text_megabytes": size / 1e6, "processes": processes}
    bpe = tokenizer()
    for name, chosen in (("bytes", "bytes"), ("bpe", str(bpe))):
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(clocked(path, chosen, processes))
            if name == "bpe":
                theirs.append(alone(bpe, processes, size))
        best = min(ours, key=lambda one: one["all"])
        for part in ("all", "read", "merge", "tables"):
            found[f"{name}_{part}_megabytes_per_second"] = size / 1e6 / best[part]
        if theirs:
            found["tokenizers_alone_megabytes_per_second"] = size / 1e6 / min(theirs)
            found["bpe_ratio_to_tokenizers_alone"] = min(theirs) / best["all"]
            found["bpe_read_ratio_to_tokenizers_alone"] = min(theirs) / best["read"]
        for part, seconds in by_stage(small, chosen).items():
            found[f"{name}_one_process_{part.replace(' ', '_')}_megabytes_per_second"] = size / 1e7 / seconds
    return found


def main() -> None:
    """Run it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1_000_000_000, help="of text")
    parser.add_argument("--tiny", type=int, help="documents of some 30 bytes, of which memory is measured")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--clocked", type=Path, help=argparse.SUPPRESS)  # one ingest as bytes, in this process, as JSON
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.clocked:
        print(json.dumps(clocked(arguments.clocked, "bytes", arguments.processes)))
        return
    load = os.getloadavg()[0]
    found = (
        memory(arguments.tiny, arguments.processes) if arguments.tiny else speeds(arguments.bytes, arguments.processes)
    )
    found = {"load_before": load, **found, "load_after": os.getloadavg()[0]}
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<64}{value:>12,.2f}")


if __name__ == "__main__":
    main()
