"""All pages as files: opened from a folder, with no service."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from api_helpers import MIXTURES
from made_once import made_once
from mixture_folder import write_mixture
from playwright.sync_api import expect
from stream_helpers import lock_over, make_store, texts_of

from mixture.api.pages.links import FileLinks
from mixture.api.registry.builtin import BuiltinMixtures
from mixture.api.registry.stores import Stores
from mixture.api.settings import ExampleTexts
from mixture.api.site.files import SiteFile, site_files
from mixture.api.site.folder import SnapshotMixture, site_index, write_site
from mixture.api.site.place import LOCK
from mixture.errors import MixtureError
from mixture.lock import read_lock, write_lock

DATE = "2026.11.29"
INDEX = ("index.csv", "index.html", "index.json")
MOST_BYTES = 4_000_000  # of four mixtures with 471 domains
MOST_BYTES_A_DOMAIN = 7_500


def mixtures_in(*folders: Path):
    return list(BuiltinMixtures(folders, [], Stores([])).all().values())


def write(folder: Path, mixtures, date: str = DATE, texts: ExampleTexts = ExampleTexts.NONE):
    named = [SnapshotMixture(name=one.name, digest=one.digest) for one in mixtures]
    return write_site(folder, date, named, site_files(mixtures, texts=texts))


def names_in(folder: Path) -> list[str]:
    """What is in a folder of sites beside the lock."""
    return sorted(path.name for path in folder.iterdir() if path.name != LOCK)


@pytest.fixture(scope="module")
def repository_site(tmp_path_factory):
    """The site of the repository's mixtures, and what was said of it."""
    return made_once(tmp_path_factory, "site", lambda folder: write(folder, mixtures_in(MIXTURES)))


