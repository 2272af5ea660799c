"""Whether a store holds the domains that a lock names."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mixture.data.layout import ContentKind, StoreDescription, StoreDomain, content_digest
from mixture.data.storage import ObjectOptions
from mixture.data.store.store import Store, Verify, described
from mixture.data.store.verify import Progress, damage
from mixture.errors import Place, StoreError, nearest

if TYPE_CHECKING:
    from mixture.lock import Lock


_CHUNK = 1 << 22
_OF_TOKENS = "open the store that the lock was made with, or this one with accept_content='a reason'"


def disagreements(store: StoreDescription, lock: Lock) -> list[StoreError]:
    """Where the store is not the lock's: another tokenizer, domains it lacks, other numbers of tokens, other content.

    Domains that no segment of the lock draws from are no matter, nor is content for which the lock keeps no digest.
    Codes: `tokenizer-differs`, `packed-length-differs`; with the domain among the facts `domain-not-in-store`,
    `tokens-differ`, `content-differs`.
    """
    errors: list[StoreError] = []
    place = Place(file=store.source if isinstance(store, Store) else str(store.path))
    packed = store.packed if isinstance(store, Store) else None
    other = [segment for segment in lock.data.segments if packed not in (None, segment.sequence_length)]
    if other:
        length, step = other[0].sequence_length, other[0].first_step
        errors.append(
            StoreError(
                f"the store holds rows packed to {packed:,} tokens, and the lock reads sequences of {length:,} from "
                f"step {step:,} on",
                code="packed-length-differs",
                place=place,
                hint=f"`mixture pack --sequence-length {length}` on the unpacked store makes rows of that length",
                found=packed,
                expected=length,
            )
        )
    if lock.tokenizer is not None and store.tokenizer != lock.tokenizer:
        errors.append(
            StoreError(
                f"the store was made with the tokenizer '{store.tokenizer}', and the lock says '{lock.tokenizer}'",
                code="tokenizer-differs",
                place=place,
                found=store.tokenizer,
                expected=lock.tokenizer,
            )
        )
    for domain in (lock.data.domains[d] for d in lock.data.drawn_before(lock.data.steps)):
        held = store.domains.get(domain.name)
        if held is None:
            message, code = f"the lock names the domain '{domain.name}', and the store has none", "domain-not-in-store"
            hint = nearest(domain.name, store.domains)
            errors.append(StoreError(message, code=code, place=place, hint=hint, domain=domain.name))
            continue
        if held.tokens != domain.tokens:
            errors.append(
                StoreError(
                    f"domain '{domain.name}' has {held.tokens:,} tokens, and the lock says {domain.tokens:,}",
                    code="tokens-differ",
                    place=place,
                    domain=domain.name,
                    found=held.tokens,
                    expected=domain.tokens,
                )
            )
        expected = lock.content.get(domain.name, held.content)
        if held.content != expected:
            errors.append(
                StoreError(
                    f"domain '{domain.name}' has the content {held.content}, and the lock says {expected}",
                    code="content-differs",
                    place=place,
                    hint=_of_files(store.path) if held.kind is ContentKind.FILES else _OF_TOKENS,
                    domain=domain.name,
                    found=held.content,
                    expected=expected,
                )
            )
    return errors


def _of_files(path: Path | str) -> str:
    """How to find out whether files have the tokens that a lock names."""
    command = f"mixture verify --store {shlex.quote(str(path))} LOCK"
    return (
        "files that are read in place have a digest of their names, sizes and fingerprints, a store has one of its "
        f"tokens; `{command}` reads the tokens, and reports content-differs only where they or their documents are not "
        "the lock's: where it does not, open with accept_content='the same tokens'"
    )


def require_agreement(store: StoreDescription, lock: Lock, *, accept_content: str | None = None) -> None:
    """Raise the first of `disagreements`, with how many more there are.

    accept_content: a reason to let other content pass
    """
    wrong = [error for error in disagreements(store, lock) if not (accept_content and error.code == "content-differs")]
    if wrong:
        first, more = wrong[0], len(wrong) - 1
        raise StoreError(
            f"{first.message}, and {more} more" if more else first.message,
            code=first.code,
            place=first.place,
            hint=first.hint,
            **first.facts,
        )


def verify_store(
    path: str | os.PathLike[str],
    *,
    lock: Lock | None = None,
    progress: Progress | None = None,
    objects: ObjectOptions | None = None,
) -> list[StoreError]:
    """Read every byte of a store; give all that is wrong with it, nothing where all is well.

    Compared are: the digest of every file and the content digest of every domain; that ids are below the size of the
    vocabulary; that documents tile their domain, each with end-of-document as its last token; that the tables say the
    same; and, where there is a lock, that the store is the lock's. Of the files that a catalog leads to, fingerprints,
    ids and digests are compared; where it was built without digests, `digest-missing` says so. With a lock that was
    made with a store, their tokens and the ends of their documents are compared with that store's.
    progress(bytes read, bytes in all) may be called from any thread. path and objects are those of `open_store`.

    Errors: StoreError where there is no store to read, or a file is missing, cut short or changed at its ends.
    """
    folder, manifest, standing = described(path, objects)
    found = list(damage(folder, manifest, standing, progress))
    if lock is not None:
        store = Store(folder, manifest, Verify.FULL, standing)
        found += [left for error in disagreements(store, lock) if (left := _by_tokens(store, lock, error)) is not None]
    return found


def _by_tokens(store: Store, lock: Lock, error: StoreError) -> StoreError | None:
    """A disagreement after the tokens of files are compared; None: they are those of the lock's store."""
    domain = store.domains.get(str(error.facts.get("domain")))
    if error.code != "content-differs" or domain is None or domain.kind is not ContentKind.FILES:
        return error
    content = _token_content(store, domain)
    if content == lock.content[domain.name]:
        return None
    return StoreError(
        f"domain '{domain.name}' has other tokens or documents than the lock says",
        code=error.code,
        place=error.place,
        hint=_OF_TOKENS,
        domain=domain.name,
        found=content,
        expected=lock.content[domain.name],
    )


def _token_content(store: Store, domain: StoreDomain) -> str:
    """The content digest that a store of a domain's tokens and documents has."""
    tokens, spans = hashlib.sha256(), hashlib.sha256()
    for first in range(0, domain.tokens, _CHUNK):
        part = store.read(domain.name, first, min(_CHUNK, domain.tokens - first))
        tokens.update(part.astype(store.dtype.newbyteorder("<"), copy=False).tobytes())
    for table in store.scan_documents(domain.name, ["tokens"]):
        spans.update(table["tokens"].to_numpy().astype("<i8").tobytes())
    return content_digest(str(store.dtype), domain.tokens, tokens.hexdigest(), domain.documents, spans.hexdigest())
