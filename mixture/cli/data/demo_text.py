"""Real text that any machine with Python has, gathered as JSON lines by domain, at most 8 MB of each."""

from __future__ import annotations

import gzip
import hashlib
import json
import sysconfig
import zlib
from collections.abc import Iterable, Iterator
from email.parser import Parser
from functools import cache
from itertools import chain
from pathlib import Path

MOST_BYTES = 8_000_000
"""Of each domain's text. Which documents are taken follows from a hash of their names."""

_PARTS_SHOWN = 3
"""Of a path in none of the known folders."""

Documents = Iterator[tuple[str, str]]  # path to show, text


def gather(folder: Path) -> dict[str, str]:
    """Write DIR/NAME.jsonl for every domain that this machine has text of; gives name to kind."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {}
    for name, (kind, documents) in _domains().items():
        count, size = _write(folder / f"{name}.jsonl", documents)
        if count:
            kinds[name] = kind
            print(f"  {name:<22}{kind:<8}{count:>7,} documents {size:>12,} bytes", flush=True)
    return kinds


def _domains() -> dict[str, tuple[str, Documents]]:
    paths = {name: Path(path) for name, path in sysconfig.get_paths().items()}
    library, packages, include = paths["stdlib"], paths["purelib"], paths["include"]
    share = Path("/usr/share")
    in_library = [p for p in _files(library, "*.py") if not {"site-packages", "dist-packages"} & set(p.parts)]
    in_packages = _files(packages, "*.py")
    manuals = chain.from_iterable(_files(section, "*.gz") for section in sorted(share.glob("man/man*")))
    headers = [*_files(include, "*.h"), *_files(packages, "*.h"), *_files(Path("/usr/include"), "*.h")]
    licences = [p for p in _files(packages, "*") if _is_licence(p)]
    return {
        "python-library": ("code", _read(p for p in in_library if not _is_test(p))),
        "python-tests": ("code", _read(p for p in in_library if _is_test(p))),
        "python-reference": ("prose", _reference()),
        "package-code": ("code", _read(p for p in in_packages if not _is_test(p))),
        "package-tests": ("code", _read(p for p in in_packages if _is_test(p))),
        "package-stubs": ("code", _read(_files(packages, "*.pyi"))),
        "package-descriptions": ("prose", _descriptions(_files(packages, "METADATA"))),
        "package-licences": ("legal", _read(licences)),
        "c-headers": ("code", _read(headers)),
        "manual-pages": ("prose", _read(manuals)),
        "documents": ("prose", _read(p for p in _files(share / "doc", "*") if _is_document(p))),
        "system-licences": ("legal", _read(_files(share / "doc", "copyright"))),
    }


def _files(folder: Path, pattern: str) -> list[Path]:
    """Files below a folder, the ones a link leads to once; in an order that a hash of their names gives."""
    found = {path.resolve() for path in folder.rglob(pattern) if path.is_file()} if folder.is_dir() else set()
    return sorted(found, key=lambda path: hashlib.blake2b(str(path).encode(errors="surrogateescape")).digest())


def _is_test(path: Path) -> bool:
    return bool({"test", "tests", "idle_test"} & set(path.parts))


def _is_licence(path: Path) -> bool:
    name = path.name.upper()
    return ".dist-info" in str(path.parent) and name.startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE"))


def _is_document(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return name.startswith(("readme", "changelog", "news", "faq", "todo", "authors")) or name.endswith((".txt", ".md"))


def _read(paths: Iterable[Path]) -> Documents:
    """Texts of files. Bytes that are not UTF-8 become half characters, which the ingest counts and leaves out."""
    for path in paths:
        try:
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
        except (OSError, EOFError, zlib.error):
            continue
        yield shown_path(path), data.decode("utf-8", errors="surrogateescape")


def shown_path(path: Path) -> str:
    """A file's path below the folder that all machines have it in: `python3.11/json/decoder.py`, `man/man1/ls.1.gz`.

    A document's id is shown to everyone who may look at a store; where this machine keeps its files is its own.
    """
    for root in _roots():
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return "/".join(path.parts[-_PARTS_SHOWN:])


@cache
def _roots() -> tuple[Path, ...]:
    """The folders that are left out of paths, the innermost first."""
    paths = {name: Path(path).resolve() for name, path in sysconfig.get_paths().items()}
    above = (paths["stdlib"].parent, paths["include"].parent, paths["platinclude"].parent)
    roots = {paths["purelib"], paths["platlib"], *above, Path("/usr/share"), Path("/usr")}
    return tuple(sorted(roots, key=lambda root: len(root.parts), reverse=True))


def _reference() -> Documents:
    from pydoc_data import topics

    for name, text in sorted(topics.topics.items()):
        yield f"pydoc_data/topics/{name}", text


def _descriptions(paths: Iterable[Path]) -> Documents:
    for path, text in _read(paths):
        yield path, str(Parser().parsestr(text.encode(errors="replace").decode()).get_payload())


def _write(path: Path, documents: Documents) -> tuple[int, int]:
    count = size = 0
    with path.open("w", encoding="ascii") as file:
        for name, text in documents:
            shown = name.encode("utf-8", errors="replace").decode()
            file.write(json.dumps({"id": shown, "path": shown, "text": text}) + "\n")
            count, size = count + 1, size + len(text.encode("utf-8", errors="surrogatepass"))
            if size >= MOST_BYTES:
                break
    if not count:
        path.unlink()
    return count, size
