"""YAML with positions, read into typed values, and its JSON Schema."""

from mixture.planning.yamlfile.document import parse_document
from mixture.planning.yamlfile.errors import Gatherer, SpecFileError, refuse
from mixture.planning.yamlfile.fields import Reader, read_fields, read_items, read_list, unique_entries
from mixture.planning.yamlfile.keys import Key, Keys, Schema, any_of
from mixture.planning.yamlfile.nodes import Mapping, Node, Scalar, Sequence, key_path, key_places
from mixture.planning.yamlfile.schema_values import (
    CONDITION,
    DOMAINS,
    EPOCHS,
    FACTOR,
    NAME,
    RULE,
    SHARE,
    TEXT,
    WEIGHT,
    count,
    number,
    quantity,
    words,
)
from mixture.planning.yamlfile.values import (
    read_condition,
    read_count,
    read_domain,
    read_epochs,
    read_factor,
    read_located,
    read_name,
    read_number,
    read_path,
    read_scalar,
    read_share,
    read_stored_domain,
    read_text,
    read_tokens,
    read_whole,
    read_word,
)

__all__ = [
    "CONDITION", "DOMAINS", "EPOCHS", "FACTOR", "Gatherer", "Key", "Keys", "Mapping", "NAME", "Node", "RULE", "Reader",
    "SHARE", "Scalar", "Schema", "Sequence", "SpecFileError", "TEXT", "WEIGHT", "any_of", "count", "key_path",
    "key_places", "number", "parse_document", "quantity", "read_condition", "read_count", "read_domain", "read_epochs",
    "read_factor", "read_fields", "read_items", "read_list", "read_located", "read_name", "read_number", "read_path",
    "read_scalar", "read_share", "read_stored_domain", "read_text", "read_tokens", "read_whole", "read_word", "refuse",
    "unique_entries", "words",
]  # fmt: skip
