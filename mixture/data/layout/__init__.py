"""The files of a store, one by one: tokens, documents, tables, manifest."""

from mixture.data.layout.attributes import Attribute, attribute_text, attribute_value
from mixture.data.layout.description import ContentKind, StoreDescription, StoreDomain
from mixture.data.layout.distant_rows import DistantRows
from mixture.data.layout.documents import PLACE, Documents, Spans, document_schema
from mixture.data.layout.file_rows import Files
from mixture.data.layout.files import DATA_START, ends_agree, file_bytes, prefix, suffix, write_hole
from mixture.data.layout.gather import Bytes
from mixture.data.layout.linked import (
    ANY_FORM,
    PIECES,
    SEARCHED,
    AnyManifest,
    EndToken,
    How,
    LinkedDomain,
    LinkedFile,
    LinkedFormat,
    LinkedManifest,
    M,
    SeenFile,
    base_of,
    files_digest,
    linked_path,
    read_any,
)
from mixture.data.layout.manifest import (
    BYTES,
    DOCUMENT_ENDS,
    DOCUMENTS,
    DOMAINS,
    END_COLUMN,
    ENDS_DTYPE,
    FORMAT,
    MANIFEST,
    TOKEN_COLUMN,
    TOKENIZER,
    TOKENS,
    DomainRecord,
    DomainTotals,
    FileRecord,
    Manifest,
    TokenFile,
    TokenizerRecord,
    content_digest,
    read_description,
    read_manifest,
    write_manifest,
)
from mixture.data.layout.mapping import Standing, arrow_file, readable
from mixture.data.layout.packed import LongDocuments, PackedManifest, Packing, packed_digest
from mixture.data.layout.packed_padding import PADDING
from mixture.data.layout.parquet import ParquetTable
from mixture.data.layout.rows import OwnTokens, TokenReader, Tokens, TokenSource, check_out, outside
from mixture.data.layout.tables import (
    FILE_TOKENS,
    ROW_GROUP,
    StoredDocuments,
    document_tables,
    file_digest,
    file_record,
    plain_name,
    shared_ids,
    token_path,
    write_table_files,
    write_tables,
)

__all__ = [
    "ANY_FORM", "AnyManifest", "Attribute", "BYTES", "Bytes", "ContentKind", "DATA_START", "DOCUMENTS", "DOCUMENT_ENDS",
    "DOMAINS", "DistantRows", "Documents", "DomainRecord", "DomainTotals", "ENDS_DTYPE", "END_COLUMN", "EndToken",
    "FILE_TOKENS", "FORMAT", "FileRecord", "Files", "How", "LinkedDomain", "LinkedFile", "LinkedFormat",
    "LinkedManifest", "LongDocuments", "M", "MANIFEST", "Manifest", "OwnTokens", "PADDING", "PIECES",
    "PLACE", "PackedManifest", "Packing", "ParquetTable", "ROW_GROUP", "SEARCHED", "SeenFile", "Spans", "Standing",
    "StoreDescription", "StoreDomain", "StoredDocuments", "TOKENIZER", "TOKENS", "TOKEN_COLUMN", "TokenFile",
    "TokenReader", "TokenSource", "TokenizerRecord", "Tokens", "arrow_file", "attribute_text", "attribute_value",
    "base_of", "check_out", "content_digest", "document_schema", "document_tables", "ends_agree", "file_bytes",
    "file_digest", "file_record", "files_digest", "linked_path", "outside", "packed_digest", "plain_name", "prefix",
    "read_any", "read_description", "read_manifest", "readable", "shared_ids", "suffix", "token_path", "write_hole",
    "write_manifest", "write_table_files", "write_tables",
]  # fmt: skip
