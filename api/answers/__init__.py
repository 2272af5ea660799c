"""What answers are made of: formats, tables, lists, queries, bodies."""

from mixture.api.answers.bodies import BodyRequest, BodyRoute, RequestBody, VisibleText
from mixture.api.answers.columns import By, Where, columns_of
from mixture.api.answers.description import describe, page_paths
from mixture.api.answers.formats import (
    LISTS,
    NOT_MODIFIED,
    Format,
    JsonOnly,
    Suffixes,
    TableFormat,
    asks_for_table,
    json_answer,
    json_bytes,
    only,
    text_answer,
)
from mixture.api.answers.lists import (
    LARGEST_NUMBER,
    Listed,
    Page,
    PageAsked,
    PageQuery,
    encode_cursor,
    name_after,
    next_url,
    number_after,
    page_answer,
    page_of,
    page_query,
    table_page_query,
)
from mixture.api.answers.positions import CHUNK_ROWS, batches_at, range_batches, slots_batch
from mixture.api.answers.queries import (
    LONGEST_SHOWN,
    OWN_NAMES,
    FormCount,
    FormNumber,
    KnownNames,
    check_names,
    check_step,
    wrong_query,
)
from mixture.api.answers.table_writers import table_bytes
from mixture.api.answers.tables import (
    TablePart,
    check_rows,
    chunked_answer,
    list_answer,
    table_answer,
    table_responses,
    whole_answer,
)

__all__ = [
    "BodyRequest", "BodyRoute", "By", "CHUNK_ROWS", "FormCount", "FormNumber", "Format", "JsonOnly", "KnownNames",
    "LARGEST_NUMBER", "LISTS", "LONGEST_SHOWN", "Listed", "NOT_MODIFIED", "OWN_NAMES", "Page", "PageAsked", "PageQuery",
    "RequestBody", "Suffixes", "TableFormat", "TablePart", "VisibleText", "Where", "asks_for_table",
    "batches_at", "check_names", "check_rows", "check_step", "chunked_answer", "columns_of", "describe",
    "encode_cursor", "json_answer", "json_bytes", "list_answer", "name_after", "next_url", "number_after", "only",
    "page_answer", "page_of", "page_paths", "page_query", "range_batches", "slots_batch", "table_answer", "table_bytes",
    "table_page_query", "table_responses", "text_answer", "whole_answer", "wrong_query",
]  # fmt: skip
