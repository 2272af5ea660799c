"""Files that are wrong are refused with their place and a code; nothing is made of half of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from format_trips import catalog_of

from mixture.errors import FormatError, MixtureError
from mixture.formats import FORMATS, Given, SourceFile, WeightUnit, format_of, import_mixture

CELLS = "domain,tokens\nweb,80000000\ncode,10000000\n"


@pytest.fixture
def refused(tmp_path: Path):
    """The error that an import of this text gives."""
    catalog = catalog_of(tmp_path / "table", CELLS)

    def of(name: str, text: str, **given: object) -> MixtureError:
        with pytest.raises(MixtureError) as caught:
            import_mixture(
                FORMATS[name],
                [SourceFile(Path("the.file"), text)],
                tmp_path / "in",
                Given(**{"catalog": catalog, **given}),  # type: ignore[arg-type]
            )
        return caught.value

    return of


WRONG = [
    ("levanter", "train_weight: {web: 1}\n", "unknown-key", 1),
    ("levanter", "train_weights: {web: 1}\nshufle: true\n", "unknown-key", 2),
    ("levanter", "train_weights:\n- [0, {web: 1}]\n- [0, {web: 1}]\n", "stages-out-of-order", 3),
    ("levanter", "train_weights:\n- [5, {web: 1}]\n", "stages-out-of-order", 2),
    ("levanter", "train_weights:\n- {web: 1}\n", "not-a-stage", 2),
    ("levanter", "components: {web: {}}\ntrain_weights: {code: 1}\n", "unknown-component", 2),
    ("levanter", "train_weights: {web: -1}\n", "negative", 1),
    ("levanter", "train_weights: {web: a lot}\n", "not-a-number", 1),
    ("levanter", "train_weights: {web: .nan}\n", "not-a-number", 1),
    ("levanter", "train_weights: {web: 1, web: 2}\n", "duplicate-key", 1),
    ("levanter", "train_weights: {web: 0, code: 0}\n", "weights-all-zero", 1),
    ("levanter", "train_weights: {wb: 1}\n", "unknown-domain", 1),
    ("levanter", "train_weights: [[0, {web: 1}], [9, {code: 1}]]\n", "phases-without-length", 1),
    ("levanter", "train_weights: {web: 1\n", "yaml-syntax", 2),
    ("levanter", "model: {}\ntrain_weights: &w {web: 1}\n", "yaml-feature", 2),
    ("marin-json", '{"phase0_weights": {"web": 1}, "phase2_weights": {"web": 1}}', "phase-missing", 1),
    ("marin-json", '{"phase0_weights": {"web": 1},\n "phase_budgets": [1, 2]}', "phases-miss-budget", 2),
    ("marin-json", '{"weights": {"web": 1}}', "unknown-key", 1),
    ("megatron", "0.5 web 0.5", "weights-missing", 1),
    ("megatron", "web 0.5 code 0.5\n", "weights-missing", 1),
    ("megatron", "web\ncode\nweb\n", "duplicate-source", 3),
    ("megatron", "--train-data-path $(python weights.py) --seq-length 16\n", "blend-missing", 1),
    ("megatron", "--data-path 1 web --seq-length $LENGTH\n", "unknown-variable", 1),
    ("megatron", "if cmd; then LENGTH=4; fi\nrun --data-path 1 web --seq-length $LENGTH\n", "unknown-variable", 2),
    ("megatron", "--data-path 1 web --global-batch-size 64 --rampup-batch-size 16 32 100\n", "not-arguments", 1),
    ("megatron", "--data-path 1 web --rampup-batch-size 16 16 100\n", "not-arguments", 1),
    ("megatron", "ARGS=(--seed 1\n", "not-arguments", 1),
    ("megatron", "A=aaaaaaaa\nfor i in 1 2 3 4 5 6 7 8; do for j in 1 2 3; do A=$A$A$A; done; done\nrun --seed 1\n",
     "not-arguments", 2),
    ("megatron", "0.5 web\n0.5 web\n", "duplicate-source", 2),
    ("megatron", "0.5 web\nhalf code\n", "not-a-number", 2),
    ("megatron", '{"train": null, "valid": null, "test": null}', "blend-missing", 1),
    ("megatron", '{"training": ["1", "web"]}', "unknown-key", 1),
    ("megatron", "--seq-length 16\n", "blend-missing", 1),
    ("megatron", "--data-path 1 web --phase-transition-iterations 5\n", "phases-miss-transitions", 1),
    ("megatron", "--data-path 1 web --seq-length sixteen\n", "not-a-number", 1),
    ("megatron", "--data-path 1 web --seed 1 --seed 2\n", "duplicate-key", 1),
    ("megatron", "--data-path 1 'web\n", "not-arguments", 1),
    ("megatron", "--data-args-path not-there.txt\n", "file-missing", None),
    ("olmo", "sources:\n- {source_name: web, target_ratio: 0.5}\n- {source_name: web, target_ratio: 0.5}\n",
     "duplicate-source", 3),
    ("olmo", "sources:\n- {source_name: web}\n", "missing-key", 2),
    ("olmo", "sources:\n- {source_nam: web, target_ratio: 1}\n", "unknown-key", 2),
    ("olmo", "sources: []\n", "empty-list", 1),
    ("olmo", "sources: [{source_name: web, target_ratio: 1}]\nglobal_batch_size: 100\n", "import-conflict", 1),
    ("olmix", "mix: {web: {weight: 1, code: {repetition_factor: 1}}}\n", "missing-key", 1),
    ("olmix", "mix: {web: {weight: 1, wait: {wat: {weight: 1, more: {weight: 1}}}}}\n", "missing-key", 1),
    ("olmix", '[{"domain": "web", "weight": 1}, {"domain": "web", "weight": 1}]', "duplicate-domain", 1),
    ("nanotron", "tokens: {sequence_length: 4}\n", "missing-key", 1),
    ("nanotron", "data_stages:\n- {name: a, start_training_step: 2, data: {dataset: {dataset_folder: web}}}\n",
     "stages-out-of-order", 2),
    ("nanotron",
     "data_stages:\n- {name: a, start_training_step: 1,\n"
     "   data: {dataset: {dataset_folder: [web, code], dataset_weights: [1]}}}\n",
     "weights-missing", 3),
    ("nanotron", "data_stages:\n- {name: a, start_training_stp: 1, data: {dataset: {dataset_folder: web}}}\n",
     "unknown-key", 2),
    ("nanotron", "data_stages:\n- {name: a, start_training_step: 1, data: {dataset: null}}\n", "missing-key", 2),
    ("nanotron", "data_stages:\n- {name: a, start_training_step: 1, data: {dataset: {hf_dataset_or_dataset: web}}}\n",
     "unknown-key", 2),
    ("mosaic", "train_loader: {dataset: {split: train}}\n", "missing-key", 1),
    ("mosaic", "train_loader:\n dataset:\n  streams:\n   web: {proportion: 1}\n   code: {repeat: 1}\n",
     "weights-mixed", 5),
    ("mosaic", "train_loader:\n dataset:\n  streams:\n   web: {proportion: 1, choose: 3}\n", "key-conflict", 4),
    ("mosaic", "train_loader:\n dataset:\n  streams:\n   web: {propotion: 1}\n", "unknown-key", 4),
    ("energon", "__class__: Metadatset\nsplits: {train: {blend: [{path: web}]}}\n", "not-a-metadataset", 1),
    ("energon", "splits: {train: {blend: [{path: web, repetitions: 2}]}}\n", "unknown-key", 1),
    ("energon", "splits: {train: {paths: web}}\n", "unknown-key", 1),
    ("energon", "splits: {train: {split_part: val}}\n", "missing-key", 1),
    ("energon", "splits: {train: {path: web, subset: {range: [50%]}}}\n", "not-a-range", 1),
    ("energon", "splits: {train: {path: web, subset: {range: [50%, 10%]}}}\n", "not-a-range", 1),
    ("energon", "splits: {train: {path: web, subset: {range: [50%, 100]}}}\n", "not-a-range", 1),
    ("energon", "splits: {train: {path: web, subset: {range: [0%, 110%]}}}\n", "out-of-range", 1),
    ("energon",
     "splits:\n train:\n  subset: {range: [5, 9]}\n  blend:\n  - {path: web, subset: {range: [0%, 10%]}}\n",
     "not-a-range", 5),
    ("energon",
     "splits:\n train:\n  blend:\n  - blend_epochized: [{path: web}]\n", "weights-mixed", 4),
    ("energon", "splits: {train: {path: not-there.yaml}}\n", "file-missing", None),
    ("energon", "splits: {train: {blend: [{path: web}], blend_epochized: [{path: web}]}}\n", "key-conflict", 1),
    ("hf", '{"datasets": ["web"], "probabilities": [0.5, 0.5]}', "weights-missing", 1),
    ("hf", '{"datasets": ["web", "web"], "probabilities": [0.5, 0.5]}', "duplicate-source", 1),
    ("hf", '{"datasets": ["web"], "probabilities": ["1.0"]}', "quoted-number", 1),
    ("maxtext", '{"web": {"path": "a*"}}', "missing-key", 1),
    ("maxtext", "web*;code*,0.5\n", "weights-missing", 1),
    ("maxtext", "web*,0.5;web*,0.5\n", "duplicate-source", 1),
    ("maxtext", "grain_train_files: ''\nsteps: 5\n", "missing-key", 1),
    ("maxtext", "grain_train_mixture_config_path: not-there.json\n", "file-missing", None),
    ("maxtext", '{"web": {"path": "a*", "weight": 1, "weigth": 2}}', "unknown-key", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "code", "line"), WRONG)
def test_what_is_wrong_in_a_file_is_refused_at_its_place(name, text, code, line, refused):
    error = refused(name, text, unit=FORMATS[name].units[-1] if name in ("hf", "maxtext", "energon") else None)
    assert error.code == code, str(error)
    assert error.place is not None
    assert error.place.line == line
    if code != "file-missing":
        assert error.place.file == "the.file"


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        ("maxtext", "web*,0.5;web*,0.5\n", "'web*' is listed twice", "remove one of the two"),
        ("megatron", "--data-path 1 web --seed 1 --seed 2\n", "--seed is given twice on a line",
         "remove one of the two"),
        ("megatron", "0.5 web\n0.5 web\n", "the path 'web' is listed twice", "remove one of the two"),
        ("mosaic", "train_loader: {dataset: {streams: {web: {proportion: 1, choose: 3}}}}\n",
         "train_loader.dataset.streams.web: proportion and choose are both given", "remove one of the two"),
    ],
)  # fmt: skip
def test_what_is_given_twice_is_named_with_what_to_do(name, text, message, hint, refused):
    error = refused(name, text, unit=FORMATS[name].units[-1] if name == "maxtext" else None)
    assert (error.message, error.hint) == (message, hint)


def test_a_slip_in_a_key_gets_the_right_one(refused):
    assert refused("levanter", "train_weight: {web: 1}\n").hint == "did you mean 'train_weights'?"
    assert refused("olmo", "sources: [{source_nme: web, target_ratio: 1}]").hint == "did you mean 'source_name'?"


def test_all_that_is_wrong_in_a_file_is_said_at_once(refused):
    error = refused("olmo", "sources:\n- {source_name: web, targt_ratio: 1}\n- {source_name: code, target_ratio: x}\n")
    assert [(single.code, single.place.line) for single in error.errors] == [  # type: ignore[attr-defined]
        ("unknown-key", 2),
        ("not-a-number", 3),
    ]


def test_files_without_sizes_need_a_table_of_the_domains(refused):
    error = refused("olmo", "sources: [{source_name: web, target_ratio: 1}]", catalog=None)
    assert (error.code, error.hint) == ("catalog-needed", "give the table of its domains: --catalog TABLE")


def test_weights_of_documents_need_to_know_how_many_there_are(refused):
    error = refused("hf", '{"datasets": ["web", "code"], "probabilities": [0.5, 0.5]}')
    assert error.code == "missing-column"


def test_paths_that_no_template_gives_are_refused_with_the_nearest(refused):
    error = refused("megatron", "1 s3://b/wb\n", path_template="s3://b/{domain}")
    assert (error.code, error.hint) == ("unknown-domain", "did you mean 's3://b/web'?")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sequence_length": 32}, "sequence_length is given as 32, but the file says 16"),
        ({"batch_sequences": 5}, "batch is given as 5, but the file says 4"),
        ({"steps": (7,)}, "the file says 10"),
        ({"steps": (7, 8)}, "--steps is given 2 times for 1 phase"),
    ],
)
def test_what_is_given_and_what_the_file_says_may_not_differ(given, said, refused):
    text = "--seq-length 16 --global-batch-size 4 --train-iters 10 --data-path 1 web\n"
    error = refused("megatron", text, **given)
    assert error.code == "import-conflict"
    assert said in error.message


def test_files_of_one_run_that_name_different_tokenizers_need_to_be_told_one(tmp_path):
    catalog = catalog_of(tmp_path, CELLS)
    files = [
        SourceFile(Path(f"{name}.yaml"), f"tokenizer: {name}\ntrain_weights: {{web: 1}}\n") for name in ("one", "two")
    ]
    with pytest.raises(FormatError, match="different tokenizers: 'one' and 'two'") as caught:
        import_mixture(FORMATS["levanter"], files, tmp_path, Given(catalog=catalog))
    assert (caught.value.code, str(caught.value.hint)[:16]) == ("files-disagree", "--tokenizer NAME")
    for tokenizer in ("two", "three"):
        imported = import_mixture(FORMATS["levanter"], files, tmp_path, Given(catalog=catalog, tokenizer=tokenizer))
        assert f"tokenizer: {tokenizer}\n" in imported.files["mixture.yaml"]
        assert f"'one' and 'two'; '{tokenizer}' is set" in next(
            remark.message for remark in imported.remarks if remark.code == "read-as"
        )


def test_a_tokenizer_is_given_where_no_file_names_one_and_may_not_contradict_one(refused, tmp_path):
    text = "tokenizer: one\ntrain_weights: {web: 1}\n"
    assert refused("levanter", text, tokenizer="two").code == "import-conflict"
    source = SourceFile(tmp_path / "config.yaml", "train_weights: {web: 1}\n")
    given = Given(catalog=catalog_of(tmp_path, CELLS), tokenizer="two")
    assert "tokenizer: two\n" in import_mixture(FORMATS["levanter"], [source], tmp_path, given).files["mixture.yaml"]


def test_a_table_is_not_imported_and_a_format_nobody_knows_has_a_nearest(refused):
    assert refused("csv", "phase,domain\n").code == "no-way-back"
    with pytest.raises(FormatError, match="did you mean 'megatron'") as caught:
        format_of("megatorn")
    assert caught.value.code == "unknown-mixture-format"


def test_a_unit_that_a_trainer_does_not_draw_can_not_be_said_of_its_file(refused):
    assert refused("olmo", "sources: []", unit=WeightUnit.DOCUMENTS).code == "unit-not-drawn"


def test_a_run_shorter_than_a_step_is_refused_before_a_spec_of_it_is_written(refused):
    budgets = '{"phase0_weights": {"web": 1}, "phase_budgets": [5000]}'
    error = refused("marin-json", budgets)
    assert (error.code, error.place and error.place.line) == ("run-too-short", 1)
    assert "5,000 tokens, but a step has 4,194,304" in error.message
    assert "--batch" in str(error.hint)
    assert (
        refused("olmo", "sources:\n- {source_name: web, target_ratio: 1}\n", batch_sequences=1 << 20).code == error.code
    )
