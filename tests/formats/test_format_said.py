"""What a trainer's file says is read: weights, lengths, batches, budgets, seeds, tokenizers. Only the rest is set."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from format_trips import brought_in, catalog_of, put, weighed

from mixture.errors import FormatError, SpecError
from mixture.formats import FORMATS, Imported, SourceFile, WeightUnit, import_mixture
from mixture.formats.shell import programs
from mixture.planning.catalog import Catalog
from mixture.planning.plan import Plan, make_plan
from mixture.planning.spec import read_spec

PARTS = 10**15
HALVES = {"one": 0.5, "two": 0.5}


@pytest.fixture
def sizes(tmp_path: Path) -> Catalog:
    """A catalog of three domains: 1M, 2M and 4M tokens, in documents of 100, 200 and 400."""
    rows = "one,1000000,10000\ntwo,2000000,10000\nfour,4000000,10000\n"
    return catalog_of(tmp_path / "table", f"domain,tokens,documents\n{rows}")


def shares(plan: Plan, phase: int = 0) -> dict[str, float]:
    """The shares above 0 of a phase's tokens."""
    return {name: weight / PARTS for name, weight in weighed(plan)[phase][3].items()}


def not_said(imported: Imported) -> list[str]:
    """What was set because the file does not say it."""
    return [remark.message for remark in imported.remarks if remark.code == "not-in-the-file"]


LEVANTER = "data: {{components: {{one: {{}}, two: {{}}}}{weights}}}\ntrainer: {trainer}\n{rest}"
LEVANTER_TRAINER = "{train_batch_size: 4, num_train_steps: 20, seed: 9}"


