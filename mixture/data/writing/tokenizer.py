"""Text to token ids: bytes, or any tokenizer.json. End-of-document stands behind every text, once."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mixture.data.layout import BYTES, TokenizerRecord
from mixture.errors import IngestError, Place, nearest
from mixture.extras import extra
from mixture.units import quote

_BYTE_RULE = "mixture byte tokenizer 1: the bytes of the text in UTF-8 as ids 0 to 255; 256 is end-of-document"

# What models call it. Where a vocabulary has several, the sources file must say which.
_USUAL_NAMES = (
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_document|>",
    "</s>",
    "<eos>",
    "<EOS>",
    "[EOS]",
    "<|eos|>",
    "<｜end▁of▁sentence｜>",
)


class Tokenizer(Protocol):
    """What ingest asks of a tokenizer."""

    @property
    def record(self) -> TokenizerRecord: ...
    @property
    def end_of_document(self) -> int: ...
    @property
    def before(self) -> Sequence[int]:
        """The ids that it puts before every text."""
        ...

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.unsignedinteger]]:
        """The ids of each text, end-of-document last, as the tokenizer gives them: in a type that holds them all.

        A text of which it makes no token has no ids at all. Raises TextRefused.
        """
        ...


class TextRefused(Exception):  # noqa: N818 what it is an error of, the caller knows
    """The tokenizer can not cut the text with this number."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)
        self.number = number
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TokenizerChoice:
    """All that a process needs to make the tokenizer. definition: what tokenizer.json holds; None: bytes."""

    definition: bytes | None
    name: str
    end_of_document: str | None
    place: Place

    def make(self) -> Tokenizer:
        """The tokenizer.

        Errors: IngestError `tokenizer-unreadable`, `tokenizer-random`, `tokenizer-unclear`, `end-of-document-unclear`.
        """
        return ByteTokenizer() if self.definition is None else JsonTokenizer(self.definition, self)


def choose_tokenizer(tokenizer: str, *, name: str | None, end_of_document: str | None, place: Place) -> TokenizerChoice:
    """Read what the tokenizer is made from: `bytes`, or the path of a tokenizer.json."""
    if tokenizer == BYTES:
        if name not in (None, BYTES) or end_of_document is not None:
            message = "the byte tokenizer has its own name and its own end-of-document, 256"
            raise IngestError(message, code="tokenizer-fixed", place=place)
        return TokenizerChoice(None, BYTES, None, place)
    path = Path(tokenizer)
    try:
        definition = path.read_bytes()
    except (OSError, ValueError) as error:
        raise IngestError(
            f"the tokenizer can not be read: {error.strerror if isinstance(error, OSError) else error}",
            code="tokenizer-unreadable",
            place=Place(file=tokenizer),
            hint="the path of a tokenizer.json, or `bytes`",
        ) from error
    # Most are called tokenizer.json, in a folder that has the model's name.
    usual = path.stem if path.stem != "tokenizer" else path.resolve().parent.name
    name = name or usual.encode(errors="backslashreplace").decode()
    return TokenizerChoice(definition, name, end_of_document, Place(file=tokenizer))


class ByteTokenizer:
    """The bytes of the text in UTF-8 as ids 0 to 255, and 256 behind every document."""

    end_of_document = 256
    before = ()
    record = TokenizerRecord(name=BYTES, digest=hashlib.sha256(_BYTE_RULE.encode()).hexdigest(), vocabulary=257)

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.unsignedinteger]]:
        """The ids of each text, uint16, views of one array."""
        data = [text.encode() for text in texts]
        ends = np.cumsum([len(part) + 1 for part in data], dtype=np.int64)
        joined = b"\0".join([*data, b""])
        empty = not data
        del data  # of a document of 300 MB, each copy counts
        ids = np.frombuffer(joined, np.uint8).astype(np.uint16)
        ids[ends - 1] = self.end_of_document
        return [] if empty else np.split(ids, ends[:-1])


