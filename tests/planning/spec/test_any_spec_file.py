"""Whatever stands in a file, it is a spec or it is refused with a code and a message that can be shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from spec_schema import says_null, schema_errors

from mixture.planning.spec import Spec, parse_spec
from mixture.planning.yamlfile import SpecFileError

SPEC = """\
mixture: test
catalog: {table: cells.csv, domain: cell}
tokenizer: some/tokenizer
seed: 0
sequence_length: 4096
batch: 8 sequences
budget: {steps: 100, tokens: 3276800}
max_epochs: 4
shuffle: {block: 65536 tokens, window: 64 blocks}
accept: [budget-mismatch]
phases:
  - phase: pretraining
    until: step 80
    weights: {web: 0.5, code: 30%, math: 2e-1}
  - phase: midtraining
    share: 10%
    sequence_length: 8192
    batch: 65536 tokens
    weights:
      - {where: "quality >= 3", share: 30%, within: uniform}
      - {replay: pretraining, share: 70%}
  - phase: cooldown
    weights: {table: cells.csv, column: cooldown}
"""

WORDS = """
mixture catalog seed phases phase weights budget where within replay table share
{ } [ ] , # : | > --- ... ' é ~ null true << *a ! %YAML
0 1 -1 .5 1e e9 1e9999999 .inf .nan 8T % 80% _ 99999999999999999999
"""

PIECES = [
    *WORDS.split(),
    *(": ", "\n", "\n  ", "\n    ", "- ", "? ", "&a ", "!!str ", "\t", "\0", "\r", "\x85", "\u2028"),
    *('"', "\\", "\\u", "\\e", "\\UFFFFFFFF", " tokens", " steps"),
]


def spec_or_error(data: bytes) -> Spec | SpecFileError:
    try:
        return parse_spec(data, path=Path("test.yaml"))
    except SpecFileError as error:
        return error


def assert_spec_or_shown(data: bytes) -> None:
    outcome = spec_or_error(data)
    if isinstance(outcome, SpecFileError):
        assert outcome.code
        assert all(error.place.file == "test.yaml" for error in outcome.errors)
        assert all(line.isprintable() for line in str(outcome).split("\n"))
    else:
        text = data.decode("utf-8-sig")
        assert says_null(text) or not schema_errors(text)


def test_the_spec_that_the_others_change_is_one():
    assert isinstance(spec_or_error(SPEC.encode()), Spec)


@given(st.binary())
def test_any_bytes(data):
    assert_spec_or_shown(data)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example('{"\\ud800": "\\ud800"}')
@example('"\\UFFFFFFFF"')
@example('{"seed": "\\e[31m5", "catalog": {"table": "\\r1", "domain": "\\x7f"}}')
def test_any_text_of_the_pieces_of_yaml(text):
    assert_spec_or_shown(text.encode())


@given(
    st.integers(0, len(SPEC)),
    st.integers(0, 20),
    st.one_of(st.sampled_from(PIECES), st.text(max_size=5)).filter(lambda text: text.isascii() or text.isprintable()),
)
def test_any_slip_in_a_spec(start, length, instead):
    assert_spec_or_shown((SPEC[:start] + instead + SPEC[start + length :]).encode())


@given(st.sampled_from([line.split(":")[0].strip("- ") for line in SPEC.splitlines()]), st.sampled_from(PIECES))
def test_any_value_at_any_key(key, value):
    lines = [
        line.split(":")[0] + f": {value}" if line.strip("- ").startswith(key) else line for line in SPEC.splitlines()
    ]
    assert_spec_or_shown("\n".join(lines).encode())