@pytest.mark.parametrize(
    ("rest", "length", "seed"),
    [
        ("train_seq_len: 64\nmodel: {max_seq_len: 128}\n", 64, 9),
        ("model: {type: llama, max_seq_len: 128}\n", 128, 9),
        ("model: {type: llama, seq_len: 256}\ntrain_seq_len: null\n", 256, 9),
        ("model: {max_seq_len: 128}\ndata_seed: 0\n", 128, 0),
    ],
)
def test_levanter_has_the_length_of_its_model_and_the_seed_of_its_trainer_or_data(rest, length, seed, sizes, tmp_path):
    text = LEVANTER.format(weights=", train_weights: {one: 3, two: 1}", trainer=LEVANTER_TRAINER, rest=rest)
    imported, plan = brought_in("levanter", text, tmp_path / "in", catalog=sizes)
    assert weighed(plan) == [(0, 20, length, {"one": 75 * PARTS // 100, "two": 25 * PARTS // 100})]
    assert plan.spec.seed == seed
    assert not not_said(imported)


def test_levanter_gives_components_without_weights_the_same_weight(sizes, tmp_path):
    text = LEVANTER.format(weights="", trainer=LEVANTER_TRAINER, rest="train_seq_len: 64\n")
    assert shares(brought_in("levanter", text, tmp_path / "in", catalog=sizes)[1]) == {"one": 0.5, "two": 0.5}


MOSAIC = """\
seq_len: 100
max_seq_len: ${{seq_len}}
max_duration: {duration}
global_train_batch_size: 8
tokenizer: {{name: org/tok, kwargs: {{}}}}
train_loader:
  drop_last: {drop_last}
  dataset:
    max_seq_len: ${{max_seq_len}}
    shuffle_seed: ${{global_seed}}
    {size}
    streams:
      one: {{local: a, {one}}}
      two: {{local: b, {two}}}
global_seed: 5
"""


def mosaic(folder: Path, catalog: Catalog, **said: str) -> tuple[Imported, Plan]:
    """A config of llm-foundry."""
    fields = {"duration": "50ba", "drop_last": "false", "size": "", "one": "proportion: 0.5", "two": "proportion: 0.5"}
    return brought_in("mosaic", MOSAIC.format(**(fields | said)), folder, catalog=catalog)


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ({"duration": "50ba"}, 50),
        ({"duration": "1_200sp"}, 150),
        ({"duration": "80000tok"}, 100),
        ({"duration": "8e4tok"}, 100),
        ({"duration": "2ep", "size": "epoch_size: 84"}, 22),
        ({"duration": "2ep", "size": "epoch_size: 84", "drop_last": "true"}, 20),
        ({"duration": "3", "size": "epoch_size: 0.8k"}, 300),
        # an epoch without a size has as many samples as the streams: 3M tokens
        ({"duration": "1ep"}, 3750),
        ({"duration": "2ep", "one": "choose: 60", "two": "choose: 20"}, 20),
        ({"duration": "2ep", "one": "repeat: 0.1", "two": "choose: 1000"}, 500),
    ],
)
def test_mosaic_trains_as_long_as_max_duration_says_in_any_unit(said, steps, sizes, tmp_path):
    imported, plan = mosaic(tmp_path / "in", sizes, **said)
    assert weighed(plan)[0][1:3] == (steps, 100)
    assert plan.phases[0].laid.batch_sequences == 8
    assert (plan.spec.seed, plan.tokenizer) == (5, "org/tok")
    assert not not_said(imported)


@pytest.mark.parametrize(
    ("one", "two", "share"),
    [
        ("repeat: 2", "repeat: 1", 0.5),
        ("repeat: 2", "split: train", 0.5),
        ("split: train", "split: train", 1 / 3),
        ("choose: 30", "choose: 10", 0.75),
        ("repeat: 0.5", "choose: 15000", 0.25),
        ("choose: 20000", "split: train", 0.5),
    ],
)
def test_mosaic_adds_what_is_repeated_what_is_chosen_and_what_is_read_once(one, two, share, sizes, tmp_path):
    _, plan = mosaic(tmp_path / "in", sizes, one=one, two=two)
    assert shares(plan) == pytest.approx({"one": share, "two": 1 - share}, abs=1e-14)


def test_mosaic_without_streams_reads_its_one_dataset(sizes, tmp_path):
    text = "max_duration: 5ba\nmax_seq_len: 64\nglobal_train_batch_size: 2\ntrain_loader: {dataset: {remote: one}}\n"
    _, plan = brought_in("mosaic", text, tmp_path / "in", catalog=sizes)
    assert weighed(plan) == [(0, 5, 64, {"one": PARTS})]


def test_a_variable_that_the_file_does_not_define_is_left_out_and_said(sizes, tmp_path):
    text = MOSAIC.format(duration="5ba", drop_last="false", size="", one="repeat: 1", two="repeat: 1")
    text = text.replace("global_seed: 5", "global_seed: ${global_seed}").replace(
        "seq_len: 100", "seq_len: ${oc.env:L}", 1
    )
    imported, plan = brought_in("mosaic", text, tmp_path / "in", catalog=sizes)
    assert not_said(imported) == ["the file does not say the sequence length; 4,096 is set: change it in the spec"]
    assert plan.spec.seed == 0
    left_out = next(remark.message for remark in imported.remarks if remark.code == "keys-left-out")
    assert "'train_loader.dataset.shuffle_seed'" in left_out


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ("blend_epochized: [{path: one}, {path: two, subset: {range: [0%, 50%]}}]", HALVES),
        ("blend_epochized: [{path: one, repetitions: 2}, {path: two}]", HALVES),
        # a document of one has 100 tokens, of two 200
        ("blend_epochized: [{path: one, subset: {range: [0, 500]}}, {path: two, subset: {range: [9750, end]}}]",
         HALVES),
        ("blend_epochized: [{path: one, subset: {range: [50%, end]}}, {path: two, repetitions: 0.75}]",
         {"one": 0.25, "two": 0.75}),
        ("subset: {range: [0%, 10%]}\n    blend_epochized:\n"
         "    - {path: one, subset: {range: [0, 5000]}}\n    - {path: two, subset: {range: [0%, 25%]}}", HALVES),
        ("blend_epochized: [{path: one, split_part: train}, {path: one, split_part: val}, {path: two}]",
         {"one": 1 / 3, "two": 2 / 3}),
        ("blend_epochized: [{path: one, split_part: train, repetitions: 3}, {path: one, split_part: val}, {path: two}]",
         HALVES),
        # weights count documents, whatever part of a dataset they are drawn from
        ("blend: [{path: one, weight: 2}, {path: two, weight: 1, subset: {range: [0%, 50%]}}]", HALVES),
        ("blend: [{path: one, weight: 1}, {path: one, weight: 1, split_part: val}, {path: two}]", HALVES),
        ("datasets: [{path: one, weight: 2, subflavor: a}, {path: two}]", HALVES),
        ("blend_weight_unit: tokens\n    blend: [{path: one, weight: 3}, {path: two, weight: 1}]",
         {"one": 0.75, "two": 0.25}),
        ("blend: [{weight: 3, blend: [{path: one, weight: 8}, {path: two, weight: 1}]}, {path: four, weight: 0.5}]",
         {"one": 0.5, "two": 0.125, "four": 0.375}),
        ("path: two", {"two": 1.0}),
        # a joined sample has a document of each
        ("blend: [{weight: 2, joiner: a, join: [{path: one}, {path: two, nonmatch: skip}]}, {path: two, weight: 1}]",
         {"one": 0.25, "two": 0.75}),
        ("join: {text: {path: one}, image: {path: two}}\n    joiner: a", {"one": 1 / 3, "two": 2 / 3}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["MetadatasetV2", "Recipe"])
def test_energon_counts_what_its_blends_draw(version, train, expected, sizes, tmp_path):
    text = (
        f"__module__: megatron.energon\n__class__: {version}\nsplits:\n  train:\n    {train}\n  val: {{path: four}}\n"
    )
    _, plan = brought_in("energon", text, tmp_path / "in", catalog=sizes, steps=(4,))
    assert shares(plan) == pytest.approx(expected, abs=1e-12)


def test_energon_reads_the_first_version_and_metadatasets_inside_of_others(sizes, tmp_path):
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "inner.yaml").write_text(
        "__module__: megatron.energon\n__class__: Metadataset\nsplits:\n  train: {datasets: [{path: ../four}]}\n"
        "  val: {datasets: [{path: ../one, weight: 3}, {path: ../two, weight: 1}]}\n",
        encoding="utf-8",
    )
    text = (
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend_weight_unit: tokens\n"
        "    blend: [{path: sub/inner.yaml, split_part: val, weight: 4}, {path: sub/inner.yaml, weight: 4}]\n"
    )
    _, plan = brought_in("energon", text, tmp_path / "in", catalog=sizes, steps=(4,))
    assert shares(plan) == pytest.approx({"one": 0.375, "two": 0.125, "four": 0.5}, abs=1e-15)