class Links(HTMLParser):
    """What a page leads to and loads, and what a fragment can name in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        assert not any(name == "style" for name, _ in attrs), tag
        self.ids += [value for name, value in attrs if name == "id"]
        self.found += [value for name, value in attrs if name in ("href", "src", "action") and value]


def missing_in(folder: Path) -> list[str]:
    """Links of pages that lead to no file, to no part of it, or ask a file something that it can not answer."""
    missing = []
    pages = {page.resolve(): Links(page.read_text(encoding="utf-8")) for page in folder.rglob("*.html")}
    for page, links in pages.items():
        assert len(links.ids) == len(set(links.ids)), page
        for link in links.found:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            answers = not parts.query or target.parent.name == "steps"
            answers &= not parts.fragment or (target in pages and parts.fragment in pages[target].ids)
            if parts.scheme or not target.is_file() or folder.resolve() not in target.parents or not answers:
                missing.append(f"{page.relative_to(folder.resolve())}: {link}")
    return missing


def test_every_link_of_every_file_leads_to_a_file(repository_site):
    folder, made = repository_site
    assert missing_in(folder) == []
    assert made.files == sum(path.is_file() for path in (folder / DATE).rglob("*"))


def test_every_page_has_a_title_of_its_own_and_its_data_beside_it(repository_site):
    folder, _ = repository_site
    titles = Counter[str]()
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        titles[re.search("<title>(.+) · mixture</title>", text)[1]] += 1
        if page.parent.name == "steps":  # what it looks up is in the lock
            continue
        for form in (".json", ".csv"):
            data = page.with_suffix(form)
            assert unquote(data.name) in map(unquote, Links(text).found), page
            assert len(data.read_bytes()) > 20, data
    assert [title for title, times in titles.items() if times > 1] == []


def test_the_site_of_the_repository_is_small(repository_site):
    folder, made = repository_site
    sizes = Counter[str]()
    for path in (folder / DATE).rglob("*"):
        if path.is_file():
            parts = path.relative_to(folder / DATE).parts
            sizes[parts[1] if parts[0] in ("mixtures", "catalogs") else ""] += path.stat().st_size
    assert made.bytes == sizes.total()
    domains = sum(len(one.lock.data.domains) for one in mixtures_in(MIXTURES))
    assert made.bytes < MOST_BYTES_A_DOMAIN * domains
    for other in ("olmo-2-dolmino", "olmo-3-topics"):
        del sizes[other]
    assert sizes.total() < MOST_BYTES


@pytest.mark.long
def test_the_same_mixtures_give_the_same_bytes(repository_site, tmp_path):
    folder, made = repository_site
    again = write(tmp_path / "again", mixtures_in(MIXTURES))
    assert again == made
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(folder)).read_bytes(), path


def test_the_index_says_what_there_is_and_by_which_digests(repository_site):
    folder, made = repository_site
    said = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert said["latest"] == DATE
    (snapshot,) = said["snapshots"]
    assert [one["name"] for one in snapshot["mixtures"]] == [
        "demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-2-dolmino", "olmo-3-7b", "olmo-3-topics",
    ]  # fmt: skip
    lines = "".join(
        f"{path.relative_to(folder / DATE).as_posix()}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted((folder / DATE).rglob("*"), key=lambda one: one.relative_to(folder / DATE).as_posix())
        if path.is_file()
    )
    assert snapshot["digest"] == hashlib.sha256(lines.encode()).hexdigest() == made.digest
    lock = read_lock(folder / DATE / "mixtures" / "demo" / "mixture.lock.json")
    assert lock.digest == snapshot["mixtures"][0]["digest"]


def test_one_reads_from_the_first_page_to_a_cell_and_to_a_step(page, repository_site, look):
    folder, _ = repository_site
    page.goto((folder / "index.html").as_uri())
    look("site-dates")
    page.get_by_role("link", name=f"The newest, {DATE}").click()
    look("site-index")
    page.get_by_role("link", name="marin-535b-a23b", exact=True).click()
    expect(page.get_by_role("heading", name="marin-535b-a23b", exact=True)).to_be_visible()
    look("site-mixture")
    page.get_by_role("navigation", name="Site").get_by_role("link", name="catalog").click()
    look("site-catalog")
    page.locator("[data-cell=c28q4]").click()
    expect(page.get_by_role("heading", name="c28q4")).to_be_visible()
    look("site-cell")
    page.get_by_role("link", name="marin-535b-a23b").click()
    page.get_by_role("navigation", name="Site").get_by_role("link", name="steps").click()
    expect(page.get_by_role("heading", name="Step 0", exact=True)).to_be_visible()
    look("site-steps")


@pytest.mark.parametrize("kind", ["dark", "narrow"])
def test_the_files_can_be_read_in_the_dark_and_on_a_telephone(page, repository_site, look, kind):
    folder, _ = repository_site
    if kind == "dark":
        page.emulate_media(color_scheme="dark")
    else:
        page.set_viewport_size({"width": 390, "height": 844})
    for path in ("mixtures/olmo-3-7b/index.html", "catalogs/olmo-3-7b/index.html", "mixtures/demo/index.html"):
        page.goto((folder / DATE / path).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        look(f"site-{path.replace('/', '-').removesuffix('.html')}-{kind}")


def test_every_kind_of_page_opens_without_a_word_in_the_console(page, repository_site):
    folder, _ = repository_site
    chosen = [path for path in sorted(folder.rglob("*.html")) if path.parent.name != "cells"]
    chosen += [folder / DATE / "catalogs" / name / "cells" / cell for name, cell in (("demo", "books.html"),)]
    for path in chosen:
        page.goto(path.as_uri())
        expect(page.locator("h1")).to_be_visible()


def test_an_older_date_stays_as_it_is_and_the_newest_is_led_to(tmp_path):
    demo = mixtures_in(MIXTURES / "demo")
    write(tmp_path / "out", demo, "2026.11.28")
    older = (tmp_path / "out" / "2026.11.28" / "index.html").read_bytes()
    write(tmp_path / "out", demo, "2026.11.29")
    write(tmp_path / "out", demo, "2025.01.01")
    index = site_index(tmp_path / "out")
    assert [one.date for one in index.snapshots] == ["2026.11.29", "2026.11.28", "2025.01.01"]
    assert index.latest == "2026.11.29"
    assert (tmp_path / "out" / "2026.11.28" / "index.html").read_bytes() == older
    assert missing_in(tmp_path / "out") == []


def test_a_site_of_the_same_date_takes_the_place_of_the_one_before(tmp_path):
    write(tmp_path / "out", mixtures_in(MIXTURES / "demo", MIXTURES / "olmo-3-7b"))
    write(tmp_path / "out", mixtures_in(MIXTURES / "demo"))
    assert not (tmp_path / "out" / DATE / "mixtures" / "olmo-3-7b").exists()
    assert names_in(tmp_path / "out") == [DATE, *INDEX]


@pytest.mark.parametrize("made", ["work.txt", *INDEX, f"{DATE}/mine.txt"])
def test_a_folder_with_something_else_in_it_is_left_as_it_is(tmp_path, made):
    there = tmp_path / "out" / made
    there.parent.mkdir(parents=True)
    there.write_text("{}")
    with pytest.raises(MixtureError) as refused:
        write(tmp_path / "out", mixtures_in(MIXTURES / "demo"))
    assert refused.value.code == "folder-in-use"
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [there]


def test_a_date_folder_that_no_site_wrote_is_left_as_it_is(tmp_path):
    demo = mixtures_in(MIXTURES / "demo")
    write(tmp_path / "out", demo, "2026.11.28")
    (tmp_path / "out" / DATE).mkdir()
    with pytest.raises(MixtureError) as refused:
        write(tmp_path / "out", demo)
    assert refused.value.code == "folder-in-use"


def test_a_site_that_can_not_be_finished_leaves_what_was_there(tmp_path):
    demo = mixtures_in(MIXTURES / "demo")
    before = write(tmp_path / "out", demo)

    def broken():
        yield SiteFile("index.html", b"half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_site(tmp_path / "out", DATE, [], broken())
    assert site_index(tmp_path / "out").snapshots == (before,)
    assert (tmp_path / "out" / DATE / "mixtures" / "demo" / "index.html").is_file()
    assert names_in(tmp_path / "out") == [DATE, *INDEX]


WAITING = """
import sys
from pathlib import Path
from mixture.api.site.files import SiteFile
from mixture.api.site.folder import write_site

