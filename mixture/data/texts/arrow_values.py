"""Columns of Arrow as Python values, and as the texts that ids are, whatever their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mixture.data.texts.values import value_text
from mixture.json_text import parse_json

_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
TEXTS = (pa.string(), pa.large_string(), pa.string_view(), *_BYTES)
_AS_BYTES = dict(zip(TEXTS[:3], _BYTES, strict=True))
_NARROW = {16: np.float16, 32: np.float32}


def python_values(column: pa.Array[Any], names: Sequence[str] | None = None) -> list[Any]:
    """A column's values; text as bytes, for Arrow does not promise that it is UTF-8.

    names: what its integers stand for, where they are a ClassLabel of Hugging Face; -1 is none
    Errors: OverflowError, ValueError, KeyError, where a value cannot be one of Python's.
    """
    column = as_bytes(column)
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    type_ = column.type
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        # Arrow writes times of any year; Python has those of the years 1 to 9999, and no nanoseconds.
        if pa.types.is_timestamp(type_) and type_.tz:
            column = column.cast(pa.timestamp(type_.unit, "UTC"))  # what a zone is differs between machines
        column = column.cast(pa.string())
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(type_) and type_.bit_width in _NARROW:
        # 0.1 in 32 bits is said by "0.1", not by the longer decimal that it becomes in 64.
        narrow = _NARROW[type_.bit_width]
        values = [None if value is None else float(str(narrow(value))) for value in values]
    if names is not None:
        values = [_class_name(value, names) for value in values]
    return values


def _class_name(value: object, names: Sequence[str]) -> object:
    if not isinstance(value, int) or isinstance(value, bool) or value >= len(names):
        return value
    return names[value] if value >= 0 else None


def text_column(column: pa.Array[Any]) -> pa.Array[Any]:
    """A column as the texts that its values are as ids, string; null where there is none.

    Errors: ArrowInvalid where a text is not UTF-8.
    """
    if column.type in TEXTS[:3] or pa.types.is_integer(column.type):
        texts = column.cast(pa.string())
        texts.validate(full=True)  # Arrow does not look at that by itself
        return texts
    return pa.array([value_text(value) for value in python_values(column)], pa.string())


def as_bytes(column: pa.Array[Any]) -> pa.Array[Any]:
    """A column, bytes where it is text."""
    if isinstance(column, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(column.indices, as_bytes(column.dictionary))
    return column.view(_AS_BYTES[column.type]) if column.type in _AS_BYTES else column


def field_type(schema: pa.Schema, name: str) -> pa.DataType | None:
    """The type of a column, or of a field in columns of objects: `meta.id`; None: there is none."""
    if name in schema.names:
        return schema.field(name).type
    first, *rest = name.split(".")
    if not rest or schema.names.count(first) != 1:
        return None
    type_ = schema.field(first).type
    for part in rest:
        if not pa.types.is_struct(type_) or type_.get_field_index(part) < 0:
            return None
        type_ = type_.field(part).type
    return type_


def field_values(batch: pa.RecordBatch, name: str) -> pa.Array[Any]:
    """A column, or a field in columns of objects, null where an object is."""
    if name in batch.schema.names:
        return batch.column(name)
    first, *rest = name.split(".")
    return pc.struct_field(batch.column(first), rest)


def class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """What the integers of columns stand for, by column, where Hugging Face `datasets` wrote that: its ClassLabels."""
    try:
        features = parse_json((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return dict(_class_labels(features, ""))
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}


def _class_labels(features: dict[str, Any], before: str) -> list[tuple[str, list[str]]]:
    labels: list[tuple[str, list[str]]] = []
    for name, feature in features.items():
        if not isinstance(feature, dict):
            continue
        if feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list):
            labels.append((before + name, feature["names"]))
        elif "_type" not in feature:
            labels += _class_labels(feature, f"{before}{name}.")
    return labels
