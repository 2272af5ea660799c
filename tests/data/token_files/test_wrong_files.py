"""Token files that are not whole, do not fit together, or are not what the sources say: refused, with figures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from data.token_files.token_files import catalog, write_arrow, write_megatron, write_parquet, write_raw

from mixture.data.linking import build_catalog
from mixture.data.store import open_store, verify_store
from mixture.errors import IngestError, MixtureError, SpecError, StoreError

DOCUMENTS = [[1, 2, 3], [4, 5], [6, 7, 8, 9]]
MEGATRON = {"web": "format: megatron, files: [web.bin]"}
RAW = {"web": "format: npy, files: [web.npy], dtype: uint16"}


def cut(path: Path, count: int = 2) -> None:
    """Take bytes off the end of a file."""
    path.write_bytes(path.read_bytes()[:-count])


def poke(path: Path, at: int, data: bytes) -> None:
    """Overwrite bytes of a file."""
    held = bytearray(path.read_bytes())
    held[at : at + len(data)] = data
    path.write_bytes(held)


@pytest.mark.parametrize(
    ("damage", "code", "words"),
    [
        (lambda f: cut(f / "web.bin"), "index-disagrees", "has 16 bytes, and web.idx places tokens up to 18"),
        (lambda f: (f / "web.bin").write_bytes(bytes(20)), "index-disagrees", "has 20 bytes"),
        (lambda f: cut(f / "web.idx"), "index-damaged", "has 100 bytes, and 3 sequences with 4 bounds take 102"),
        (lambda f: (f / "web.idx").unlink(), "index-missing", "web.idx: domain 'web': is missing"),
        (lambda f: poke(f / "web.idx", 0, b"X"), "index-damaged", "does not begin as an index"),
        (lambda f: poke(f / "web.idx", 17, b"\x09"), "index-damaged", "tokens are of type 9"),
        (lambda f: poke(f / "web.idx", 17, b"\x07"), "dtype-unfit", "float32"),
        (lambda f: poke(f / "web.idx", 17, b"\x04"), "index-damaged", "the one before ends at 12"),
        (lambda f: poke(f / "web.idx", 34, b"\x02"), "index-damaged", "sequence 1 has 2 tokens from byte 6"),
        (lambda f: poke(f / "web.idx", 94, b"\x02"), "index-damaged", "do not go from sequence 0 up to 3"),
    ],
)
def test_an_index_that_does_not_fit_its_tokens_is_refused(tmp_path, damage: Callable[[Path], object], code, words):
    write_megatron(tmp_path / "web.bin", DOCUMENTS)
    damage(tmp_path)
    with pytest.raises(StoreError, match=words) as refused:
        catalog(tmp_path, MEGATRON)
    assert refused.value.code == code
    assert refused.value.facts["domain"] == "web"
    assert not (tmp_path / "catalog").exists()


def write_table(path: Path, text: str) -> None:
    """A .csv.gz."""
    with gzip.open(path, "wt") as file:
        file.write(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,3\n3,5\n", "its documents end at token 5, and there are 9 tokens"),
        ("0,3\n4,9\n", "document 1 ends at token 9, and the one before at 3"),
        ("0,3\n3,3\n3,9\n", "document 1 ends at token 3, and the one before at 3"),
        ("0,3\n3,5\n5,10\n", "end at token 10"),
        ("start,stop\n0,9\n", "has the columns start, stop"),
        ("0,3\n3,x\n", "can not be read"),
    ],
)
def test_documents_beside_that_do_not_follow_one_another_to_the_end_are_refused(tmp_path, text, words):
    write_raw(tmp_path / "web.npy", DOCUMENTS)
    write_table(tmp_path / "web.csv.gz", text)
    with pytest.raises(StoreError, match=words) as refused:
        catalog(tmp_path, RAW)
    assert Path(str(refused.value.place)).name == "web.csv.gz"


def test_a_table_of_documents_may_have_a_line_of_names(tmp_path):
    write_raw(tmp_path / "web.npy", DOCUMENTS)
    write_table(tmp_path / "web.csv.gz", "id,start,end\na,0,3\nb,3,9\n")
    assert catalog(tmp_path, RAW).documents_from("web", 0, 9)["id"].to_pylist() == ["a", "b"]


def test_a_file_of_documents_that_is_asked_for_has_to_be_there(tmp_path):
    write_raw(tmp_path / "web.npy", DOCUMENTS, beside=None)
    keys = "format: npy, files: [web.npy], dtype: uint16, documents: '{stem}.csv.gz'"
    with pytest.raises(StoreError, match=r"web\.csv\.gz: domain 'web': is missing") as refused:
        catalog(tmp_path, {"web": keys})
    assert refused.value.code == "documents-missing"
    write_table(tmp_path / "web.csv.gz", "damaged")
    store = catalog(tmp_path, {"web": keys.replace("'{stem}.csv.gz'", "none")})
    assert store.domains["web"].documents == 1


def test_raw_files_of_another_size_than_their_type_and_files_cut_short_are_refused(tmp_path):
    (tmp_path / "web.npy").write_bytes(bytes(1001))
    with pytest.raises(StoreError, match="has 1,001 bytes, no whole number of tokens of type uint16") as refused:
        catalog(tmp_path, RAW)
    assert refused.value.code == "file-size"
    np.save(tmp_path / "web.npy", np.arange(9, dtype=np.uint16))
    cut(tmp_path / "web.npy")
    with pytest.raises(StoreError, match="9 tokens of type uint16 end at 146") as refused:
        catalog(tmp_path, RAW)
    assert refused.value.code == "file-size"
    with pytest.raises(StoreError, match="says that it holds uint16, and the sources say int64") as refused:
        catalog(tmp_path, {"web": "format: npy, files: [web.npy], dtype: int64"})
    assert refused.value.code == "dtype-differs"


def test_a_raw_file_needs_a_type(tmp_path):
    write_raw(tmp_path / "web.npy", DOCUMENTS)
    with pytest.raises(StoreError, match="no header that says of what type") as refused:
        catalog(tmp_path, {"web": "format: npy, files: [web.npy]"})
    assert refused.value.code == "dtype-missing"


def test_a_vocabulary_that_does_not_go_into_the_type_of_the_files_is_refused(tmp_path):
    write_raw(tmp_path / "web.npy", DOCUMENTS)
    write_megatron(tmp_path / "web.bin", DOCUMENTS, dtype="int16")
    for keys, words in ((RAW, "uint16"), (MEGATRON, "int16")):
        with pytest.raises(StoreError, match=f"type {words}, which does not hold a vocabulary of 70,000") as refused:
            catalog(tmp_path, keys, vocabulary=70_000)
        assert refused.value.code == "dtype-too-small"


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("bad", [1000, -1])
def test_an_id_outside_of_the_vocabulary_is_refused_with_file_and_document(tmp_path, dtype, bad):
    write_megatron(tmp_path / "web.bin", [[1, 2], [3, bad]], dtype=dtype)
    with pytest.raises(
        StoreError, match=rf"document 'web\.bin#1': token 3 is {bad:,}, and the .* 1,000 ids"
    ) as refused:
        catalog(tmp_path, MEGATRON)
    assert refused.value.code == "id-outside-vocabulary"
    assert Path(str(refused.value.place)).name == "web.bin"


def test_an_id_outside_of_the_vocabulary_that_building_did_not_look_at_is_refused_when_read(tmp_path):
    tokens = np.ones(200_000, np.uint16)
    tokens[6_000] = 1000  # between the places that building looks at
    tokens.tofile(tmp_path / "web.npy")
    store = catalog(tmp_path, RAW)
    assert store.read("web", 0, 6_000).max() == 1
    for ask in (
        lambda: store.read("web", 5_990, 20),
        lambda: store.reader(["web"]).rows(np.array([0, 0]), np.array([0, 5_900]), 200),
        lambda: catalog(tmp_path, RAW, name="full", full=True),
    ):
        with pytest.raises(StoreError, match="token 6,000 is 1,000") as refused:
            ask()
        assert refused.value.code == "id-outside-vocabulary"
    codes = [error.code for error in verify_store(tmp_path / "catalog")]
    assert codes == ["digest-missing", "id-outside-vocabulary"]


def test_a_row_of_parquet_with_an_id_outside_of_the_vocabulary_is_named(tmp_path):
    write_parquet(tmp_path / "a.parquet", [[1], [2, 3], [4, -7]])
    with pytest.raises(StoreError, match="row 2 has the id -7, and the vocabulary has 1,000 ids"):
        catalog(tmp_path, {"web": "format: parquet, files: [a.parquet]"})


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (pa.array([[1, None]], pa.list_(pa.int32())), "token-null"),
        (pa.array([["a"]], pa.list_(pa.string())), "column-unfit"),
        (pa.array([1], pa.int32()), "column-unfit"),
        (pa.array([[1.5]], pa.list_(pa.float32())), "column-unfit"),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_column_that_is_no_list_of_tokens_is_refused(tmp_path, column, code, form):
    table = pa.table({"input_ids": column})
    if form == "parquet":
        pa.parquet.write_table(table, tmp_path / "a.parquet")
    else:
        with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(StoreError) as refused:
        catalog(tmp_path, {"web": f"format: {form}, files: ['a.*']"})
    assert refused.value.code == code


def test_a_column_that_is_not_there_is_refused_with_the_nearest(tmp_path):
    write_parquet(tmp_path / "a.parquet", DOCUMENTS, column="input_idx")
    with pytest.raises(StoreError, match="did you mean 'input_idx'") as refused:
        catalog(tmp_path, {"web": "format: parquet, files: [a.parquet]"})
    assert refused.value.code == "missing-column"


def test_arrow_and_parquet_files_that_are_cut_short_or_empty_are_refused(tmp_path):
    for name, write in {"a.arrow": write_arrow, "a.parquet": write_parquet}.items():
        write(tmp_path / name, DOCUMENTS * 10)
        whole = (tmp_path / name).read_bytes()
        for size in (0, 4, len(whole) // 2, len(whole) - 8, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:size])
            with pytest.raises(StoreError, match=rf"{name}") as refused:
                catalog(tmp_path, {"web": f"format: {name[2:]}, files: [{name}]"})
            assert refused.value.code in ("file-damaged", "store-unreadable")


def test_compressed_arrow_files_are_refused_with_what_would_be_right(tmp_path):
    table = pa.table({"input_ids": pa.array([list(range(999))] * 9, pa.list_(pa.int32()))})
    pyarrow.feather.write_feather(table, str(tmp_path / "a.arrow"), compression="lz4")
    with pytest.raises(StoreError, match="without compression, or as Parquet") as refused:
        catalog(tmp_path, {"web": "format: arrow, files: [a.arrow]"})
    assert refused.value.code == "compressed"


def test_files_of_one_domain_have_one_type(tmp_path):
    write_megatron(tmp_path / "a.bin", DOCUMENTS, dtype="uint16")
    write_megatron(tmp_path / "b.bin", DOCUMENTS, dtype="int32")
    with pytest.raises(StoreError, match=r"of type int32, and those of a\.bin uint16") as refused:
        catalog(tmp_path, {"web": "format: megatron, files: ['*.bin']"})
    assert refused.value.code == "dtype-differs"


def test_a_dataset_with_splits_or_chosen_rows_is_refused(tmp_path):
    for name, said in {
        "dataset_dict.json": {"splits": ["train", "test"]},
        "state.json": {"_data_files": [{"filename": "d.arrow"}], "_indices_files": [{"filename": "i.arrow"}]},
    }.items():
        folder = tmp_path / name.removesuffix(".json")
        folder.mkdir()
        (folder / name).write_text(json.dumps(said), encoding="utf-8")
        with pytest.raises(StoreError) as refused:
            catalog(tmp_path, {"web": f"format: arrow, files: [{folder.name}]"})
        assert refused.value.code == "dataset-unfit"


def test_files_of_two_domains_are_refused_by_whatever_name_they_go(tmp_path):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    (tmp_path / "other").symlink_to(tmp_path)
    (tmp_path / "hard.bin").hardlink_to(tmp_path / "a.bin")
    write_megatron(tmp_path / "hard.bin", DOCUMENTS)
    for second in ("./a.bin", "other/a.bin", "hard.bin", str(tmp_path / "a.bin")):
        keys = {"a": "format: megatron, files: [a.bin]", "b": f"format: megatron, files: ['{second}']"}
        with pytest.raises(IngestError, match="is a file of the domain 'a' too") as refused:
            catalog(tmp_path, keys)
        assert refused.value.code == "files-shared"


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ("format: megatron, file: [a.bin]", "unknown-key"),
        ("format: megatron, files: [a.bin], dtype: uint16", "unknown-key"),
        ("format: megatrn, files: [a.bin]", "unknown-format"),
        ("format: megatron", "missing-key"),
        ("files: [a.bin]", "missing-key"),
        ("format: npy, files: [a.bin], dtype: u16", "unknown-dtype"),
        ("format: store, domain: web", "missing-key"),
        ("format: megatron, files: []", "empty-list"),
        ("format: megatron, files: [b.bin]", "no-files"),
        ("format: store, path: nowhere", "store-missing"),
    ],
)
def test_sources_that_do_not_say_what_to_read_are_refused(tmp_path, keys, code):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    with pytest.raises(MixtureError) as refused:
        catalog(tmp_path, {"web": keys})
    assert code in {refused.value.code, *(error.code for error in getattr(refused.value, "errors", ()))}


@pytest.mark.parametrize("named", ["meg/*.idx", "meg/web.idx", "meg/web"])
def test_megatrons_index_or_prefix_without_its_tokens_is_refused_with_the_file_that_is_meant(tmp_path, named):
    (tmp_path / "meg").mkdir()
    write_megatron(tmp_path / "meg" / "web.bin", DOCUMENTS)
    with pytest.raises(IngestError) as refused:
        catalog(tmp_path, {"web": f"format: megatron, files: ['{named}']"})
    assert refused.value.code == "no-files"
    meant = named.replace(".idx", "") + ".bin"
    assert refused.value.hint == f"Megatron's tokens lie in NAME.bin: name the .bin, as in '{meant}'"
    assert refused.value.place.path == "web"
    assert not (tmp_path / "catalog").exists()
    assert catalog(tmp_path, {"web": f"format: megatron, files: ['{meant}']"}).domains["web"].tokens == 9


def test_an_index_among_the_files_whose_tokens_are_not_is_refused(tmp_path):
    for name in ("a", "b"):
        write_megatron(tmp_path / f"{name}.bin", DOCUMENTS)
    with pytest.raises(IngestError, match=r"'b\.idx' is among its files, and b\.bin is not") as refused:
        catalog(tmp_path, {"web": "format: megatron, files: [a.bin, b.idx]"})
    assert refused.value.code == "no-files"
    assert catalog(tmp_path, {"web": "format: megatron, files: ['*.bin', '*.idx']"}).domains["web"].tokens == 18


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ("format: npy, dtype: uint16, files: ['*.metadata']", "a.metadata"),
        ("format: npy, dtype: uint16, files: [.hidden]", ".hidden/a.crc"),
        ("format: parquet, files: ['*.crc']", "a.crc"),
        ("format: arrow, files: ['_SUC*']", "_SUCCESS"),
    ],
)
def test_a_domain_all_files_of_which_are_passed_over_is_refused(tmp_path, keys, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(bytes(8))
    with pytest.raises(IngestError) as refused:
        catalog(tmp_path, {"web": keys})
    assert refused.value.code == "no-files"


def test_labels_of_a_domain_of_tokens_are_said_to_be_attributes(tmp_path):
    write_megatron(tmp_path / "a.bin", DOCUMENTS)
    with pytest.raises(SpecError) as refused:
        catalog(tmp_path, {"web": "format: megatron, files: [a.bin], labels: {license: MIT}"})
    assert refused.value.code == "unknown-key"
    assert refused.value.hint == "columns of the catalog are `attributes` in a sources file of tokens"


def test_end_of_document_is_an_id_of_the_vocabulary(tmp_path):
    text = "tokenizer: t\nvocabulary_size: 9\nend_of_document: 9\ndomains: {web: {format: megatron, files: [a.bin]}}\n"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="end of document is 9, and the vocabulary has 9"):
        build_catalog(tmp_path / "sources.yaml", tmp_path / "catalog")


def test_one_unfinished_domain_among_many_stops_all_of_it_and_is_named(tmp_path):
    for number in range(40):
        write_megatron(tmp_path / f"{number:02}.bin", DOCUMENTS)
    keys = {f"d{number:02}": f"format: megatron, files: ['{number:02}.bin']" for number in range(40)}
    catalog(tmp_path, keys)
    cut(tmp_path / "23.bin", 1)
    with pytest.raises(StoreError, match="domain 'd23': the file has 17 bytes, and had 18") as refused:
        open_store(tmp_path / "catalog")
    assert refused.value.code == "file-size"
    (tmp_path / "23.bin").unlink()
    with pytest.raises(StoreError, match="domain 'd23': the file is missing") as refused:
        open_store(tmp_path / "catalog")
    assert refused.value.code == "file-missing"


@pytest.mark.parametrize("at", [10, 30, 60])
def test_a_header_of_numpy_that_is_no_text_of_it_is_refused(tmp_path, at):
    np.save(tmp_path / "web.npy", np.arange(9, dtype=np.uint16))
    poke(tmp_path / "web.npy", at, b"\x00{")
    with pytest.raises(StoreError, match="its header can not be read") as refused:
        catalog(tmp_path, RAW)
    assert refused.value.code == "file-damaged"


def test_an_arrow_file_whose_offsets_lead_out_of_it_is_refused_and_ends_no_process(tmp_path):
    write_arrow(tmp_path / "web.arrow", DOCUMENTS)
    offsets = np.array([0, 3, 5, 9], np.int32).tobytes()
    at = (tmp_path / "web.arrow").read_bytes().index(offsets)
    for place, wrong in ((0, 1 << 20), (4, -1), (8, 1 << 30), (12, 1 << 30)):
        write_arrow(tmp_path / "web.arrow", DOCUMENTS)
        poke(tmp_path / "web.arrow", at + place, np.int32(wrong).tobytes())
        with pytest.raises(StoreError, match=r"web\.arrow.*can not be read") as refused:
            catalog(tmp_path, {"web": "format: arrow, files: [web.arrow]"})
        assert refused.value.code == "store-unreadable"


def test_a_file_that_is_not_of_arrow_is_said_to_be_none(tmp_path):
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(StoreError, match="does not begin as a file or stream of Arrow's does") as refused:
        catalog(tmp_path, {"web": "format: arrow, files: [state.json]"})
    assert refused.value.code == "file-damaged"
    assert "named by its folder" in str(refused.value.hint)


@pytest.mark.parametrize("held", ["{", "[]", '{"splits": 5}', '{"splits": ["train", "test"]}'])
def test_a_dataset_of_several_splits_is_refused_whatever_its_file_says(tmp_path, held):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dataset_dict.json").write_text(held)
    with pytest.raises(StoreError, match="several splits") as refused:
        catalog(tmp_path, {"web": "format: arrow, files: [saved]"})
    assert refused.value.code == "dataset-unfit"


def test_a_parquet_file_with_a_column_whose_name_is_no_text_is_refused(tmp_path):
    write_parquet(tmp_path / "web.parquet", DOCUMENTS)
    held = (tmp_path / "web.parquet").read_bytes()
    (tmp_path / "web.parquet").write_bytes(held.replace(b"input_ids", b"\xe9nput_ids"))
    with pytest.raises(StoreError, match=r"web\.parquet.*can not be read") as refused:
        catalog(tmp_path, {"web": "format: parquet, files: [web.parquet]"})
    assert refused.value.code == "store-unreadable"


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_ids_that_are_no_text_are_refused_before_they_are_kept(tmp_path, form):
    ids = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "<i4")), pa.py_buffer(b"a\xff")]
    )
    table = pa.table({"input_ids": pa.array([[1], [2]], pa.list_(pa.int32())), "id": ids})
    if form == "parquet":
        pq.write_table(table, tmp_path / "web.parquet")
    else:
        with pa.ipc.new_stream(str(tmp_path / "web.arrow"), table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(StoreError, match="can not be read") as refused:
        catalog(tmp_path, {"web": f"format: {form}, files: [web.{form}], id: id"})
    assert refused.value.code == "store-unreadable"


def test_a_table_of_documents_may_have_commas_in_quotes_and_a_mark_of_its_encoding(tmp_path):
    for start in ("", "\ufeff", "start,end,id,src,loc\n", "\ufeffstart,end,id,src,loc\n"):
        write_raw(tmp_path / "web.npy", DOCUMENTS, beside=None)
        rows = '0,3,"one, two",a,0\n3,5,b,"x,y",1\n5,9,c,z,2\n'
        (tmp_path / "web.csv").write_text(start + rows, encoding="utf-8")
        store = catalog(tmp_path, RAW, name=f"catalog{len(start)}{start[:1]!r}")
        assert store.documents_from("web", 0, 9)["id"].to_pylist() == ["one, two", "b", "c"]


def test_an_address_that_is_none_is_refused_at_its_place_and_without_its_signature(tmp_path):
    for keys in (
        "format: megatron, files: ['https://host/web.bin?sig=secret']",
        "format: store, path: 'https://host?sig=secret'",
    ):
        with pytest.raises(SpecError) as refused:
            catalog(tmp_path, {"web": keys})
        assert refused.value.code == "address-invalid"
        assert str(refused.value).startswith(f"{tmp_path}/catalog.yaml:5:")
        assert "secret" not in str(refused.value)