def test_a_metadataset_that_names_itself_and_a_measure_of_a_task_are_told(sizes, tmp_path):
    text = "splits: {train: {blend_weight_unit: words, blend: [{path: one}]}}"
    imported, _ = brought_in("energon", text, tmp_path / "in", catalog=sizes, steps=(4,))
    assert [remark.message for remark in imported.remarks if remark.code == "read-as"] == [
        "blend_weight_unit 'words' is defined by the task; read as documents"
    ]
    text = f"splits: {{train: {{blend: [{', '.join(['{path: self.yaml}'] * 3)}]}}}}"
    (tmp_path / "self.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="nested more than 8 deep"):
        brought_in("energon", text, tmp_path, catalog=sizes, steps=(4,))


def test_energon_says_what_it_takes_for_splits_whose_sizes_are_not_there(sizes, tmp_path):
    train = "blend_epochized: [{path: one}, {path: one, split_part: val, repetitions: 3}]"
    imported, _ = brought_in("energon", f"splits: {{train: {{{train}}}}}", tmp_path, catalog=sizes, steps=(4,))
    assert [remark.message for remark in imported.remarks if remark.code == "read-as"] == [
        "the file does not say how large the splits 'train' and 'val' of 'one' are; each is read as an equal part"
    ]


@pytest.mark.alone
def test_energon_reads_many_repeated_datasets_about_as_fast_as_weighed_ones(tmp_path):
    """With a pass over all rows for each path, it takes three times as long."""
    seconds: dict[str, float] = {}
    for kind in ("blend", "blend_epochized"):
        rows = ", ".join(f'{{"path": "p{i}"}}' for i in range(10_000))
        source = SourceFile(tmp_path / "many.json", f'{{"splits": {{"train": {{"{kind}": [{rows}]}}}}}}')
        begins = process_time()
        declared = FORMATS["energon"].read([source], WeightUnit.DOCUMENTS)
        seconds[kind] = process_time() - begins
        phase = declared.phases[0]
        assert len(phase.epochs if kind == "blend_epochized" else phase.weights) == 10_000
    assert seconds["blend_epochized"] < 2 * seconds["blend"]


NANOTRON = """\
data_stages:
- {{name: a, start_training_step: 1, data: {{dataset: {{dataset_folder: {folders}}}, seed: 6}}}}
parallelism: {{dp: 3}}
tokenizer: {{tokenizer_name_or_path: org/tok, tokenizer_revision: null}}
tokens: {{batch_accumulation_per_replica: 2, micro_batch_size: 5, sequence_length: 64, train_steps: 7}}
"""


def test_nanotron_has_its_tokenizer_beside_the_stages_and_reads_folders_without_weights_by_size(sizes, tmp_path):
    imported, plan = brought_in("nanotron", NANOTRON.format(folders="[one, two]"), tmp_path / "in", catalog=sizes)
    assert plan.tokenizer == "org/tok"
    assert shares(plan) == pytest.approx({"one": 1 / 3, "two": 2 / 3}, abs=1e-15)
    assert (plan.phases[0].laid.batch_sequences, plan.steps, plan.spec.seed) == (30, 7, 6)
    assert not not_said(imported)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("two", {"two": 1.0}),
        ("{one: 1.0, two: 0.5}", HALVES),  # fractions of their examples
        ("{two: 1}", {"two": 1.0}),
    ],
)
def test_nanotron_reads_datasets_of_text_too(dataset, expected, sizes, tmp_path):
    text = NANOTRON.format(folders="[one]").replace("dataset_folder: [one]", f"hf_dataset_or_datasets: {dataset}, "
        "hf_dataset_splits: train, text_column_name: text")  # fmt: skip
    imported, plan = brought_in("nanotron", text, tmp_path / "in", catalog=sizes)
    assert shares(plan) == expected
    left_out = next(remark.message for remark in imported.remarks if remark.code == "keys-left-out")
    assert "hf_dataset_splits" in left_out


