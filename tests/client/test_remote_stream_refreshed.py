"""Streams go on with the run that they began with when a catalog is refreshed and the name points to another run."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from client.trainer import Trainer, digests
from mixture_folder import write_mixture
from service_process import Harm, ServiceProcess, Shown, proxy
from stream_helpers import bytes_of

from mixture.api.database import Repository, Scope
from mixture.client import open_remote_stream
from mixture.data.store import Store
from mixture.errors import StreamError
from mixture.lock import Lock
from mixture.stream import open_stream

pytestmark = pytest.mark.long

STEPS = 200
SPEC = f"""\
mixture: {{name}}
catalog: cells.csv
tokenizer: bytes
sequence_length: 64
batch: 192 sequences
budget: {STEPS} steps
shuffle: {{{{block: 256 tokens, window: 2 blocks}}}}
phases: [{{{{phase: only, weights: proportional}}}}]
"""
CUTS = (30_000, 45_001, 70_003, 30_007)
"""Bytes of an answer, of 12 KiB a step, after which it is cut."""


@dataclass(frozen=True)
class Refreshed:
    """A mixture before and after its table had a domain added; each in a folder."""

    name: str
    folder: Path
    before: Lock
    after: Lock

    def files(self, when: str) -> dict[str, str]:
        folder = self.folder / when
        return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.fixture
def refreshed(tmp_path: Path, store: Store):
    """refreshed(NAME): a mixture over two domains of the store, and then over three."""

    def of(name: str) -> Refreshed:
        lines = [f"{one.name},{one.tokens}\n" for one in store.domains.values()]
        locks = [
            write_mixture(
                tmp_path / name / when, SPEC.format(name=name), cells="".join(["domain,tokens\n", *lines[:count]])
            )
            for when, count in (("before", 2), ("after", 3))
        ]
        assert locks[0].digest != locks[1].digest
        return Refreshed(name, tmp_path / name, *locks)

    return of


@pytest.fixture
def builtin(refreshed) -> Refreshed:
    return refreshed("builtin")


@pytest.fixture
def service(builtin: Refreshed, tmp_path: Path, store: Store) -> ServiceProcess:
    """Not yet started, over a folder of the built-in mixture as it was before."""
    live = tmp_path / "live"
    write_files(live, builtin.files("before"))
    return ServiceProcess(Shown(live, builtin.before, store))


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Rewrite the files of a mixture's folder, its lock last, each at once."""
    folder.mkdir(exist_ok=True)
    for name, text in sorted(files.items(), key=lambda one: one[0] == "mixture.lock.json"):
        (folder / f".{name}").write_text(text, encoding="utf-8")
        (folder / f".{name}").replace(folder / name)


def digest_now(service: ServiceProcess, name: str) -> str:
    answer = httpx2.get(f"{service.address}/v1/mixtures/{name}", timeout=60).raise_for_status()
    found: str = answer.json()["digest"]
    return found


def test_trainers_go_on_with_their_run_while_it_is_published_anew_cut_killed_and_replaced(
    service: ServiceProcess, builtin: Refreshed, refreshed, store: Store, tmp_path: Path
):
    small = refreshed("small")
    repository = Repository.open(tmp_path / "live" / "data", None)
    _, secret = repository.add_token("publisher", [Scope.PUBLISH])
    repository.close()
    cuts = iter(CUTS)

    def harms(request: bytes) -> Harm:
        cut = next(cuts, None) if b"/batches" in request else None

        def harm(seen: int, data: bytes) -> bytes | None:
            return data if cut is None or seen + len(data) <= cut else data[: cut - seen] or None

        return harm

    def publish(when: str, **headers: str) -> None:
        files = small.files(when)
        body = {"spec": files["mixture.yaml"], "tables": {"cells.csv": files["cells.csv"]}}
        sent = {key.replace("_", "-"): value for key, value in headers.items()} | {"Authorization": f"Bearer {secret}"}
        url = f"{service.address}/v1/mixtures/small"
        httpx2.put(url, json=body, headers=sent, timeout=60).raise_for_status()

    with service, proxy(service.port, harms) as address:
        publish("before")
        url = f"{address}/v1/mixtures/small"
        with Trainer(url) as by_name, Trainer(f"{url}@sha256:{small.before.digest}") as by_digest:
            for trainer in (by_name, by_digest):
                trainer.take(20)
            publish("after", If_Match=f'"sha256:{small.before.digest}"')
            write_files(tmp_path / "live", builtin.files("after"))
            assert digest_now(service, "small") == small.after.digest
            assert digest_now(service, "builtin") == builtin.after.digest
            for trainer in (by_name, by_digest):
                trainer.take(20)
            service.end(signal.SIGKILL)
            service.start()
            for trainer in (by_name, by_digest):
                trainer.take(40)
            service.end(signal.SIGTERM)
            service.start()
            for trainer in (by_name, by_digest):
                trainer.take(STEPS)
        with Trainer(url) as anew:
            anew.take(STEPS)
    assert next(cuts, None) is None
    expected = digests(open_stream(small.before, store, 1, 2))
    assert by_name.steps == expected
    assert by_digest.steps == expected
    assert anew.steps == digests(open_stream(small.after, store, 1, 2))


def test_a_stream_by_name_keeps_its_run_when_the_folder_changes_and_the_service_is_started_anew(
    service: ServiceProcess, builtin: Refreshed, store: Store, tmp_path: Path
):
    url = f"{service.address}/v1/mixtures/builtin"
    local = open_stream(builtin.before, store)
    with service:
        stream = open_remote_stream(url)
        read = [next(stream) for _ in range(10)]
        write_files(tmp_path / "live", builtin.files("after"))
        assert digest_now(service, "builtin") == builtin.after.digest
        stream.close()
        read += [next(stream) for _ in range(10)]
        with open_remote_stream(url) as anew:
            assert bytes_of(anew) == bytes_of(open_stream(builtin.after, store))

        stream.close()
        service.end(signal.SIGKILL)
        service.start()  # it reads the folder as it is now
        read += list(stream)
        assert bytes_of(read) == bytes_of(local)
        with open_remote_stream(url) as anew, pytest.raises(StreamError) as caught:
            anew.load_state_dict(stream.state_dict())
        assert caught.value.code == "history-differs"


def test_a_stream_by_name_says_so_when_the_service_has_its_run_no_more(
    service: ServiceProcess, builtin: Refreshed, store: Store, tmp_path: Path
):
    url = f"{service.address}/v1/mixtures/builtin"
    local = open_stream(builtin.before, store)
    with service:
        stream = open_remote_stream(url)
        assert bytes_of(next(stream) for _ in range(10)) == bytes_of(next(local) for _ in range(10))
        stream.close()
        service.end(signal.SIGKILL)
        shutil.rmtree(tmp_path / "live" / "data")
        write_files(tmp_path / "live", builtin.files("after"))
        service.start()
        for _ in range(2):
            with pytest.raises(StreamError, match=builtin.before.digest) as caught:
                next(stream)
            assert caught.value.code == "lock-differs"
            assert caught.value.facts["expected"] == builtin.before.digest
        assert stream.state_dict() == local.state_dict()
