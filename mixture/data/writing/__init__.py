"""What every command that writes a store needs: tokenizer, workplace, processes, token files."""

from mixture.data.writing.pool import Advance, Job, leave_with_parent, run_jobs
from mixture.data.writing.token_writer import TokenWriter
from mixture.data.writing.tokenizer import TextRefused, Tokenizer, TokenizerChoice, choose_tokenizer
from mixture.data.writing.tokens_in_text import TextTokens, TokensInText
from mixture.data.writing.workplace import Workplace, lasting_workplace, on_disk, publish, remove, sync_all, workplace

__all__ = [
    "Advance", "Job", "TextRefused", "TextTokens", "TokenWriter", "Tokenizer", "TokenizerChoice", "TokensInText",
    "Workplace", "choose_tokenizer", "lasting_workplace", "leave_with_parent", "on_disk", "publish", "remove",
    "run_jobs", "sync_all", "workplace",
]  # fmt: skip