def megatron(folder: Path, catalog: Catalog | None, text: str, **files: str) -> tuple[Imported, Plan]:
    """A script, beside the files that it names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, own in files.items():
        (folder / f"{name}.txt").write_text(own, encoding="utf-8")
    return brought_in("megatron", text, folder, catalog=catalog)


REST = "--seq-length 64 --global-batch-size 4 --train-iters 10 --seed 3 --tokenizer-model org/tok"


@pytest.mark.parametrize(
    ("blend", "expected"),
    [
        ("--data-path 3 one 1 two", {"one": 0.75, "two": 0.25}),
        ("--data-path one two", {"one": 1 / 3, "two": 2 / 3}),
        ("--data-path four", {"four": 1.0}),
        ("--data-path one two four", {"one": 1 / 7, "two": 2 / 7, "four": 4 / 7}),
        ("--data-path 3 0:0.9 one 1 0:1 two", {"one": 0.75, "two": 0.25}),
        (
            "--train-weighted-split-paths 'TRAIN: 0.5 0:0.5 one, 0.25 0.5:1 one, 0.25 0:1 two'",
            {"one": 0.75, "two": 0.25},
        ),
        ("--train-weighted-split-paths-path named.txt", {"one": 0.75, "two": 0.25}),
        ("--data-args-path listed.txt", {"one": 1 / 3, "two": 2 / 3}),
    ],
)
def test_megatron_reads_lists_of_every_kind(blend, expected, sizes, tmp_path):
    files = {"named": '"train: 0.75 0:0.95 one, 0.25 0:0.95 two"\n', "listed": "one\ntwo\n"}
    imported, plan = megatron(tmp_path / "in", sizes, f"python pretrain.py {REST} {blend}\n", **files)
    assert shares(plan) == pytest.approx(expected, abs=1e-14)
    assert (plan.steps, plan.spec.seed, plan.tokenizer) == (10, 3, "org/tok")
    assert not not_said(imported)


def test_megatron_samples_are_steps_of_a_batch_that_is_given_beside_the_file(sizes, tmp_path):
    text = "--seq-length 64 --train-samples 100 --data-path 1 one\n"
    imported, plan = brought_in("megatron", text, tmp_path / "in", catalog=sizes, batch_sequences=8)
    assert (plan.steps, plan.phases[0].laid.batch_sequences) == (13, 8)
    assert not not_said(imported)


def test_an_option_that_is_not_read_may_stand_twice(sizes, tmp_path):
    text = f"srun --env A --env B --nodes 2 torchrun --nodes 2 run.py {REST} --data-path 1 one\n"
    imported, plan = megatron(tmp_path / "in", sizes, text)
    assert shares(plan) == {"one": 1.0}
    left_out = next(remark.message for remark in imported.remarks if remark.code == "keys-left-out")
    assert left_out == "a spec has no place for --env, --nodes"


SCRIPTS = [
    "SEQ=64 BATCH=4 DATA=/d run.py --seq-length $SEQ --global-batch-size ${BATCH} --train-iters 10 --seed 3 \\\n"
    "  --tokenizer-model org/tok --data-path 0.75 $DATA/one 0.25 \"$DATA\"/two 2>&1 | tee log\n",
    f"#!/bin/bash\n#SBATCH --nodes=2\nexport D=/d\nARGS=(\n  {REST}  # --seed 4\n)\nARGS+=(--bf16)\n"
    "BLEND=\"0.75 $D/one \\\n0.25 $D/two\"\ntorchrun --seed-file x run.py ${ARGS[@]} --data-path $BLEND\n",
    f"OPTIONS=\" \\\n {REST} \\\n \"\nCMD=\"run.py $OPTIONS --train-data-path 3 /d/one 1 /d/two\"\n"
    "cat <<EOT > ds.json\n{ \"a\": ( --seed 9\nEOT\nif [ -z \"$X\" ]; then Y=1; fi\nbash -c \"$CMD\"\n",
    f"RAW=\"/d/one:3,/d/two:1\"\nBLEND=\"\"\nIFS=',' read -ra ROWS <<< \"$RAW\"\nfor i in \"${{ROWS[@]}}\"; do\n"
    f"  path=\"${{i%:*}}\"\n  weight=\"${{i##*:}}\"\n  BLEND+=\"$weight $path \"\ndone\n"
    f"run.py {REST} --data-path $BLEND\n",
    f"run -p 8 --env 'A=1' -c 'python run.py \\\n{REST} \\\n--data-path 3 /d/one 1 /d/two\n'\n",
    "B=4; N=$((B * 10)); S=$(( (N + B) / 4 - 1 ))\nrun.py --seq-length ${L:-64} --global-batch-size $B"
    " --train-iters $S --seed 3 --tokenizer-model org/tok --data-path 3 /d/one 1 /d/two\n",
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_megatron_scripts_are_read_as_a_shell_reads_them(script, sizes, tmp_path):
    _, plan = brought_in("megatron", script, tmp_path / "in", catalog=sizes, path_template="/d/{domain}")
    assert weighed(plan) == [(0, 10, 64, {"one": 75 * PARTS // 100, "two": 25 * PARTS // 100})]
    assert (plan.phases[0].laid.batch_sequences, plan.spec.seed, plan.tokenizer) == (4, 3, "org/tok")


UNSURE = [
    'if [ "$X" = 1 ]; then {loop}; fi',
    'if [ "$X" = 1 ]; then :; else {loop}; fi',
    'case "$X" in 1) {loop} ;; esac',
    "blend() {{ {loop}; }}",
    "function blend {{ {loop}; }}",
    "function blend() {{ {loop}; }}",
    "while read -r X; do {loop}; done < names",
    'if [ "$X" = 1 ]; then for x in 1; do {loop}; done; fi',
    'for x in 1; do if [ "$X" = 1 ]; then {loop}; fi; done',
    "for ((i = 0; i < N; i++)); do {loop}; done",
    "for argument; do {loop}; done",
]


@pytest.mark.parametrize("around", UNSURE)
@pytest.mark.parametrize("loop", ['for d in one two; do W="$W 0.5 /d/$d"; done', "for W in /d/one; do :; done"])
def test_what_a_loop_under_a_condition_sets_is_not_read_as_a_blend(around, loop, sizes, tmp_path):
    script = f"W=''\n{around.format(loop=loop)}\nrun.py {REST} --data-path $W\n"
    with pytest.raises(FormatError, match=r"'\$\{W\}'"):
        brought_in("megatron", script, tmp_path / "in", catalog=sizes, path_template="/d/{domain}")


def test_a_loop_after_a_condition_is_read(sizes, tmp_path):
    script = 'if [ "$X" = 1 ]; then for d in a; do Y=1; done; fi\nfor d in one two; do W="$W 0.5 /d/$d"; done\n'
    script = f"W=\nfunction f {{ for d in a; do Y=1; done; }}\n{script}run.py {REST} --data-path $W\n"
    _, plan = brought_in("megatron", script, tmp_path / "in", catalog=sizes, path_template="/d/{domain}")
    assert shares(plan) == HALVES


@pytest.mark.parametrize(
    "cut",
    [
        "${P%$S}",
        "${P%${S}}",
        '${P%"$S"}',
        '${P%"_text"}',
        "${P%'_text'}",
        "${P%_t*}",
        "${P%_${T}xt}",
        "${P%${U:-_text}}",
        "/d/${R#$D/}",
        "/d/${R##*/}",
        "/d/${R##$ANY/}",
    ],
)
@pytest.mark.parametrize("quoted", ["{}", '"{}"'])
def test_the_pattern_of_a_cut_is_expanded(quoted, cut, sizes, tmp_path):
    names = "D=/d; S=_text; T=te; ANY='*'; P=/d/one_text; R=/d/one"
    script = f"{names}\nrun.py {REST} --data-path 1 {quoted.format(cut)}\n"
    _, plan = brought_in("megatron", script, tmp_path / "in", catalog=sizes, path_template="/d/{domain}")
    assert shares(plan) == {"one": 1.0}


@pytest.mark.parametrize("cut", ["%$U", "%_[^a]*", "%_[[:alpha:]]*", "%$(cat x)", "%`cat x`", "%'*'", "%\\*", '%"?"'])
def test_a_path_cut_by_a_pattern_that_is_not_known_stays_as_it_is_written(cut, sizes, tmp_path):
    script = f"P=/d/one\nrun.py {REST} --data-path 1 ${{P{cut}}}\n"
    with pytest.raises(FormatError) as caught:
        brought_in("megatron", script, tmp_path / "in", catalog=sizes, path_template="/d/{domain}")
    assert caught.value.code == "unknown-variable"
    assert f"${{P{cut}}}" in caught.value.message.replace("\\\\", "\\").replace("\\'", "'")


@pytest.mark.alone
def test_lines_of_a_long_script_are_counted_once(tmp_path):
    """Counted from the start of the script for each command, four times the lines take sixteen times as long."""

    def seconds(commands: int) -> float:
        script = ("a '" + "\n" * 100 + "'\n") * commands
        begins = process_time()
        lines = [program.place.line for program in programs(SourceFile(tmp_path / "run.sh", script))]
        assert lines == list(range(1, 101 * commands, 101))
        return process_time() - begins

    seconds(100)
    assert seconds(10_000) < 8 * seconds(2_500)


def test_commands_and_an_unclosed_quote_have_the_lines_where_they_begin(tmp_path):
    script = "# a\none \\\n  'x\ny'\nrun -c 'two a\n\nthree b'; four <<EOT\ntext\nEOT\n\nfive 'x\n"
    closed = SourceFile(tmp_path / "run.sh", script.removesuffix("five 'x\n"))
    lines = [(program.words[0], program.place.line) for program in programs(closed)]
    with pytest.raises(FormatError) as caught:
        list(programs(SourceFile(tmp_path / "run.sh", script)))
    assert lines == [("one", 2), ("two", 5), ("three", 7), ("run", 5), ("four", 7)]
    assert (caught.value.code, caught.value.place and caught.value.place.line) == ("not-arguments", 11)


def batch_of(consumed: int, ramp: tuple[int, int, int], batch: int) -> int:
    """What Megatron takes for a step after so many samples."""
    start, increment, samples = ramp
    if consumed > samples:
        return batch
    return start + increment * (consumed * ((batch - start) // increment) // samples)


@pytest.mark.parametrize(
    ("ramp", "samples"),
    [((2, 2, 60), 200), ((2, 2, 61), 200), ((4, 4, 10), 90), ((8, 2, 50), 80), ((2, 2, 60), 33), ((2, 2, 3), 40)],
)
def test_a_ramp_of_the_batch_is_a_phase_for_each_batch(ramp, samples, sizes, tmp_path):
    words = " ".join(map(str, ramp))
    text = f"--seq-length 64 --global-batch-size 8 --train-samples {samples} --rampup-batch-size {words}"
    text += " --data-path 1 one\n"
    _, plan = megatron(tmp_path / "in", sizes, text)
    expected: list[int] = []
    while sum(expected) <= min(ramp[2], samples):
        expected.append(batch_of(sum(expected), ramp, 8))
    expected += [8] * (max(samples - sum(expected), 0) // 8)
    batches = [phase.laid.batch_sequences for phase in plan.phases for _ in range(phase.laid.steps)]
    assert batches == expected


def test_a_ramp_goes_through_a_transition(sizes, tmp_path):
    rest = "--seq-length 64 --global-batch-size 8 --train-samples 200 --rampup-batch-size 4 4 40"
    lines = "".join(f"{rest} --phase-transition-iterations 6 --data-path 1 {name}\n" for name in ("one", "two"))
    _, plan = megatron(tmp_path / "in", sizes, lines)
    laid = [(phase.laid.first_step, phase.laid.steps, phase.laid.batch_sequences) for phase in plan.phases]
    assert laid == [(0, 6, 4), (6, 4, 4), (10, 20, 8)]
    assert [list(weights) for *_, weights in weighed(plan)] == [["one"], ["two"]]


def test_a_bank_of_tokens_and_epochs_is_a_mixture_and_the_list_of_a_script(tmp_path):
    bank = '{"a_chunk1": [1000000, 1.0, "/mnt/a/chunk1"], "b": [500000, 6.0, "/mnt/b"]}'
    (tmp_path / "bank").mkdir()
    _, plan = brought_in("megatron", bank, tmp_path / "bank", sequence_length=100, batch_sequences=100)
    assert plan.catalog.tokens == 1_500_000
    assert (plan.tokens, shares(plan)) == (4_000_000, {"a_chunk1": 0.25, "b": 0.75})
    script = f"TRAIN=$(python calc.py bank.json)\nrun.py {REST} --train-data-path ${{TRAIN}} --valid-data-path 1 x\n"
    files = [SourceFile(tmp_path / "run.sh", script), SourceFile(tmp_path / "bank.json", bank)]
    imported = import_mixture(FORMATS["megatron"], files, tmp_path / "in")
    spec, *_ = put(tmp_path / "in", imported.files)
    again = make_plan(read_spec(spec))
    assert (weighed(again), again.tokenizer) == ([(0, 10, 64, weighed(plan)[0][3])], "org/tok")


OLMO = """\
_CLASS_: olmo_core.data.source_mixture.SourceMixtureDatasetConfig
{name}: {value}
{tokens}: 6400
global_batch_size: 640
seed: 42
processes: 4
{rest}
"""
OLMO_SOURCES = (
    "[{source_name: one, target_ratio: 0.75, paths: [a]}, {source_name: two, target_ratio: 0.25, paths: [b]}]"
)


@pytest.mark.parametrize(
    ("name", "value", "tokens", "rest", "given"),
    [
        ("source_list", f"{{sources: {OLMO_SOURCES}}}", "requested_tokens", "", {"sequence_length": 64}),
        ("source_configs", OLMO_SOURCES, "max_tokens", "sequence_length: 64", {}),
        ("sources", OLMO_SOURCES, "requested_tokens", "sequence_length: 64\ndtype: uint32", {}),
    ],
)
def test_olmo_has_tokens_batch_and_seed_beside_its_sources(name, value, tokens, rest, given, sizes, tmp_path):
    text = OLMO.format(name=name, value=value, tokens=tokens, rest=rest)
    imported, plan = brought_in("olmo", text, tmp_path / "in", catalog=sizes, **given)
    assert weighed(plan) == [(0, 10, 64, {"one": 75 * PARTS // 100, "two": 25 * PARTS // 100})]
    assert (plan.phases[0].laid.batch_sequences, plan.spec.seed) == (10, 42)
    assert not not_said(imported)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gs://b/one-*.ar,3;gs://b/two-*.ar,1\n", {"one": 0.75, "two": 0.25}),
        ("grain_train_files: 'gs://b/one-*.ar,0.75; gs://b/two-*.ar,.25'\n", {"one": 0.75, "two": 0.25}),
        ("grain_train_files: gs://b/two-*.ar\nsteps: -1\n", {"two": 1.0}),
        ("grain_train_files: ''\ngrain_train_mixture_config_path: mix.json\n", {"one": 0.75, "two": 0.25}),
    ],
)
def test_maxtext_reads_its_files_with_weights_and_its_configs(text, expected, sizes, tmp_path):
    (tmp_path / "in").mkdir()
    mix = '{"one": {"path": "x*", "weight": 3}, "two": {"path": "y*", "weight": 1}}'
    (tmp_path / "in" / "mix.json").write_text(mix, encoding="utf-8")
    template = "gs://b/{domain}-*.ar"
    _, plan = brought_in(
        "maxtext", text, tmp_path / "in", catalog=sizes, unit=WeightUnit.SEQUENCES, path_template=template
    )
    assert shares(plan) == expected


def test_maxtext_has_length_steps_seed_and_tokenizer(sizes, tmp_path):
    text = (
        "grain_train_files: one\nmax_target_length: 64\nsteps: 9\ndata_shuffle_seed: 4\ntokenizer_path: org/tok\n"
        "per_device_batch_size: 2.0\n"
    )
    imported, plan = brought_in("maxtext", text, tmp_path / "in", catalog=sizes, batch_sequences=4)
    assert weighed(plan) == [(0, 9, 64, {"one": PARTS})]
    assert (plan.spec.seed, plan.tokenizer) == (4, "org/tok")
    assert "'per_device_batch_size'" in next(one.message for one in imported.remarks if one.code == "keys-left-out")


def test_interleaving_without_probabilities_takes_an_example_of_each_in_turn(sizes, tmp_path):
    _, plan = brought_in("hf", '{"datasets": ["one", "two"], "seed": 1}', tmp_path / "in", catalog=sizes, steps=(2,))
    assert shares(plan) == pytest.approx({"one": 1 / 3, "two": 2 / 3}, abs=1e-15)
