"""The bytes around a token array are an Arrow file: pyarrow is the judge."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mixture.data.layout import files

DTYPES = [np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.int64)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 64, 1000, 65536 + 1])
def test_arrow_reads_exactly_the_integers_between_prefix_and_suffix(tmp_path: Path, dtype: np.dtype, length: int):
    values = (np.arange(length) * 7 % 60_000).astype(dtype)
    path = tmp_path / "tokens.arrow"
    path.write_bytes(
        files.prefix(dtype, length, "token") + values.tobytes() + files.suffix(dtype, length, "token"),
    )
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        assert reader.num_record_batches == 1
        batch = reader.get_batch(0)
        batch.validate(full=True)
        assert reader.schema == pa.schema([pa.field("token", pa.from_numpy_dtype(dtype), nullable=False)])
        assert batch.num_rows == length
        assert np.array_equal(batch.column(0).to_numpy(), values)
    assert path.stat().st_size == files.file_bytes(dtype, length, "token")


def test_arrow_reads_the_last_tokens_of_a_file_of_a_trillion_tokens(tmp_path: Path):
    dtype, length = np.dtype(np.uint32), 10**12
    path = tmp_path / "tokens.arrow"
    files.write_hole(path, dtype, length, "token")
    with path.open("r+b") as file:
        file.seek(files.DATA_START + dtype.itemsize * (length - 3))
        file.write(np.array([1, 2, 151_935], dtype).tobytes())
    with pa.memory_map(str(path)) as source:
        column = pa.ipc.open_file(source).get_batch(0).column(0)
        assert len(column) == length
        assert column.slice(length - 4).to_pylist() == [0, 1, 2, 151_935]


@pytest.mark.parametrize("offset", [0, 300, 4095, -1, -60])
def test_a_changed_byte_at_either_end_is_noticed(tmp_path: Path, offset: int):
    dtype = np.dtype(np.uint16)
    path = tmp_path / "tokens.arrow"
    files.write_hole(path, dtype, 1000, "token")
    with path.open("r+b") as file:
        assert files.ends_agree(file.fileno(), dtype, 1000, "token")
        assert not files.ends_agree(file.fileno(), dtype, 1001, "token")
        assert not files.ends_agree(file.fileno(), np.dtype(np.uint32), 500, "token")
        file.seek(offset, 2 if offset < 0 else 0)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
        file.flush()
        assert not files.ends_agree(file.fileno(), dtype, 1000, "token")
