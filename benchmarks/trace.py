"""How long traces take: a document back to its steps, a step to its documents, and what was read so far.

    python -m benchmarks.trace [--json] [--documents N] [--holes DIR]

A store of N documents is made from generated text, in a folder of its own. Traces of one document include the look-up
of its id. The large run is marin-535b-a23b, over a store of holes (`write_holes`, in DIR where one is given).
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from mixture.data.ingest import ingest
from mixture.data.store import Store, open_store, write_holes
from mixture.lock import Lock, read_lock
from mixture.planning.plan import make_lock, make_plan
from mixture.planning.spec import read_spec
from mixture.stream import read_so_far, trace_documents, trace_step, trace_token

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
MARIN = ROOT / "mixtures" / "marin-535b-a23b" / "mixture.lock.json"
ASKED = 500
WORDS = 150
SPEC = """\
mixture: traced
catalog: {store}
sequence_length: 1024
batch: 512 sequences
budget: 600 steps
phases:
  - {{phase: first, share: 50%, weights: {{code: 40%, web: 60%}}}}
  - {{phase: second, sequence_length: 4096, weights: {{code: 70%, web: 30%}}}}
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Milliseconds of one question, the median and the worst, those of the processor, and its answers in the mean."""

    question: str
    median_ms: float
    worst_ms: float
    processor_ms: float
    answers: float


def most_resident_mib() -> float:
    """The most memory that this process has had resident so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def make_store(folder: Path, documents: int) -> Store:
    """A store of two domains of generated text, whose documents have a license and a source."""
    rng = random.Random(0)
    domains = []
    for name, count in (("code", documents // 3), ("web", documents - documents // 3)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for _ in range(count):
                text = " ".join(str(rng.getrandbits(20)) for _ in range(rng.randrange(5, WORDS)))
                attributes = {"license": rng.choice(["MIT", "CC-BY-4.0", None]), "source": rng.choice(["a", "b"])}
                file.write(json.dumps({"id": f"{name}/{rng.getrandbits(64):016x}", "text": text} | attributes) + "\n")
        domains.append(f"  {name}: {{files: [{name}.jsonl], text: text, id: id, attributes: [license, source]}}\n")
    (folder / "sources.yaml").write_text("domains:\n" + "".join(domains), encoding="utf-8")
    ingest(folder / "sources.yaml", folder / "store", processes=1)
    return open_store(folder / "store")


def make_run(folder: Path) -> Lock:
    """A run over the store of several epochs and two lengths."""
    spec = folder / "mixture.yaml"
    spec.write_text(SPEC.format(store=folder / "store"), encoding="utf-8")
    return make_lock(make_plan(read_spec(spec)))


def measure(question: str, ask: Callable[[T], int], about: Sequence[T]) -> Taken:
    """Ask about each once, after one that warms up; an answer is how many there were."""
    ask(about[0])
    times, processor, answers = [], [], 0
    for one in about:
        start, busy = time.perf_counter(), time.process_time()
        answers += ask(one)
        times.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - busy) * 1e3)
    return Taken(question, statistics.median(times), max(times), statistics.median(processor), answers / len(about))


def back(lock: Lock, store: Store, identity: str) -> int:
    """Trace one document by its id."""
    return sum(1 for trace in trace_documents(lock, store, [identity]) for _ in trace.reads())


def measure_store(folder: Path, documents: int) -> list[Taken]:
    """The questions to a store of real documents."""
    store = make_store(folder, documents)
    lock = make_run(folder)
    rng = random.Random(1)
    ids = [name for d in store.domains for name in store.documents_from(d, 0, documents)["id"].to_pylist()]
    some = rng.sample(ids, min(ASKED, len(ids)))
    schedule = lock.schedule()
    steps = [rng.randrange(schedule.steps) for _ in range(10)]
    return [
        measure(f"one document of {documents:,} back", lambda i: back(lock, store, i), some),
        measure(f"{len(some)} documents back at once", lambda ids: len(trace_documents(lock, store, ids)), [some] * 3),
        measure("a step of 512 sequences", lambda step: sum(1 for _ in trace_step(lock, store, step)), steps),
        measure(
            "read so far, by license", lambda step: len(read_so_far(lock, store, step, by="license").values), steps
        ),
    ]


def measure_marin(folder: Path) -> list[Taken]:
    """The questions to a run of 19 trillion tokens."""
    lock = read_lock(MARIN)
    if not folder.exists():
        write_holes(folder, {d.name: d.tokens for d in lock.data.domains}, tokenizer=lock.tokenizer or "holes")
    store = open_store(folder)
    schedule, rng = lock.schedule(), random.Random(2)
    tokens = [(d.name, rng.randrange(d.tokens)) for d in rng.choices(schedule.data.domains, k=ASKED)]
    return [
        measure("marin: one token back", lambda token: sum(1 for _ in trace_token(lock, *token).reads()), tokens),
        measure(
            "marin: read so far, by domain",
            lambda step: len(read_so_far(lock, store, step).values),
            [schedule.steps // 2],
        ),
    ]


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--documents", type=int, default=200_000, help="documents of the store that is made")
    parser.add_argument("--holes", type=Path, help="a store of holes of the large run; made where it is not there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        before = most_resident_mib()
        taken = measure_marin(args.holes or Path(made) / "holes")
        grown = most_resident_mib() - before
        taken = measure_store(Path(made), args.documents) + taken
    if args.json:
        print(json.dumps({"taken": [asdict(one) for one in taken], "marin_grown_mib": grown}))
        return
    for one in taken:
        times = f"{one.median_ms:>9.2f} ms ({one.processor_ms:.2f} of the processor), worst {one.worst_ms:.2f}"
        print(f"{one.question:<32} {times}, {one.answers:,.1f} answers")
    print(f"resident memory that the large run took beside: at most {grown:.0f} MiB")


if __name__ == "__main__":
    main()
