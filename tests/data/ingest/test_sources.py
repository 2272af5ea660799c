"""A sources file is read like a spec, and the files that it means are found exactly."""

import gzip
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.makers import WriteSources, write_lines

from mixture.data.ingest import ingest
from mixture.data.store import open_store
from mixture.data.texts import Skipped
from mixture.errors import IngestError, MixtureError, Place


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("", "file-empty", ":1:1"),
        ("domains: [a]", "not-a-mapping", ":1:10"),
        ("domains: {}", "not-a-mapping", ":1:10"),
        ("domains:\n  a: {files: [in.jsonl]}\n  a: {files: [in.jsonl]}", "duplicate-key", ":3:3"),
        ("domains:\n  a: {files: [in.jsonl], txet: t}", "unknown-key", ":2:26"),
        ("domains:\n  a: {text: t}", "missing-key", ":2:6"),
        ("domains:\n  a: {files: in.jsonl}", "not-a-list", ":2:14"),
        ("domains:\n  a: {files: []}", "empty-list", ":2:14"),
        ("domains:\n  a: {files: [in.jsonl], format: xml}", "unknown-format", ":2:34"),
        ("domains:\n  a: {files: [in.jsonl], attributes: [tokens]}", "attribute-taken", ":2:39"),
        ("domains:\n  a@validation: {files: [in.jsonl]}", "reserved-name", ":2:3"),
        ("domains:\n  a: {files: ['*.parquet']}", "no-files", ":2:15"),
        ("domains: {a: {files: [in.jsonl]}", "yaml-syntax", ":1"),
        ("domain: {a: {files: [in.jsonl]}}", "unknown-key", ":1:1"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_column(
    tmp_path: Path, sources: WriteSources, text: str, code: str, where: str
):
    write_lines(tmp_path / "in.jsonl", [{"text": "x"}])
    with pytest.raises(MixtureError) as caught:
        ingest(sources(text), tmp_path / "store")
    assert caught.value.code == code
    assert f"SOURCES.yaml{where}" in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_attributes_that_have_values_are_said_to_be_labels(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "x"}])
    with pytest.raises(MixtureError) as caught:
        ingest(sources("domains:\n  a: {files: [in.jsonl], attributes: {license: MIT}}"), tmp_path / "store")
    assert caught.value.code == "not-a-list"
    assert caught.value.hint is not None
    assert caught.value.hint.endswith("columns of the catalog are `labels`")


def test_a_missing_sources_file_is_an_error(tmp_path: Path):
    with pytest.raises(MixtureError, match="there is no such file"):
        ingest(tmp_path / "none.yaml", tmp_path / "store")


@pytest.mark.parametrize("other", ["./x.jsonl", "link.jsonl", "hard.jsonl", "sub/../x.jsonl", "x.*", "linked/x.jsonl"])
def test_a_file_of_two_domains_is_refused_whatever_it_is_called(tmp_path: Path, sources: WriteSources, other: str):
    write_lines(tmp_path / "x.jsonl", [{"text": "x"}])
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.jsonl").symlink_to("x.jsonl")
    (tmp_path / "linked").symlink_to(tmp_path)
    os.link(tmp_path / "x.jsonl", tmp_path / "hard.jsonl")
    text = f"domains:\n  a: {{files: [x.jsonl]}}\n  b: {{files: ['{other}']}}\n"
    with pytest.raises(IngestError, match="is a file of the domain 'a' too") as caught:
        ingest(sources(text), tmp_path / "store")
    assert caught.value.code == "files-shared"
    assert caught.value.place is not None
    assert caught.value.place.line == 3


def test_a_file_that_a_domain_names_twice_is_read_once(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "x.jsonl", [{"text": "x"}])
    report = ingest(sources("domains: {a: {files: [x.jsonl, '*.jsonl', ./x.jsonl]}}"), tmp_path / "store")
    assert report.documents == 1
    assert report.domains[0].dropped == {}
    assert report.skipped_files == {Skipped.AGAIN: 2}


