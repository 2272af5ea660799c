"""Token files of other programs, read in place."""

from mixture.data.token_files.file_changes import check_linked, linked_damage
from mixture.data.token_files.files import is_there, looks, opened, sha256
from mixture.data.token_files.fingerprint import fingerprint
from mixture.data.token_files.object_listing import look_at_all
from mixture.data.token_files.reader import I64, Kind, LinkedTokens
from mixture.data.token_files.survey import CHUNK, FoundDocuments, Survey, naming, one_piece, refused

__all__ = [
    "CHUNK", "FoundDocuments", "I64", "Kind", "LinkedTokens", "Survey", "check_linked", "fingerprint", "is_there",
    "linked_damage", "look_at_all", "looks", "naming", "one_piece", "opened", "refused", "sha256",
]  # fmt: skip