class JsonTokenizer:
    """A tokenizer.json.

    What it puts before a text, as a rule a token for the beginning, stays; where that is end-of-document itself it is
    left out, for the document before has just ended with it. What it puts behind a text is left out, and exactly one
    end-of-document put there. Text that spells a special token, such as ``</s>``, is text, unless the model's own
    vocabulary makes that token of it, as many unigram models do, or the token is not marked as special. Truncation and
    padding, which many files carry from training, are switched off.
    """

    def __init__(self, definition: bytes, choice: TokenizerChoice) -> None:
        with extra("ingest"):
            from tokenizers import Tokenizer as Library

        try:
            fields = json.loads(definition)
            self._library = Library.from_str(definition.decode())
        except Exception as error:
            message = f"is not a tokenizer.json: {error}"
            raise IngestError(message, code="tokenizer-unreadable", place=choice.place) from error
        if (fields.get("model") or {}).get("dropout"):
            message = "its model has a dropout: it cuts the same text in another way each time"
            raise IngestError(message, code="tokenizer-random", place=choice.place, hint="set model.dropout to null")
        self._library.no_truncation()
        self._library.no_padding()
        self._library.encode_special_tokens = True
        vocabulary = self._library.get_vocab(with_added_tokens=True)
        self.end_of_document = _end_of_document(vocabulary, choice)
        self.record = TokenizerRecord(
            name=choice.name,
            digest=hashlib.sha256(definition).hexdigest(),
            vocabulary=max(vocabulary.values()) + 1,
        )
        self.before = [token for token in self._before_text(choice) if token != self.end_of_document]

    def _before_text(self, choice: TokenizerChoice) -> list[int]:
        """What it puts before a text: what stands before the text's own tokens where it marks them as the text's."""
        for probe in self._probes():
            try:
                plain = self._library.encode(probe, add_special_tokens=False).ids
                marked = self._library.encode(probe)
            except Exception:  # noqa: BLE001 that of a text without the token for unknown ones has no type
                continue
            if plain:
                at = marked.sequence_ids.index(0) if 0 in marked.sequence_ids else 0
                if marked.ids[at : at + len(plain)] == plain:
                    return list(marked.ids[:at])
                break
        else:
            if not self._library.encode("").ids:
                return []
        raise IngestError(
            "which tokens does it put before a text? Those of a text do not stand together in what it gives",
            code="tokenizer-unclear",
            place=choice.place,
            hint="a post_processor that is a TemplateProcessing says it clearly",
        )

    def _probes(self) -> Iterator[str]:
        """Texts of which some have a token in any vocabulary: usual ones, then what its own tokens stand for."""
        yield from ("a", "0", ".")
        vocabulary = self._library.get_vocab(with_added_tokens=True)
        for name in sorted(vocabulary, key=vocabulary.__getitem__):
            yield from (self._library.decode([vocabulary[name]], skip_special_tokens=False), name)

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.unsignedinteger]]:
        """The ids of each text, uint32, end-of-document last; none where the text has none of its own."""
        try:
            encodings = self._library.encode_batch_fast(list(texts), add_special_tokens=False)
        except Exception:
            for number, text in enumerate(texts):
                try:
                    self._library.encode(text, add_special_tokens=False)
                except Exception as error:
                    raise TextRefused(number, str(error)) from error
            raise
        return [self._framed(encoding.ids) for encoding in encodings]

    def _framed(self, ids: list[int]) -> NDArray[np.unsignedinteger]:
        # An array takes a list of numbers in 5 ns each, NumPy in 110.
        framed = array("I", [*self.before, *ids, self.end_of_document] if ids else ())
        return np.frombuffer(framed, np.uint32)


def _end_of_document(vocabulary: dict[str, int], choice: TokenizerChoice) -> int:
    if choice.end_of_document is not None:
        if choice.end_of_document not in vocabulary:
            raise IngestError(
                f"the vocabulary has no token {quote(choice.end_of_document)}",
                code="end-of-document-unclear",
                place=choice.place,
                hint=nearest(choice.end_of_document, vocabulary),
            )
        return vocabulary[choice.end_of_document]
    known = [name for name in _USUAL_NAMES if name in vocabulary]
    if len(known) == 1:
        return vocabulary[known[0]]
    found = f"has {', '.join(known)}" if known else "has none of the usual names for it"
    raise IngestError(
        f"which token is end-of-document? The vocabulary {found}",
        code="end-of-document-unclear",
        place=choice.place,
        hint="say so in the sources file: end_of_document: TOKEN",
    )