def test_hidden_files_are_read_where_they_are_named(tmp_path: Path, sources: WriteSources):
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "x.txt").write_text("x")
    (tmp_path / "_SUCCESS").write_text("y")
    assert ingest(sources("domains: {a: {files: [.github, _SUCCESS]}}"), tmp_path / "store").documents == 2


def test_a_domain_of_nothing_but_markers_is_refused(tmp_path: Path, sources: WriteSources):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "_SUCCESS").write_text("")
    with pytest.raises(IngestError, match="domain 'a': all files that its patterns match are passed over"):
        ingest(sources("domains: {a: {files: [d]}}"), tmp_path / "store")


@pytest.mark.parametrize("kind", ["broken link", "pipe"])
def test_what_is_no_file_is_refused_by_name(tmp_path: Path, sources: WriteSources, kind: str):
    if kind == "pipe":
        os.mkfifo(tmp_path / "odd.txt")
    else:
        (tmp_path / "odd.txt").symlink_to("nowhere")
    with pytest.raises(IngestError, match=r"odd\.txt") as caught:
        ingest(sources("domains: {a: {files: ['*.txt']}}"), tmp_path / "store")
    assert caught.value.code == "source-unreadable"


def test_the_format_may_be_said(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "rows.txt", [{"text": "x"}, {"text": "y"}])
    write_lines(tmp_path / "whole.json", [{"text": "x"}, {"text": "y"}])
    text = "domains:\n  a: {files: [rows.txt], format: jsonl}\n  b: {files: [whole.json], format: text}\n"
    report = ingest(sources(text), tmp_path / "store")
    assert [domain.documents for domain in report.domains] == [2, 1]


def test_names_of_domains_that_are_no_names_of_files_are_kept(tmp_path: Path, sources: WriteSources):
    names = ["no", "08", "1e3", "a/b", "a_b", "A", "a", "..", "x y", "数学", "n" * 300, "'quoted'", "*"]
    for number, _ in enumerate(names):
        write_lines(tmp_path / f"{number}.jsonl", [{"text": str(number)}])
    lines = [f'  "{name}": {{files: [{number}.jsonl]}}' for number, name in enumerate(names)]
    ingest(sources("domains:\n" + "\n".join(lines)), tmp_path / "store")
    store = open_store(tmp_path / "store")
    assert list(store.domains) == sorted(names)
    for number, name in enumerate(names):
        assert bytes(store.read(name, 0, len(str(number))).tolist()) == str(number).encode()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"seed": -1}, "seed-outside"),
        ({"seed": 2**63}, "seed-outside"),
        ({"processes": 0}, "processes-outside"),
        ({"file_tokens": 1000}, "file-tokens-outside"),
        ({"file_tokens": 0}, "file-tokens-outside"),
    ],
)
def test_options_outside_of_their_range_are_refused(
    tmp_path: Path, sources: WriteSources, options: dict[str, int], code: str
):
    write_lines(tmp_path / "x.jsonl", [{"text": "x"}])
    with pytest.raises(IngestError) as caught:
        ingest(sources("domains: {a: {files: [x.jsonl]}}"), tmp_path / "store", **options)
    assert caught.value.code == code


