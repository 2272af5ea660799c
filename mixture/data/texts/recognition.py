"""What a file holds by its first bytes: how it is packed, and whether it is of a format that nothing here reads."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace

import pyarrow as pa

from mixture.data.texts.matching import Compression, FileFormat, SourceFile, leftover_of
from mixture.data.texts.unpacking import unpacked

_HEAD = 8192
_POINTER_BYTES = 1024
_PACKED = {
    b"\x1f\x8b\x08": Compression.GZIP,
    b"\x28\xb5\x2f\xfd": Compression.ZSTD,
    b"\xfd7zXZ\0": Compression.XZ,
    b"\x04\x22\x4d\x18": Compression.LZ4,
}
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")  # the level, then a block or, of nothing, the end
_FOREIGN = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"Obj\x01": "Avro",
    b"ORC": "ORC",
    b"\x93NUMPY": "a NumPy array",
    b"%PDF": "PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3\0": "a database",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_LFS, _ANNEX = b"version https://git-lfs", b"/annex/objects/"


def recognised(file: SourceFile, *, named: Set[str] | None) -> SourceFile:
    """A file with its `compression`, by its first bytes, and its `problem`.

    named: the patterns beside this file's, which may name it in full, where its name has said its format; None: the
    user has. A file that cannot be opened is as it was: reading it says why. Saved datasets and files without a byte
    are as they were, too.
    """
    try:
        with file.path.open("rb") as raw:
            head = raw.read(_HEAD)
    except OSError:
        return file
    if file.size <= _POINTER_BYTES and (head.startswith(_LFS) or (_ANNEX in head and b"\n" not in head.strip())):
        of, command = ("Git LFS", "git lfs pull") if head.startswith(_LFS) else ("git-annex", "git annex get")
        return replace(file, problem=f"it is a pointer of {of}, and the data is elsewhere: `{command}` fetches it")
    if file.format in (FileFormat.PARQUET, FileFormat.ARROW):
        return file
    if file.compression is Compression.NONE:
        packed = next((packed for magic, packed in _PACKED.items() if head.startswith(magic)), Compression.NONE)
        if _BZIP2.match(head):
            packed = Compression.BZIP2
        file = replace(file, compression=packed)
    return file if named is None else replace(file, problem=_problem(file, named))


def _problem(file: SourceFile, named: Set[str]) -> str | None:
    """Why a file is not of the format that its name says, or that all others are."""
    ending = leftover_of(file.path)
    if ending is not None and file.shown not in named:
        return (
            f"its name ends with {file.path.suffix} after {ending}: to read it as one document, name it in full;"
            " as data, say `format`"
        )
    try:
        with file.path.open("rb") as raw, unpacked(raw, file) as unpacked_file:
            head = unpacked_file.read(_HEAD)
    except (OSError, EOFError, pa.ArrowException):
        return None  # reading it says why
    # A text may begin with letters and digits of a magic, such as ORC; the formats have a zero byte soon.
    magics = (magic for magic in _FOREIGN if head.startswith(magic) and (b"\0" in head or not magic.isalnum()))
    foreign = next(map(_FOREIGN.__getitem__, magics), None)
    if foreign is None and head[257:262] == b"ustar":
        foreign = "a tar archive"
    if foreign is None and b"\0" in head and file.format is FileFormat.TEXT:
        foreign = "binary data"
    wanted = "text" if file.format is FileFormat.TEXT else "lines of text"
    return None if foreign is None else f"it holds {foreign}, and by its name {wanted}"