def files():
    yield SiteFile("index.html", b"half")
    print("begun", flush=True)
    sys.stdin.read()

write_site(Path(sys.argv[1]), "2026.11.29", [], files())
"""


@contextmanager
def half_written(folder: Path):
    """While another process has written half of a site."""
    command = [sys.executable, "-c", WAITING, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        try:
            yield
        finally:
            process.send_signal(signal.SIGKILL)


def test_a_folder_whose_first_run_was_killed_is_gone_on_with_and_cleared(tmp_path):
    with half_written(tmp_path / "out"):
        pass
    assert [name for name in names_in(tmp_path / "out") if name.endswith(".tmp")]
    write(tmp_path / "out", mixtures_in(MIXTURES / "demo"))
    assert names_in(tmp_path / "out") == [DATE, *INDEX]


@pytest.mark.parametrize("before", [None, "2026.11.28"])
def test_while_a_site_is_written_another_run_is_refused(tmp_path, before):
    demo = mixtures_in(MIXTURES / "demo")
    if before:
        write(tmp_path / "out", demo, before)
    with half_written(tmp_path / "out"), pytest.raises(MixtureError) as refused:
        write(tmp_path / "out", demo)
    assert refused.value.code == "site-running"


KILLED = """
import os, signal, sys
from pathlib import Path
from mixture.api.site import folder as site_folder
from mixture.api.site.files import SiteFile

site_folder._write_index = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
site_folder.write_site(Path(sys.argv[1]), sys.argv[2], [], [SiteFile("index.html", b"new")])
"""


@pytest.mark.long
@pytest.mark.parametrize("again", [DATE, "2026.11.30"])
@pytest.mark.parametrize("before", [None, "2026.11.28"])
def test_a_run_that_was_killed_between_the_site_and_the_index_holds_up_none(tmp_path, before, again):
    demo = mixtures_in(MIXTURES / "demo")
    if before:
        write(tmp_path / "out", demo, before)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out"), DATE], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "out" / DATE / "index.html").read_bytes() == b"new"
    write(tmp_path / "out", demo, again)
    assert names_in(tmp_path / "out") == sorted([*([before] if before else []), again, *INDEX])


def test_a_site_that_a_killed_run_had_put_aside_gets_its_place_back(tmp_path):
    demo = mixtures_in(MIXTURES / "demo")
    write(tmp_path / "out", demo)
    (tmp_path / "out" / DATE).rename(tmp_path / "out" / f".{DATE}.0123abcd.old")
    write(tmp_path / "out", demo, "2026.11.28")
    assert (tmp_path / "out" / DATE / "index.html").is_file()
    assert [one.date for one in site_index(tmp_path / "out").snapshots] == [DATE, "2026.11.28"]


WATCHED = """
import sys
from pathlib import Path
while True:
    print(Path(sys.argv[1]).read_bytes().decode(), flush=True)
