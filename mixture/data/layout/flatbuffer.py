"""As much of FlatBuffers as Arrow's metadata needs: tables, vectors and strings, written front to back.

Arrow's own writer can only describe an array that it holds. A store must describe arrays that are larger than
memory, or whose length is known last, and the bytes must be the same under every version of pyarrow, for their digests
are kept.
Layout: https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number inside a table; format is that of `struct`, such as ``h`` or ``q``."""

    format: str
    value: int


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Structs:
    """A vector of structs that all have the same format; padding is written as ``x`` in it."""

    format: str
    values: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """A vector of tables."""

    values: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its fields in the order of their ids, None where one is absent."""

    fields: tuple[Scalar | Text | Structs | Tables | Table | None, ...]


def serialize(root: Table) -> bytes:
    """The buffer that holds this table, its length a multiple of 8."""
    out = bytearray(4)
    struct.pack_into("<I", out, 0, _table(out, root))
    _pad(out, 0)
    return bytes(out)


def _pad(out: bytearray, ahead: int) -> None:
    """Pad so that what comes after `ahead` more bytes is aligned."""
    out.extend(bytes(-(len(out) + ahead) % _ALIGNMENT))


def _node(out: bytearray, node: Text | Structs | Tables | Table) -> int:
    match node:
        case Table():
            return _table(out, node)
        case Text(value):
            data = value.encode()
            _pad(out, 4)
            at = len(out)
            out.extend(struct.pack("<I", len(data)) + data + b"\0")
            return at
        case Structs(format, values):
            _pad(out, 4)
            at = len(out)
            out.extend(struct.pack("<I", len(values)))
            for numbers in values:
                out.extend(struct.pack("<" + format, *numbers))
            return at
        case Tables(children):
            _pad(out, 4)
            at = len(out)
            out.extend(struct.pack("<I", len(children)) + bytes(4 * len(children)))
            for number, child in enumerate(children):
                _refer(out, at + 4 + 4 * number, child)
            return at


def _refer(out: bytearray, slot: int, node: Text | Structs | Tables | Table) -> None:
    """Write the node behind what there is, and its distance from the slot into the slot."""
    at = _node(out, node)
    struct.pack_into("<I", out, slot, at - slot)


def _table(out: bytearray, table: Table) -> int:
    sizes = [struct.calcsize("<" + f.format) if isinstance(f, Scalar) else 4 for f in table.fields]
    offsets: list[int] = []
    end = 4
    for field, size in zip(table.fields, sizes, strict=True):
        if field is None:
            offsets.append(0)
            continue
        end += -end % size
        offsets.append(end)
        end += size
    vtable_size = 4 + 2 * len(offsets)
    _pad(out, vtable_size)
    out.extend(struct.pack(f"<{2 + len(offsets)}H", vtable_size, end, *offsets))
    at = len(out)
    out.extend(struct.pack("<i", vtable_size) + bytes(end - 4))
    for field, offset in zip(table.fields, offsets, strict=True):
        if isinstance(field, Scalar):
            struct.pack_into("<" + field.format, out, at + offset, field.value)
        elif field is not None:
            _refer(out, at + offset, field)
    return at
