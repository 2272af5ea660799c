"""Plans and locks: spec and catalog worked out, what that finds, and the file that fixes a run."""

from mixture.plan.amend import amend
from mixture.plan.amend_report import AmendedDomain, amended_domains, amended_json
from mixture.plan.amendment import Amendment
from mixture.plan.caps import tokens_over_cap
from mixture.plan.composition import GroupTokens, group, group_domains, group_tokens
from mixture.plan.crossings import Crossing, crossing_json, crossings
from mixture.plan.diff import Diff, Distance, Figures, Move, PhasePair, Resized, diff
from mixture.plan.diff_files import is_lock, read_sides
from mixture.plan.diff_markdown import diff_markdown
from mixture.plan.diff_parting import Agreement, Parting
from mixture.plan.diff_report import diff_json
from mixture.plan.diff_sides import Side, Stretch, side_of
from mixture.plan.distance import half_l1, hellinger
from mixture.plan.explain import AmendmentExplained, Explanation, Resumable, explain, resumable
from mixture.plan.explain_changes import Boundary, Change
from mixture.plan.explain_report import amendment_json, explanation_json, resumable_json
from mixture.plan.figures import decimal, fraction_of, json_value
from mixture.plan.findings import LEVELS, Finding, Level
from mixture.plan.first_spec import FirstSpec, first_spec
from mixture.plan.inputs import Inputs, read_inputs
from mixture.plan.ladder import Rung, RungDomain, make_ladder
from mixture.plan.ladder_file import write_rung
from mixture.plan.ladder_report import rung_json
from mixture.plan.ladder_spec import RungSize, parse_rung
from mixture.plan.lineage import lineage_of, parting_step
from mixture.plan.lock import Accepted, Amends, Checked, Lock, LockPhase, Mask
from mixture.plan.lock_check import DomainChange, check_lock
from mixture.plan.lock_file import lock_text, parse_lock, read_lock, write_lock
from mixture.plan.locking import make_lock, with_masks
from mixture.plan.phases import PhaseSteps
from mixture.plan.plan import Plan, make_plan
from mixture.plan.planned import PlannedDomain, PlannedPhase
from mixture.plan.report import finding_json, plan_json

__all__ = [
    "LEVELS",
    "Accepted",
    "Agreement",
    "AmendedDomain",
    "Amendment",
    "AmendmentExplained",
    "Amends",
    "Boundary",
    "Change",
    "Checked",
    "Diff",
    "Distance",
    "Crossing",
    "DomainChange",
    "Explanation",
    "Figures",
    "Finding",
    "FirstSpec",
    "Inputs",
    "GroupTokens",
    "Level",
    "Lock",
    "LockPhase",
    "Mask",
    "Move",
    "Parting",
    "PhasePair",
    "PhaseSteps",
    "Plan",
    "PlannedDomain",
    "PlannedPhase",
    "Resized",
    "Resumable",
    "Rung",
    "RungDomain",
    "RungSize",
    "Side",
    "Stretch",
    "amend",
    "amended_domains",
    "amended_json",
    "amendment_json",
    "check_lock",
    "crossing_json",
    "crossings",
    "decimal",
    "diff",
    "diff_json",
    "diff_markdown",
    "explain",
    "explanation_json",
    "finding_json",
    "first_spec",
    "fraction_of",
    "group",
    "group_domains",
    "group_tokens",
    "half_l1",
    "hellinger",
    "is_lock",
    "json_value",
    "lineage_of",
    "lock_text",
    "make_ladder",
    "make_lock",
    "make_plan",
    "parse_lock",
    "parse_rung",
    "parting_step",
    "plan_json",
    "read_inputs",
    "read_lock",
    "read_sides",
    "resumable",
    "resumable_json",
    "rung_json",
    "side_of",
    "tokens_over_cap",
    "with_masks",
    "write_lock",
    "write_rung",
]