"""


def test_a_reader_finds_the_old_site_or_the_new_one_at_every_moment(tmp_path):
    out = tmp_path / "out"
    write_site(out, DATE, [], [SiteFile("index.html", b"0")])
    command = [sys.executable, "-c", WATCHED, str(out / DATE / "index.html")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stdout.readline() == "0\n"
        for i in range(1, 200):
            write_site(out, DATE, [], [SiteFile("index.html", str(i).encode())])
            reader.stdout.readline()
        assert reader.poll() is None, reader.stderr.read()
        reader.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("kind", ["lost", "broken"])
def test_where_the_index_is_lost_or_broken_it_is_named_as_the_reason(tmp_path, kind):
    demo = mixtures_in(MIXTURES / "demo")
    write(tmp_path / "out", demo)
    index = tmp_path / "out" / "index.json"
    index.unlink() if kind == "lost" else index.write_text('{"made_by": "mix')
    with pytest.raises(MixtureError, match=r"index\.json") as refused:
        write(tmp_path / "out", demo)
    assert refused.value.code == "folder-in-use"
    assert (tmp_path / "out" / DATE / "index.html").is_file()


FULL = """
import resource, sys
from pathlib import Path
from mixture.api.site.files import SiteFile
from mixture.api.site.folder import write_site
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_site(Path(sys.argv[1]), "2026.11.29", [], [SiteFile("mixtures/a.html", bytes(2000))])
except Exception as error:
    print(error.code, error.place)
"""


def test_where_there_is_no_room_for_a_file_the_error_names_it(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == f"file-not-written {tmp_path / 'out' / DATE / 'mixtures' / 'a.html'}\n"
    assert names_in(tmp_path / "out") == []


def test_mixtures_whose_names_differ_in_case_only_are_refused(tmp_path):
    alike = [SnapshotMixture(name=name, digest="0" * 64) for name in ("Demo", "demo")]
    with pytest.raises(MixtureError, match="'Demo' and 'demo'") as refused:
        write_site(tmp_path / "out", DATE, alike, [])
    assert refused.value.code == "names-alike"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "date", ["2026-11-29", "2026.13.01", "2026.02.31", "٢٠٢٦.11.29", "0000.01.01", "latest", "../2026.11.29", ""]
)
def test_what_is_no_date_is_refused(tmp_path, date):
    with pytest.raises(MixtureError) as refused:
        write(tmp_path / "out", [], date)
    assert refused.value.code == "date-invalid"
    assert not (tmp_path / "out").exists()


def test_domains_and_mixtures_may_be_called_anything(tmp_path):
    spec = "mixture: lab/run 1\ncatalog: cells.csv\nsequence_length: 10\nbatch: 10 sequences\nbudget: 100 steps\n"
    rows = "domain,tokens,kind\na/b,9000,x\n..,9000,x\n%41,9000,y\n<b>,9000,y\nA,9000,y\n"
    long = "d" * 300
    phases = "phases:\n  - {phase: only, weights: proportional}\n"
    write_mixture(tmp_path / "odd", spec + phases, cells=f"{rows}{long},9000,y\n")
    write(tmp_path / "out", mixtures_in(tmp_path / "odd"))
    assert missing_in(tmp_path / "out") == []
    assert (tmp_path / "out" / DATE / "mixtures" / "odd" / "steps" / "lock.js").is_file()
    pages = list((tmp_path / "out" / DATE / "catalogs" / "odd" / "cells").iterdir())
    assert len({path.name.lower() for path in pages}) >= 6


@pytest.mark.parametrize("texts", list(ExampleTexts))
def test_texts_are_in_the_files_only_where_they_are_asked_for(tmp_path, texts):
    store = make_store(tmp_path / "told", {"web": texts_of("web", 30, 400)})
    lock = lock_over(
        store, tmp_path / "told", "  - {phase: only, weights: proportional}",
        sequence_length="64", batch="8 sequences", budget="20 steps",
    )  # fmt: skip
    write_lock(lock, tmp_path / "told" / "mixture.lock.json")
    write(tmp_path / "out", mixtures_in(tmp_path / "told"), texts=texts)
    page = (tmp_path / "out" / DATE / FileLinks("").cell("m", "web")).read_text(encoding="utf-8")
    every = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*.html"))
    assert ("web-" in page) is (texts is not ExampleTexts.NONE)
    words = page.count("web1") + page.count("web2")
    assert (words > 0) is (texts is not ExampleTexts.NONE)
    assert every.count('<pre tabindex="0">web') == (0 if texts is ExampleTexts.NONE else 1)
