"""Variables of launch scripts: what is set for certain is known, all else is left open, and bash agrees."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from format_trips import brought_in, catalog_of, weighed

from mixture.errors import FormatError
from mixture.formats import SourceFile
from mixture.formats.shell import programs

OPEN = None
"""Only a run can say it."""

# `check` succeeds or fails; the value is that of "$W" after the script.
SCRIPTS: list[tuple[str, str | None]] = [
    # conditions
    ("check && W=a", OPEN),
    ("W=a; check && W=a", "a"),
    ("W=b; check && W=a", OPEN),
    ("W=b; check || W=a", OPEN),
    ("W=b; check && W=a || W=c", OPEN),
    ("A=1 && W=a", "a"),
    ("true || W=b; false && W=b; W=a", "a"),
    ("[ -e /nowhere ] && W=a", OPEN),
    ("check && W=a; W=${W:-b}", OPEN),
    ("W=${W:-b}", "b"),
    ("W=${W:=b}${W}", "bb"),
    ("check && unset W; : ${W:=b}", "b"),
    ("if check; then W=a; fi", OPEN),
    ("if check; then W=a; else W=b; fi", OPEN),
    ("if check; then W=a; else W=a; fi", "a"),
    ("if check; then W=a; elif check; then W=a; fi", OPEN),
    ("if check; then W=a; elif check; then W=a; else W=a; fi", "a"),
    ("if check; then exit; else W=a; fi", "a"),
    ("if ! check; then W=b; exit; fi; W=a", "a"),
    ("check || { W=b; exit 1; }; W=${W:-a}", "a"),
    ("S=7; if [ $S = 7 ]; then W=a; else W=b; fi", "a"),
    ("S=7; if [[ $S == 8 ]]; then W=b; elif [ $S -gt 6 ]; then W=a; fi", "a"),
    ("S=7; [ -z \"$S\" ] && W=b; [ -n \"$S\" ] && W=a", "a"),
    ("S=7; [[ $S == [78] ]] && W=a", OPEN),
    ("case $X in 1) W=a ;; *) W=b ;; esac", OPEN),
    ("case $X in 1) W=a ;; *) W=a ;; esac", "a"),
    ("case $X in 1) W=a ;; esac", OPEN),
    ("S=big; case $S in small) W=b ;; large|b*) W=a ;; *) W=c ;; esac", "a"),
    ("S=x; W=a; case $S in small) W=b ;; esac", "a"),
    # shells of their own
    ("W=a; ( W=b )", "a"),
    ("( W=b ); W=${W:-a}", "a"),
    ("W=a; W=b & wait", "a"),
    ("W=a; { W=b; } | cat", "a"),
    ("W=a; echo b | read W", "a"),
    ("W=a; echo b | while read W; do :; done", "a"),
    ("{ W=a; }", "a"),
    ("W=a; bash -c 'W=b; true'", "a"),
    ("W=b true; W=${W:-a}", "a"),
    # loops
    ("for W in b a; do :; done", "a"),
    ("W=; for i in 1 2; do W=$W$i; done", "12"),
    ("W=; for i in {1..3}; do W=$W$i; done", "123"),
    ("W=; for i in {3..1} {-1..1} {0..6..3} {6..0..-2}; do W=$W,$i; done", ",3,2,1,-1,0,1,0,3,6,6,4,2,0"),
    ("W=; for i in {a,b{c,d}} x{e,}y {f,} {c..a}{1..2} {g} {h,i; do W=$W$i; done", "abcbdxeyxyfc1c2b1b2a1a2{g}{h,i"),
    ("B=q; W=; for i in {$B,r}${B}{1,{2,3}} ${C:-{s,t}}; do W=$W,$i; done", ",qq1,qq2,qq3,rq1,rq2,rq3,{s,t}"),
    ("W=; for i in {08..10} {1..0} {-01..1}; do W=$W,$i; done", ",08,09,10,1,0,-01,000,001"),
    ("for i in 1 2; do W=$W$i; done", OPEN),
    ("for i in x{b,a}; do W=$i; done", "xa"),
    ("for i in $X; do W=a; done", OPEN),
    ("for i in /nowhere/*.bin; do W=$i; done; W=$W", OPEN),
    ("W=b; for i in 1 2; do check && continue; W=a; done", OPEN),
    ("W=b; for i in 1 2; do check && break; done; W=a", "a"),
    ("while check; do W=a; break; done", OPEN),
    ("W=a; until check; do W=a; break; done", "a"),
    ("n=0; while [ $n -lt 2 ]; do n=$((n+1)); done; W=$n", OPEN),
    # declarations, and what else sets
    ("export W=a", "a"),
    ("readonly W=a", "a"),
    ("declare -r W=a", "a"),
    ("W=a; export W", "a"),
    ("W=a; unset W; W=${W-b}", "b"),
    ("W=a; unset W", OPEN),
    ("W=b; read W <<< x", OPEN),
    ("W=b; read -r W < /dev/null; true", OPEN),
    ("W=b; printf -v W a", OPEN),
    ("W=b; mapfile -t W <<< a", OPEN),
    ("W=1; ((W++)) ; true", OPEN),
    ("W=1; let W+=1", OPEN),
    ("eval 'W=a'", "a"),
    ("W=b; eval \"W=$X\"", OPEN),
    ("W=$(cat)", OPEN),
    ("W=b; W+=$X", OPEN),
    # lists
    ("L=(b a); W=${L[1]}", "a"),
    ("L=(a b); W=$L", "a"),
    ("L=(b); L[0]=a; W=${L[0]}", "a"),
    ("L=(b); L+=(a); W=\"${L[@]}\"", "b a"),
    ("check && L=(a); W=${L[0]}", OPEN),
    ("declare -A L=([x]=a); W=${L[x]}", OPEN),
    # functions
    ("f() { W=a; }; W=b", "b"),
    ("f() { W=a; }; f", "a"),
    ("function f { W=$1; }; f a", "a"),
    ("f() { W=a; }; check && f", OPEN),
    ("W=a; f() { local W=b; }; f", "a"),
    ("W=a; f() { local W; W=b; g; }; g() { W=c; }; f", "a"),
    ("f() { check && return; W=a; }; f", OPEN),
    ("W=a; f() { check && return; }; f", "a"),
    ("f() { W=a; return; W=b; }; f", "a"),
    ("f() { check && { W=b; return; }; W=a; }; f", OPEN),
    # texts for other programs
    ("W=a\ncat <<EOF\nW=b\nEOF", "a"),
    ("W=a\ncat <<-'EOF' | cat\n\tW=b; fi )\n\tEOF", "a"),
    ("W=a # W=b", "a"),
    ("W='a'; echo \"W=b; if\" > /dev/null", "a"),
    ("W=a; true &> /dev/null < <(echo W=b)", "a"),
]  # fmt: skip


def value_of(script: str, **variables: str) -> str | None:
    """What a program is given as "$W" at the end of a script; None where that is left open."""
    source = SourceFile(Path("run.sh"), f'{script}\nend "$W"', variables)
    (end,) = (program for program in programs(source) if program.words[0] == "end")
    return OPEN if "$" in end.words[1] else end.words[1]


@pytest.mark.parametrize(("script", "value"), SCRIPTS)
def test_what_a_script_sets_is_known_where_all_ways_agree(script, value):
    assert value_of(script) == value


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("code", [0, 1])
def test_bash_has_the_values_that_are_known(code):
    known = [(script, value) for script, value in SCRIPTS if value is not OPEN]
    # Each in a shell of its own; what it prints goes to standard error.
    parts = [
        f"( check() {{ return {code}; }}; exec 3>&1 1>&2\n{script}\nprintf '%s\\n' \"$W\" >&3 )" for script, _ in known
    ]
    done = subprocess.run(
        ["bash", "-c", "\nprintf -- '--\\n'\n".join(parts)], capture_output=True, text=True, check=False
    )
    printed = [part.strip() for part in done.stdout.split("--\n")]
    assert len(printed) == len(known)
    for (script, value), text in zip(known, printed, strict=True):
        assert text in (value, "") if "exit" in script else text == value, script  # a script that ends says nothing


@pytest.mark.parametrize("script", [script for script, value in SCRIPTS if value is OPEN])
def test_a_value_that_is_given_is_not_changed_by_the_script(script):
    assert value_of(script, W="given") == "given"


def test_arguments_of_the_script_may_be_given_too():
    assert value_of("W=$1/${2}") is OPEN
    assert value_of("W=$1/${2}; f() { W=$W$1; }; f x", **{"1": "a", "2": "b"}) == "a/bx"


def test_a_script_beside_this_one_is_read(tmp_path):
    (tmp_path / "env.sh").write_text("W=a\nf() { W=${W}c; }\n", encoding="utf-8")
    source = SourceFile(tmp_path / "run.sh", 'source env.sh; . ./not-there.sh; f; end "$W"')
    assert [program.words for program in programs(source)] == [["end", "ac"]]


REST = "--seq-length 64 --global-batch-size 4 --train-iters 10"


def test_a_blend_that_is_not_known_is_asked_for(tmp_path):
    catalog = catalog_of(tmp_path / "table", "domain,tokens\none,1000000\ntwo,2000000\n")
    script = f'B="1 one"\n[ -n "$X" ] && B="1 two"\nrun.py {REST} --data-path $B\n'
    with pytest.raises(FormatError) as caught:
        brought_in("megatron", script, tmp_path / "in", catalog=catalog)
    error = caught.value
    assert (error.code, error.hint, error.place and error.place.line) == (
        "unknown-variable",
        "--set B=VALUE gives it",
        3,
    )
    _, plan = brought_in("megatron", script, tmp_path / "in", catalog=catalog, variables={"B": "3 one 1 two"})
    assert weighed(plan)[0][3] == {"one": 750_000_000_000_000, "two": 250_000_000_000_000}


@pytest.mark.parametrize(
    "blend",
    [
        "$B",
        '"$B"',
        "${B[@]}",
        "1 one/$B",
        "1 $(pick)",
        "$W one 1 two",
        "1 `pick`",
        "1 one --seed $B",
        "$1",
        "1 x$C",
    ],
)
def test_a_word_that_only_a_run_knows_is_not_taken_for_a_path_or_a_number(blend, tmp_path):
    script = f"check && B=a; C=y$B\nrun.py {REST} --data-path {blend}\n"
    with pytest.raises(FormatError) as caught:
        brought_in("megatron", script, tmp_path)
    assert caught.value.code in ("unknown-variable", "weights-missing", "blend-missing")


def test_programs_in_a_function_are_read_where_it_is_called_or_where_nobody_calls_it(tmp_path):
    for script in (
        f"B='1 one'\ntrain() {{ local S=$1; run.py {REST} --seed $S --data-path $B; }}\ntrain 5\n",
        f"B='1 one'\ntrain() {{ run.py {REST} --seed 5 --data-path $B; }}\nexport -f train; srun bash -c train\n",
    ):
        _, plan = brought_in("megatron", script, tmp_path / str(len(script)))
        assert plan.spec.seed == 5


def test_of_branches_with_programs_the_one_that_a_known_value_chooses_is_read(tmp_path):
    run = f"run.py {REST} --data-path 1"
    script = f"SIZE=8b\nif [[ $SIZE == 8b ]]; then {run} one; elif [[ $SIZE == 70b ]]; then {run} two; fi\n"
    _, plan = brought_in("megatron", script, tmp_path / "known")
    assert list(weighed(plan)[0][3]) == ["one"]
    with pytest.raises(FormatError, match="2 lines of arguments"):
        brought_in("megatron", script.replace("SIZE=8b", ""), tmp_path / "open")


def test_a_script_without_end_is_refused_and_a_deep_one_too(tmp_path):
    for script, code in (
        ("f() { f; }; f", "not-arguments"),
        ("(" * 5000, "not-arguments"),
        ("if a; then " * 5000, "not-arguments"),
        ("while a; do " * 9 + "b" + "; done" * 9, "not-arguments"),
        ("b " + "{1,2}" * 40, "not-arguments"),
        ("b {1..2000000}", "not-arguments"),
        ("a=" + "{1,2}" * 40 + "; b $a", None),
    ):
        source = SourceFile(tmp_path / "run.sh", script)
        if code is None:
            assert list(programs(source))
            continue
        with pytest.raises(FormatError) as caught:
            list(programs(source))
        assert caught.value.code == code, script[:20]
