"""Any tokenizer.json: whole documents, each with exactly one end-of-document, in the smallest type."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from data.makers import WriteSources, write_lines
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from mixture.data.ingest import Resumed, ingest
from mixture.data.store import Store, open_store, verify_store
from mixture.data.texts import Reason, TokenInText
from mixture.errors import IngestError, SpecError, StoreError

WORDS = ["one", "two", "three"]


def make_tokenizer(path: Path, *, special: list[str], before: str = "", behind: str = "", words: int = 3) -> Path:
    """A tokenizer of words that puts special tokens around a text, as model families do."""
    vocabulary = {name: number for number, name in enumerate([*special, *WORDS, *(f"w{n}" for n in range(words - 3))])}
    tokenizer = Tokenizer(models.WordLevel({**vocabulary, "<unk>": len(vocabulary)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(special)
    if before or behind:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{before} $A {behind}".strip(), special_tokens=[(name, vocabulary[name]) for name in special]
        )
    tokenizer.save(str(path))
    return path


def store_of(tmp_path: Path, sources: WriteSources, tokenizer: Path, texts: list[str], keys: str = "") -> Store:
    write_lines(tmp_path / "in.jsonl", ({"text": text, "id": str(n)} for n, text in enumerate(texts)))
    ingest(
        sources(f"{keys}\ndomains: {{web: {{files: [in.jsonl], id: id}}}}"),
        tmp_path / "store",
        tokenizer=str(tokenizer),
    )
    assert verify_store(tmp_path / "store") == []
    return open_store(tmp_path / "store")


def tokens_of(store: Store, identity: str) -> list[int]:
    (row,) = store.document(identity).to_pylist()
    return store.read("web", row["first_token"], row["tokens"]).tolist()


@pytest.mark.parametrize("behind", ["", "<eos>", "<eos> <eos>"])
def test_end_of_document_stands_once_whether_or_not_the_tokenizer_adds_it(
    tmp_path: Path, sources: WriteSources, behind: str
):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"], behind=behind)
    store = store_of(tmp_path, sources, path, ["one two", "three"])
    assert tokens_of(store, "0") == [1, 2, 0]
    assert tokens_of(store, "1") == [3, 0]
    assert store.end_of_document == 0


def test_a_token_for_the_beginning_stays(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<s>", "</s>"], before="<s>", behind="</s>")
    store = store_of(tmp_path, sources, path, ["one two"])
    assert tokens_of(store, "0") == [0, 2, 3, 1]


def test_where_beginning_and_end_are_one_token_documents_are_still_apart(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<|endoftext|>"], before="<|endoftext|>")
    store = store_of(tmp_path, sources, path, ["one", "two"])
    assert tokens_of(store, "0") == [1, 0]
    assert tokens_of(store, "1") == [2, 0]
    assert store.documents("web", 0, 4)["tokens"].to_pylist() == [2, 2]


def test_a_text_that_spells_end_of_document_is_not_cut(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    store = store_of(tmp_path, sources, path, ["one <eos> two"])
    tokens = tokens_of(store, "0")
    assert tokens.count(0) == 1
    assert tokens[-1] == 0
    assert (tokens[0], tokens[-2]) == (1, 2)


def test_truncation_and_padding_of_the_file_are_switched_off(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(path))
    store = store_of(tmp_path, sources, path, ["one", "two " * 130_000])
    assert tokens_of(store, "0") == [1, 0]
    assert tokens_of(store, "1") == [2] * 130_000 + [0]


def test_large_ids_round_trip_in_the_smallest_type(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"], words=151_935)
    store = store_of(tmp_path, sources, path, ["w151931 one"])
    assert store.dtype == "uint32"
    assert tokens_of(store, "0") == [151_935, 1, 0]


@pytest.mark.parametrize("outside", [5, 65_536, 65_537])
def test_an_id_that_the_vocabulary_does_not_have_is_an_error_with_the_document_s_id(
    tmp_path: Path, sources: WriteSources, outside: int
):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", outside)])
    tokenizer.save(str(path))
    with pytest.raises(IngestError, match=rf"document '0': id {outside:,} is outside of the vocabulary of 5") as caught:
        store_of(tmp_path, sources, path, ["one"])
    assert caught.value.code == "id-outside-vocabulary"
    assert caught.value.facts == {"document": "0"}
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("words", "dtype"), [(65_534, "uint16"), (65_535, "uint32")])
def test_sixteen_bits_hold_just_as_many_ids_as_they_do(tmp_path: Path, sources: WriteSources, words: int, dtype: str):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"], words=words)
    assert store_of(tmp_path, sources, path, ["one"]).dtype == dtype


def test_a_vocabulary_that_does_not_go_into_sixteen_bits_is_refused(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"], words=70_000)
    with pytest.raises(IngestError, match="a vocabulary of 70,002 does not go into uint16") as caught:
        store_of(tmp_path, sources, path, ["one"], "dtype: uint16")
    assert caught.value.code == "dtype-too-small"
    assert not (tmp_path / "store").exists()


def test_a_wider_type_may_be_asked_for(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    assert store_of(tmp_path, sources, path, ["one"], "dtype: uint32").dtype == "uint32"


def test_the_store_says_which_tokenizer_made_it(tmp_path: Path, sources: WriteSources):
    folder = tmp_path / "marin-tokenizer"
    folder.mkdir()
    path = make_tokenizer(folder / "tokenizer.json", special=["<eos>"])
    store = store_of(tmp_path, sources, path, ["one"])
    assert store.tokenizer == "marin-tokenizer"
    assert store.tokenizer_digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (store.path / "tokenizer.json").read_bytes() == path.read_bytes()


def test_the_tokenizer_is_kept_byte_for_byte_and_its_change_noticed(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    store = store_of(tmp_path, sources, path, ["one"])
    kept = store.path / "tokenizer.json"
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == store.tokenizer_digest
    kept.write_bytes(kept.read_bytes().replace(b"one", b"eno"))
    with pytest.raises(StoreError, match=r"tokenizer\.json: the file was changed"):
        open_store(store.path)


def test_the_sources_file_names_tokenizer_and_end_of_document(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>", "</s>", "<mine>"])
    keys = "tokenizer_name: org/name\nend_of_document: <mine>"
    store = store_of(tmp_path, sources, path, ["one"], keys)
    assert store.tokenizer == "org/name"
    assert tokens_of(store, "0") == [3, 2]


@pytest.mark.parametrize(
    ("special", "keys", "message"),
    [
        (["<eos>", "</s>"], "", "The vocabulary has </s>, <eos>"),
        (["<end>"], "", "none of the usual names"),
        (["<eos>"], "end_of_document: <eoss>", "no token '<eoss>'.*did you mean '<eos>'"),
    ],
)
def test_an_unclear_end_of_document_is_refused(
    tmp_path: Path, sources: WriteSources, special: list[str], keys: str, message: str
):
    path = make_tokenizer(tmp_path / "t.json", special=special)
    with pytest.raises(IngestError, match=message) as caught:
        store_of(tmp_path, sources, path, ["one"], keys)
    assert caught.value.code == "end-of-document-unclear"


def test_a_tokenizer_that_cuts_at_random_is_refused(tmp_path: Path, sources: WriteSources):
    path = tmp_path / "t.json"
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2, "<eos>": 3}, [("a", "b")], dropout=0.1))
    tokenizer.add_special_tokens(["<eos>"])
    tokenizer.save(str(path))
    with pytest.raises(IngestError, match="dropout") as caught:
        store_of(tmp_path, sources, path, ["ab"])
    assert caught.value.code == "tokenizer-random"


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[1]", b'{"model": 3}', None])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path, sources: WriteSources, data: bytes | None):
    path = tmp_path / "t.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(IngestError, match=r"t\.json: ") as caught:
        store_of(tmp_path, sources, path, ["one"])
    assert caught.value.code == "tokenizer-unreadable"


def test_the_byte_tokenizer_takes_no_other_end_of_document(tmp_path: Path, sources: WriteSources):
    with pytest.raises(IngestError) as caught:
        store_of(tmp_path, sources, Path("bytes"), ["one"], "end_of_document: <eos>")
    assert caught.value.code == "tokenizer-fixed"


def test_an_unknown_type_is_refused(tmp_path: Path, sources: WriteSources):
    with pytest.raises(SpecError, match="uint8"):
        store_of(tmp_path, sources, Path("bytes"), ["one"], "dtype: uint8")


def test_a_json_tokenizer_gives_one_store_in_any_number_of_processes(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"])
    for n in range(3):
        write_lines(tmp_path / f"{n}.jsonl", [{"text": f"one {WORDS[n]} two"}])
    listing = sources("domains: {" + ", ".join(f"d{n}: {{files: [{n}.jsonl]}}" for n in range(3)) + "}")
    reports = [ingest(listing, tmp_path / str(n), tokenizer=str(path), processes=n) for n in (1, 2)]
    assert reports[0].digest == reports[1].digest
    assert json.loads((tmp_path / "1" / "store.json").read_text())["tokenizer"]["vocabulary"] == 5


def letters(path: Path, *, around: bool = False) -> Path:
    """A tokenizer that knows two letters, and drops all others without a word."""
    tokenizer = Tokenizer(models.BPE({"x": 0, "y": 1, "</s>": 2, "<s>": 3}, []))
    if around:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 3), ("</s>", 2)]
        )
    tokenizer.save(str(path))
    return path


@pytest.mark.parametrize("around", [False, True])
def test_a_text_without_any_token_is_no_document_and_counted(tmp_path: Path, sources: WriteSources, around: bool):
    path = letters(tmp_path / "t.json", around=around)
    rows = [{"text": text, "id": str(n)} for n, text in enumerate(["hello", "xy", "good", "y"])]
    write_lines(tmp_path / "in.jsonl", rows)
    report = ingest(sources("domains: {web: {files: [in.jsonl], id: id}}"), tmp_path / "store", tokenizer=str(path))
    assert report.documents == 2
    assert report.domains[0].dropped == {Reason.NO_TOKENS: 2}
    assert verify_store(report.path) == []
    assert open_store(report.path).documents("web", 0, report.tokens)["tokens"].to_pylist() in (
        [2 + around, 3 + around],
        [3 + around, 2 + around],
    )


def test_a_token_for_the_beginning_stays_where_usual_letters_have_no_token(tmp_path: Path, sources: WriteSources):
    store = store_of(tmp_path, sources, letters(tmp_path / "t.json", around=True), ["xy", "x"])
    assert tokens_of(store, "0") == [3, 0, 1, 2]
    assert tokens_of(store, "1") == [3, 0, 2]


@pytest.mark.parametrize("kind", ["roberta", "bert", "sequence", "same as a text"])
def test_a_token_for_the_beginning_stays_whatever_puts_it_there(tmp_path: Path, sources: WriteSources, kind: str):
    path = make_tokenizer(tmp_path / "t.json", special=["<s>", "</s>", "a"])
    tokenizer = Tokenizer.from_file(str(path))
    template = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    tokenizer.post_processor = {
        "roberta": processors.RobertaProcessing(("</s>", 1), ("<s>", 0)),
        "bert": processors.BertProcessing(("</s>", 1), ("<s>", 0)),
        "sequence": processors.Sequence([processors.ByteLevel(), template]),
        "same as a text": processors.TemplateProcessing(single="<s> a $A", special_tokens=[("<s>", 0), ("a", 2)]),
    }[kind]
    tokenizer.save(str(path))
    store = store_of(tmp_path, sources, path, ["one"])
    assert tokens_of(store, "0") == ([0, 2, 3, 1] if kind == "same as a text" else [0, 3, 1])


@pytest.mark.parametrize("processes", [1, 2])
def test_a_text_that_the_tokenizer_can_not_cut_is_an_error_that_names_its_document(
    tmp_path: Path, sources: WriteSources, processes: int
):
    path = tmp_path / "t.json"
    tokenizer = Tokenizer(models.WordLevel({"one": 0, "</s>": 1}, unk_token="<none>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(path))
    write_lines(tmp_path / "good.jsonl", [{"text": "one one"}])
    write_lines(tmp_path / "in.jsonl", [{"text": "one", "id": "first"}, {"text": "one two", "id": "second"}])
    listing = sources("domains: {good: {files: [good.jsonl]}, web: {files: [in.jsonl], id: id}}")
    with pytest.raises(IngestError, match=r"in\.jsonl: document 'second': the tokenizer can not cut it") as caught:
        ingest(listing, tmp_path / "store", tokenizer=str(path), processes=processes)
    assert caught.value.code == "tokenizer-failed"
    assert caught.value.facts == {"document": "second"}
    assert not (tmp_path / "store").exists()


def test_a_tokenizer_whose_name_is_not_utf8_is_called_by_an_escape(tmp_path: Path, sources: WriteSources):
    path = make_tokenizer(tmp_path / "t.json", special=["<eos>"]).rename(tmp_path / os.fsdecode(b"t\xff.json"))
    assert store_of(tmp_path, sources, path, ["one"]).tokenizer == "t\\udcff"


def unigram(path: Path, *, around: bool = False) -> Path:
    """A unigram tokenizer, which makes `</s>` of a text that spells it, as those of T5 and XLM-R do."""
    pieces = [("<unk>", 0.0), ("</s>", 0.0), ("<s>", 0.0), ("▁", -2.0), ("a", -3.0), ("b", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, 0))
    tokenizer.add_special_tokens(["</s>", "<s>"])
    if around:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 1)]
        )
    tokenizer.save(str(path))
    return path


SPELLED = ["a</s>", "b</s></s>", "a</s>b", "a</s>b</s>", "b</s> ", "ab", "</s>a", "<s>b</s>"]


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("choice", ["", "drop", "keep"])
def test_end_of_document_that_a_text_ends_with_is_counted_and_dropped_or_kept(
    tmp_path: Path, sources: WriteSources, around: bool, choice: str
):
    tokenizer = unigram(tmp_path / "t.json", around=around)
    write_lines(tmp_path / "in.jsonl", ({"text": text, "id": str(n)} for n, text in enumerate(SPELLED)))
    write_lines(tmp_path / "rows.jsonl", [{"text": "b</s>", "kind": "by column"}, {"text": "ab", "kind": "none"}])
    listing = sources(
        (f"end_of_document_in_text: {choice}\n" if choice else "")
        + "domains: {web: {files: [in.jsonl], id: id}}\nfiles: [rows.jsonl]\ndomain_column: kind"
    )
    report = ingest(listing, tmp_path / "store", tokenizer=str(tokenizer))
    assert verify_store(report.path) == []
    in_text = {domain.name: dict(domain.tokens_in_text) for domain in report.domains}
    web = {TokenInText.END: 4, TokenInText.END_INSIDE: 4}
    if around:
        web = {TokenInText.END: 4, TokenInText.BEGINNING: 1, TokenInText.END_INSIDE: 4}
    assert in_text == {"by column": {TokenInText.END: 1}, "none": {}, "web": web}
    assert report.end_of_document_in_text == (choice or "drop")
    store = open_store(report.path)
    first = [2] if around else []
    dropped = [[4, 1], [5, 1], [4, 1, 5, 1], [4, 1, 5, 1], [5, 1, 0, 1], [4, 5, 1], [1, 4, 1], [5, 1]]
    kept = [[4, 1, 1], [5, 1, 1, 1], [4, 1, 5, 1], [4, 1, 5, 1, 1], [5, 1, 0, 1], [4, 5, 1], [1, 4, 1], [2, 5, 1, 1]]
    expected = kept if choice == "keep" else dropped
    if not around:
        expected[-1] = [2, *expected[-1]] if choice != "keep" else expected[-1]  # nothing is put before a text
    assert [tokens_of(store, str(n)) for n in range(len(SPELLED))] == [first + ids for ids in expected]


def test_a_text_of_nothing_but_end_of_document_is_left_out_unless_it_is_kept(tmp_path: Path, sources: WriteSources):
    tokenizer = unigram(tmp_path / "t.json", around=True)
    write_lines(tmp_path / "in.jsonl", [{"text": "</s>", "id": "0"}, {"text": "a", "id": "1"}, {"text": "<s></s>"}])
    for choice, dropped, tokens in (("drop", {Reason.NO_TOKENS: 2}, 3), ("keep", {}, 3 + 3 + 4)):
        listing = sources(f"end_of_document_in_text: {choice}\ndomains: {{web: {{files: [in.jsonl], id: id}}}}")
        report = ingest(listing, tmp_path / choice, tokenizer=str(tokenizer))
        assert (report.domains[0].dropped, report.tokens) == (dropped, tokens)


def test_a_token_that_is_not_marked_as_special_is_counted_as_well(tmp_path: Path, sources: WriteSources):
    tokenizer = Tokenizer(models.WordLevel({"one": 0, "<|endoftext|>": 1, "<unk>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_tokens([AddedToken("<|endoftext|>", special=False)])
    tokenizer.save(str(tmp_path / "t.json"))
    store = store_of(tmp_path, sources, tmp_path / "t.json", ["one<|endoftext|>", "one <|endoftext|> \n", "one"])
    assert [tokens_of(store, str(n)) for n in range(3)] == [[0, 1], [0, 1], [0, 1]]


def test_parts_that_were_read_with_the_other_choice_are_read_again(tmp_path: Path, sources: WriteSources):
    tokenizer = unigram(tmp_path / "t.json")
    write_lines(tmp_path / "a.jsonl", [{"text": "a</s>"}])
    (tmp_path / "b.jsonl").write_text("[1]\n")
    told: list[Resumed] = []
    for choice in ("keep", "drop"):
        listing = sources(
            f"end_of_document_in_text: {choice}\ndomains: {{a: {{files: [a.jsonl]}}, b: {{files: [b.jsonl]}}}}"
        )
        if choice == "keep":
            with pytest.raises(IngestError, match="no line of its files is a JSON object"):
                ingest(listing, tmp_path / "store", tokenizer=str(tokenizer), processes=1)
            (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    report = ingest(listing, tmp_path / "store", tokenizer=str(tokenizer), processes=1, resumed=told.append)
    assert report.tokens == 2 + 2
    assert "end_of_document_in_text" in told[0].reasons[0]
