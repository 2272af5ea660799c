# ruff: noqa: E501 a rule is a line or two
"""Breaks the product's rules on purpose, one at a time, and runs the tests that belong to each: every one has to fail.

    python tests/break_rules.py [NUMBER …]

A copy of the last commit is changed, never the files here. It takes some twenty minutes and is no part of CI: run it after tests were
merged, shortened or moved. SCHEDULE_ORACLE, where it is set, is used.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LONGEST_SECONDS = 300


class Break(NamedTuple):
    """A rule, where it is, what it becomes, and the tests that hold it."""

    rule: str
    path: str
    before: str
    after: str
    tests: str


BREAKS = (
    Break("equal remainders go to the earlier domain", "mixture/schedule/apportion.py",
          "(-parts[i][1], i)", "(-parts[i][1], -i)", "tests/schedule/test_apportion.py tests/golden"),
    Break("the smaller child of a node is the one popped first", "mixture/schedule/tree.py",
          "self._children[fresh] = (small, large)", "self._children[fresh] = (large, small)", "tests/golden"),
    Break("an item of the smaller child is drawn by key", "mixture/schedule/tree.py",
          "np.remainder(place, (high - low).view(np.uint64), out=place)", "place[...] = 0", "tests/golden"),
    Break("the last block of a domain may be short", "mixture/schedule/order.py",
          "self.per_epoch = self.blocks * self.per_block - self.deficit", "self.per_epoch = self.blocks * self.per_block",
          "tests/schedule/test_domain_order.py tests/golden"),
    Break("a window that was begun is not read again in another length", "mixture/schedule/order.py",
          "window = self.window_of(epoch, r) + 1", "window = self.window_of(epoch, r)",
          "tests/schedule/test_domain_order.py"),
    Break("a history ends at its step", "mixture/schedule/history.py",
          "min(segment.steps, step - segment.first_step)", "segment.steps", "tests/schedule/test_history.py"),
    Break("a rank's slots begin at floor(r * B / R)", "mixture/stream/ranks.py",
          "return range(rank * batch // world_size,", "return range(-(-rank * batch // world_size),",
          "tests/stream/test_slot_ranks.py tests/stream/test_short_steps.py"),
    Break("boundaries of phases are rounded half up", "mixture/planning/plan/phases.py",
          "(2 * x.numerator + x.denominator) //", "(2 * x.numerator + x.denominator - 1) //",
          "tests/planning/plan/test_plan_phases.py"),
    Break("shares sum to 1 within 1e-9", "mixture/planning/spec/amounts.py",
          "SUM_TOLERANCE = Fraction(1, 10**9)", "SUM_TOLERANCE = Fraction(1, 10**3)", "tests/planning/spec/test_spec_weights.py"),
    Break("a phase's own sequence length is used", "mixture/planning/plan/phases.py",
          "return phase.sequence_length or spec.sequence_length", "return spec.sequence_length",
          "tests/planning/plan/test_plan_phases.py tests/planning/plan/test_plan_figures.py"),
    Break("stairs of a transition lie between old and new", "mixture/planning/plan/integer_weights.py",
          "before * (whole - done) + after * done", "before * done + after * (whole - done)",
          "tests/planning/plan/test_transition.py"),
    Break("a domain's own max_epochs goes before the spec's", "mixture/planning/plan/weights/caps.py",
          "return spec.max_epochs if own is None else own", "return spec.max_epochs", "tests/planning/plan/test_max_epochs.py"),
    Break("UniMax's remainder goes to the earlier domains", "mixture/planning/plan/weights/unimax.py",
          "out[free] = even + (rank < more)", "out[free] = even", "tests/planning/plan/test_unimax.py"),
    Break("equal neighbours are one segment", "mixture/planning/plan/segments.py",
          "if last is not None and (last.sequence_length, last.weights)", "if last is None and (phase.sequence_length, own)",
          "tests/planning/plan/test_plan_phases.py tests/planning/plan/test_lock_file.py"),
    Break("a lock whose digest is not that of its fields is refused", "mixture/lock/file.py",
          "if found != file.digest:", "if not file.digest:", "tests/planning/plan/test_lock_file.py"),
    Break("phases of a lock follow one another", "mixture/lock/fields.py",
          "if phase.first_step != step or phase.name in names:", "if phase.name in names:", "tests/planning/plan/test_lock_file.py"),
    Break("what a run has read is not amended", "mixture/lock/amendment.py",
          "if self.step < self.consumed_step:", "if self.step + 1 < self.consumed_step:", "tests/planning/amend"),
    Break("text that was read stays what it was", "mixture/planning/plan/locking.py",
          "d in drawn and locked is not None and found is not None and locked != found", "False",
          "tests/planning/amend tests/stream/test_stream_amended.py"),
    Break("held-out domains are not weighed", "mixture/planning/yamlfile/values.py",
          "if is_held_out(name):", "if False:", "tests/planning/spec/test_spec_names.py tests/planning/spec/test_spec_weights.py"),
    Break("numbers begin with no zero", "mixture/units.py",
          'if len(whole) > 1 and whole.startswith("0"):', "if False:", "tests/test_units.py"),
    Break("a condition that is NULL selects nothing", "mixture/planning/catalog/selection.py",
          "WHERE {condition} ORDER", "WHERE ({condition}) IS NOT FALSE ORDER", "tests/planning/catalog/test_conditions.py"),
    Break("held-out documents do not move when a domain grows", "mixture/data/ingest/holdout.py",
          'return int.from_bytes(key.digest(), "big")', "return hash(key.digest()) % (1 << 64)",
          "tests/data/ingest/test_holdout.py"),
    Break("a file of another digest is refused", "mixture/data/store/checks.py",
          "if found != record.sha256:", "if found is None:", "tests/data/store/test_damage.py tests/data/store/test_changed.py"),
    Break("a file of another size is refused", "mixture/data/store/checks.py",
          "if size != record.bytes:", "if size is None:", "tests/data/store/test_damage.py tests/data/store/test_changed.py"),
    Break("a state of another history is refused", "mixture/stream/state.py",
          "if schedule.history(state.step) == state.history:", "if state.history:",
          "tests/stream/test_stream_resume.py tests/stream/test_stream_amended.py"),
    Break("a state of other content is refused", "mixture/stream/state.py",
          "if state.content == content_digest(schedule, store, state.step, state.masks):", "if state.content:",
          "tests/stream/test_stream_resume.py"),
    Break("masked tokens are masked to the last one", "mixture/stream/masks.py",
          "if at < tokens:", "if at < tokens - 1:", "tests/stream/test_masks.py tests/stream/test_takedown.py"),
    Break("a range's end is part of it", "api/middleware/ranges.py",
          "int(last) + 1 if last else size", "int(last) if last else size", "tests/api/test_ranges.py"),
    Break("what a client has is not sent again", "api/middleware/http_caching.py",
          'if fresh.tag in tags or "*" in tags:', 'if "*" in tags:', "tests/api/test_not_modified.py"),
    Break("a token reports to its own runs", "api/dependencies/security.py",
          "if run.by != caller.name and not caller.may(Scope.RUN_ALL):", "if False:", "tests/api/test_runs_routes.py tests/api/test_tokens.py"),
    Break("a scope that a token lacks is refused", "api/dependencies/security.py",
          "if not caller.may(scope):", "if False:", "tests/api/test_tokens.py tests/api/test_publishing.py"),
    Break("a published lock is what its spec gives", "api/registry/bundles.py",
          "if given is not None and given.digest != fixed.digest:", "if False:", "tests/api/test_publishing.py"),
)  # fmt: skip


def survives(copy: Path, broken: Break) -> bool:
    """Whether the tests that belong to a rule pass where it is broken. The copy is as it was afterwards."""
    path = copy / broken.path
    text = path.read_text(encoding="utf-8")
    assert text.count(broken.before) == 1, f"{broken.path} has {broken.before!r} {text.count(broken.before)} times"
    path.write_text(text.replace(broken.before, broken.after), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        "not long",
        *broken.tests.split(),
    ]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False  # what was broken does not end: somebody would see that, too
    finally:
        path.write_text(text, encoding="utf-8")
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    return done.returncode == 0


def main() -> int:
    """Break each rule, or those of the numbers given; 1 where one was broken and no test failed."""
    numbers = [int(argument) for argument in sys.argv[1:]] or range(1, len(BREAKS) + 1)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", copy, "HEAD"], cwd=ROOT, check=True)
        try:
            for number in numbers:
                broken = BREAKS[number - 1]
                found = not survives(copy, broken)
                missed += not found
                print(f"{number:2} {'found ' if found else 'MISSED'} {broken.rule}", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", copy], cwd=ROOT, check=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
