"""`mixture demo`: the whole way from text to batches, on text that is on any machine with Python."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixture.cli.output import AsJson, print_json
from mixture.errors import MixtureError, Place
from mixture.extras import install_hint

if TYPE_CHECKING:
    from mixture.data.store import Store

CLUSTERS, LEVELS = 12, 5
SHOWN_DOMAINS = 10
SIGNATURE = "# Written by `mixture demo`."
SPEC = """\
# Written by `mixture demo`. Change a share, then: mixture plan {folder}/mixture.yaml
mixture: this-machine
catalog: store                    # its columns: domain, tokens, documents, tokenizer, cluster, quality, title
tokenizer: bytes
seed: 0
sequence_length: 1024
batch: 32 sequences
budget: 500 steps
max_epochs: 8
phases:
  - phase: pretraining
    share: 80%
    weights:                      # a cluster by a level of quality may be next to nothing
      - {{where: "quality >= 2 and tokens >= 100000", share: 80%, within: proportional}}
      - {{where: "quality < 2 and tokens >= 100000", share: 20%, within: proportional}}
  - phase: midtraining            # the rest: 20%
    weights:
      - {{replay: pretraining, share: 70%}}
      - {{where: "quality = 4 and tokens >= 100000", share: 30%, within: uniform}}
"""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog="Example: mixture demo -o demo")(demo)


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Where store, spec and lock go.")] = Path(
        "demo"
    ),
    processes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Default: one a core.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Make clusters and a store of real text, plan and lock an 80/20 mixture of it, and show its first batches."""
    if not as_json:
        _run(out, processes)
        return
    with redirect_stdout(sys.stderr):
        digest = _run(out, processes)
    paths = {"store": out / "store", "spec": out / "mixture.yaml", "lock": out / "mixture.lock.json"}
    print_json({name: str(path) for name, path in paths.items()} | {"digest": digest})


def _run(out: Path, processes: int | None) -> str:
    """The demo, told on standard output; gives the lock's digest."""
    from mixture.cli.planning import plan as planning
    from mixture.cli.reading.stream import show
    from mixture.lock import write_lock
    from mixture.planning.plan import make_lock, make_plan
    from mixture.planning.spec import read_spec
    from mixture.stream import open_stream

    store = _store(out, processes)
    spec_file, lock_file = out / "mixture.yaml", out / "mixture.lock.json"
    if not spec_file.exists():
        spec_file.write_text(SPEC.format(folder=out), encoding="utf-8")
    _heading("4. The plan")
    plan = make_plan(read_spec(spec_file))
    planning.show(plan, most=SHOWN_DOMAINS)
    lock = make_lock(plan, content={name: domain.content for name, domain in store.domains.items()})
    write_lock(lock, lock_file)
    _heading(f"5. The lock: {lock_file}, {lock_file.stat().st_size:,} bytes that fix all {plan.steps:,} steps")
    print(f"digest {lock.digest}")
    stream = open_stream(lock, store, documents=True)
    _heading("6. The first batches, and one from the end of the run")
    for _ in range(2):
        show(stream, next(stream), 4)
    show(stream, next(open_stream(lock, store, first_step=plan.steps - 1, documents=True)), 4)
    folder, program = shlex.quote(str(out)), _program()
    _heading("Three commands to try next")
    print(f"  {program} positions {folder}/mixture.lock.json --position 0 7 15999")
    largest = max(plan.domains, key=lambda domain: domain.tokens_drawn)
    print(f"  {program} find {folder}/mixture.lock.json {largest.name} 5000")
    print(
        f"  {program} stream {folder}/mixture.lock.json --store {folder}/store --first-step 450 --rank 1 --world-size 4"
    )
    # A service shows `demo` of the folder that it is started in; another one has to be named.
    shown = "" if out.resolve() == Path("demo").resolve() else f"MIXTURE_MIXTURES_DIRS={folder} "
    _heading("To look at all of it")
    print(f"  {shown}{program} serve    # then open http://127.0.0.1:8000/")
    print(f"  {program} site {folder} -o site    # or as files: open site/index.html")
    return lock.digest


def _program() -> str:
    """How this program is called here: by its name where a shell finds it, else by its path, as in a .venv."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found is not None and Path(found).samefile(called) else shlex.quote(sys.argv[0])


def _heading(text: str) -> None:
    print(f"\n── {text}\n")


def _store(out: Path, processes: int | None) -> Store:
    """The demo's store in a folder: the one that is there, or a new one."""
    from mixture.cli.data.demo_text import gather
    from mixture.cli.data.ingest_report import show_report
    from mixture.cli.data.store import ingest_progress
    from mixture.data.ingest import ingest
    from mixture.data.store import open_store

    folder = out / "store"
    sources = out / "sources.yaml"
    ours = sources.is_file() and sources.read_text(encoding="utf-8", errors="replace").startswith(SIGNATURE)
    if ours and (folder / "store.json").exists():
        _heading(f"1 to 3. The store in {folder} is there already; remove {out} to begin anew")
        return open_store(folder)
    if out.exists() and any(out.iterdir()) and not ours:
        raise MixtureError(
            "there is something else in this folder",
            code="folder-in-use",
            place=Place(file=str(out)),
            hint="name another with -o",
        )
    if importlib.util.find_spec("sklearn") is None:
        raise MixtureError(
            "its clusters need scikit-learn, which is not installed",
            code="extra-missing",
            hint=install_hint("cluster"),
        )
    out.mkdir(parents=True, exist_ok=True)
    sources.write_text(SIGNATURE + "\n", encoding="utf-8")
    _heading("1. Text that is on this machine: the Python library, installed packages, headers, manuals")
    names = sorted(gather(out / "text"))
    print("\n  Of these, what is no text or is there twice is left out in what follows, which says how many.")
    lines = [f"  {name}: {{files: [text/{name}.jsonl], text: text, id: id, attributes: [path]}}" for name in names]
    sources.write_text("\n".join([SIGNATURE, "domains:", *lines, ""]), encoding="utf-8")
    _heading(f"2. {CLUSTERS} clusters by {LEVELS} levels of quality, in {out / 'clusters'}: each of them is a domain")
    clustered = _cluster(sources, out / "clusters", processes)
    _heading(f"3. Ingest into {folder}")
    if folder.exists():  # a run before this one was stopped behind its ingest
        shutil.rmtree(folder)
    with ingest_progress() as progress:
        report = ingest(clustered, folder, processes=processes, progress=progress)
    show_report(report)
    return open_store(folder)


def _cluster(sources: Path, folder: Path, processes: int | None) -> Path:
    """Put the text into clusters; gives their sources file."""
    from mixture.cli.data.cluster import cluster_progress, show_report
    from mixture.clusters import ClusterOptions, Processes, cluster

    if folder.exists():  # of a run that was stopped, perhaps over other text
        shutil.rmtree(folder)
    options = ClusterOptions(k=CLUSTERS, quality=LEVELS)
    with cluster_progress() as progress:
        report = cluster(
            sources, folder, options, engine=Processes(processes or os.cpu_count() or 1), progress=progress
        )
    show_report(report)
    return folder / "sources.yaml"
