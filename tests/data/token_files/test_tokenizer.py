"""What a catalog says of the tokenizer that its tokens were made with."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.token_files.token_files import write_megatron
from tokenizers import Tokenizer, models

from mixture.data.linking import build_catalog, refresh_catalog
from mixture.data.store import Store, decoder, open_store
from mixture.errors import IngestError, StoreError

WORDS = {"<eos>": 0, "a": 1, "b": 2, "c": 3}


def write_tokenizer(path: Path, words: dict[str, int]) -> Path:
    """A tokenizer.json."""
    Tokenizer(models.WordLevel(words, unk_token="<eos>")).save(str(path))
    return path


def built(folder: Path, head: str) -> Store:
    """A catalog of three tokens under a head of the sources file."""
    write_megatron(folder / "web.bin", [[1, 3, 2]])
    text = head + "\nvocabulary_size: 4\nend_of_document: 0\ndomains: {web: {format: megatron, files: [web.bin]}}\n"
    (folder / "sources.yaml").write_text(text, encoding="utf-8")
    build_catalog(folder / "sources.yaml", folder / "catalog")
    return open_store(folder / "catalog")


def test_a_catalog_keeps_the_definition_of_its_tokenizer_and_text_can_be_shown(tmp_path):
    write_tokenizer(tmp_path / "made.json", WORDS)
    store = built(tmp_path, "tokenizer: lab/words\ntokenizer_file: made.json")
    assert store.tokenizer == "lab/words"
    assert decoder(store)(store.read("web", 0, 3)) == "a c b"
    write_megatron(tmp_path / "web.bin", [[2, 2]])
    refresh_catalog(tmp_path / "catalog", accept=True)
    store = open_store(tmp_path / "catalog")
    assert decoder(store)(store.read("web", 0, 2)) == "b b"
    write_tokenizer(store.definition, {**WORDS, "d": 4})
    with pytest.raises(StoreError) as refused:
        decoder(store)
    assert refused.value.code == "tokenizer-differs"


def test_without_a_definition_ids_are_shown(tmp_path):
    store = built(tmp_path, "tokenizer: lab/words")
    assert decoder(store)(store.read("web", 0, 3)) == "1 3 2"


def test_a_definition_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(IngestError) as refused:
        built(tmp_path, "tokenizer: lab/words\ntokenizer_file: nowhere.json")
    assert refused.value.code == "tokenizer-unreadable"


def test_a_type_that_does_not_hold_the_vocabulary_is_refused(tmp_path):
    head = "tokenizer: t\nvocabulary_size: 70000\nend_of_document: 0\ndtype: uint16\n"
    text = head + "domains: {web: {format: megatron, files: [web.bin]}}\n"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match="a vocabulary of 70,000 does not go into uint16") as refused:
        build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")
    assert refused.value.code == "dtype-too-small"