@pytest.fixture
def linked_folder(tmp_path: Path) -> Path:
    """Files in a folder, in one that a link leads to, and links that go round."""
    for name in ("src/a/1.txt", "src/b/2.txt", "far/deep/3.txt", "src/.hidden/4.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "src" / "link").symlink_to("../far")
    for place in ("src/a/up", "src/b/up", "far/deep/up", "src/.hidden/up"):
        (tmp_path / place).symlink_to(tmp_path / "src")
    return tmp_path / "src"


@pytest.mark.parametrize("pattern", ["src", "src/**", "src/**/*.txt", "src/**/**", "{folder}", "{folder}/**"])
def test_a_folder_holds_the_same_files_however_it_is_named(
    tmp_path: Path, sources: WriteSources, linked_folder: Path, pattern: str
):
    path = sources(f"domains: {{a: {{files: ['{pattern.format(folder=linked_folder)}'], attributes: [path]}}}}")
    report = ingest(path, tmp_path / "store")
    store = open_store(report.path)
    names = [Path(name).name for name in store.documents("a", 0, report.tokens)["path"].to_pylist()]
    assert sorted(names) == ["1.txt", "2.txt", "3.txt"]
    assert report.skipped_files[Skipped.HIDDEN] >= 1


def test_a_folder_is_read_though_another_way_to_it_is_hidden(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "src" / "z" / "x.jsonl", [{"text": "x"}])
    (tmp_path / "src" / ".a").symlink_to("z")
    report = ingest(sources("domains: {a: {files: [src]}}"), tmp_path / "store")
    assert (report.documents, report.skipped_files) == (1, {Skipped.HIDDEN: 1})


@pytest.mark.parametrize("pattern", ["src", "src/**", "src/*/*.txt", "src/**/*.txt", "src/shut"])
def test_a_folder_that_may_not_be_read_is_refused_by_name(pattern: str):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # the test's own folder is closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        for path in ("src/open", "src/shut"):
            (folder / path).mkdir(parents=True)
            (folder / path / "x.txt").write_text(path)
        (folder / "src" / "shut").chmod(0)
        (folder / "S.yaml").write_text(f"domains: {{a: {{files: ['{pattern}']}}}}")
        user = os.geteuid()
        if user == 0:
            os.seteuid(65_534)  # nothing is closed to root
        try:
            with pytest.raises(IngestError, match=r"shut: the folder can not be read") as caught:
                ingest(folder / "S.yaml", folder / "store")
        finally:
            os.seteuid(user)
        assert caught.value.code == "source-unreadable"
        (folder / "src" / "shut").chmod(0o700)


def test_files_whose_names_are_not_utf8_are_read(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / os.fsdecode(b"a\xff.jsonl"), [{"text": "x"}])
    with (tmp_path / os.fsdecode(b"b\xff.parquet")).open("wb") as file:
        pq.write_table(pa.table({"text": ["y"]}), file)
    (tmp_path / os.fsdecode(b"c\xff.txt")).write_text("z")
    assert ingest(sources("domains: {a: {files: ['[ab]?.*', 'c*']}}"), tmp_path / "store").documents == 3


@pytest.mark.parametrize(
    ("key", "hint"), [("text: contents", "did you mean 'content'?"), ("text: body", "the first row has content, id")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_key_that_no_line_has_is_refused_with_those_that_it_has(
    tmp_path: Path, sources: WriteSources, key: str, hint: str, packed: bool
):
    data = b'{}\n[1]\n{"content": "one", "id": 1}\n'
    name = "in.jsonl.gz" if packed else "in.jsonl"
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(IngestError, match="no row of its files has") as caught:
        ingest(sources(f"domains: {{web: {{files: [{name}], {key}}}}}"), tmp_path / "store")
    assert (caught.value.code, caught.value.hint) == ("missing-column", hint)


def test_lines_in_another_encoding_are_named_as_such(tmp_path: Path, sources: WriteSources):
    (tmp_path / "in.jsonl").write_bytes('{"text": "é"}\n{"text": "ü"}\n'.encode("latin-1"))
    with pytest.raises(IngestError, match="no line of its files is a JSON object: not-utf-8") as caught:
        ingest(sources("domains: {web: {files: [in.jsonl]}}"), tmp_path / "store")
    assert caught.value.code == "not-json-lines"
    assert caught.value.place == Place(file=str(tmp_path / "in.jsonl"), line=1)


def test_a_key_that_does_not_fit_the_tokenizer_is_named_by_its_place(tmp_path: Path, sources: WriteSources):
    write_lines(tmp_path / "in.jsonl", [{"text": "one"}])
    with pytest.raises(IngestError) as caught:
        ingest(sources("domains: {web: {files: [in.jsonl]}}\nend_of_document: </s>"), tmp_path / "store")
    assert caught.value.code == "tokenizer-fixed"
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 18)
