"""Documents out of files of text, tables and archives."""

from mixture.data.texts.arrow_values import text_column
from mixture.data.texts.batch import Batch, Columns, Document, Piece
from mixture.data.texts.labels import LABELS, Label, Labels, label_columns, read_labels
from mixture.data.texts.lines import first_keys
from mixture.data.texts.matching import Compression, FileFormat, Matcher, SourceFile, reason_to_skip
from mixture.data.texts.quarantine import (
    Dropped,
    Example,
    LeftOut,
    Quarantine,
    Ward,
    duplicate_examples,
    first_of,
    printable,
    start_of,
)
from mixture.data.texts.recognition import recognised
from mixture.data.texts.report import (
    NO_ROW,
    ColumnReport,
    DomainReport,
    Empty,
    EndInText,
    IngestProgress,
    IngestReport,
    ProgressCallback,
    Reason,
    Skipped,
    Stage,
    TokenInText,
    Unfit,
    Unreadable,
)
from mixture.data.texts.saved_datasets import SPLITS, STATE, listed_files
from mixture.data.texts.splits import chosen_split
from mixture.data.texts.texts import MOST_SHOWN, UNREADABLE, UnreadableError, check_errors, place_of, read, split_all
from mixture.data.texts.values import Kind, are_mixed, column_type

__all__ = [
    "Batch", "ColumnReport", "Columns", "Compression", "Document", "DomainReport", "Dropped", "Empty", "EndInText",
    "Example", "FileFormat", "IngestProgress", "IngestReport", "Kind", "LABELS", "Label", "Labels", "LeftOut",
    "MOST_SHOWN", "Matcher", "NO_ROW", "Piece", "ProgressCallback", "Quarantine", "Reason", "SPLITS", "STATE",
    "Skipped", "SourceFile", "Stage", "TokenInText", "UNREADABLE", "Unfit", "Unreadable", "UnreadableError", "Ward",
    "are_mixed", "check_errors", "chosen_split", "column_type", "duplicate_examples", "first_keys", "first_of",
    "label_columns", "listed_files", "place_of", "printable", "read", "read_labels", "reason_to_skip", "recognised",
    "split_all", "start_of", "text_column",
]  # fmt: skip
