"""Plans and locks: spec and catalog worked out, what that finds, and the file that fixes a run."""

from mixture.planning.plan.amended.past import free_name, plain_name
from mixture.planning.plan.amended.weights import weight_findings
from mixture.planning.plan.check import check_lock
from mixture.planning.plan.composition import (
    FIGURES,
    STRETCH,
    Groups,
    GroupTokens,
    at_phases,
    composition,
    evenly,
    group,
    group_domains,
    group_tokens,
)
from mixture.planning.plan.crossings import Crossing, crossing_json, crossings, parse_epochs
from mixture.planning.plan.figures import Exact, fraction_of, json_value
from mixture.planning.plan.findings.finding import LEVELS, Finding, Level
from mixture.planning.plan.inputs import Inputs, read_inputs
from mixture.planning.plan.locking import amends_of, lineage_of, make_lock, masks_of, with_masks
from mixture.planning.plan.phases import PhaseSteps, batch_place, lay_out, round_half_up
from mixture.planning.plan.plan import Plan, make_plan
from mixture.planning.plan.planned import PlannedPhase
from mixture.planning.plan.report import (
    FindingReport,
    PhaseShare,
    PlannedPhaseReport,
    PlanReport,
    WeightsChange,
    finding_json,
    plan_json,
    weights_change,
)
from mixture.planning.plan.transitions import changes_inside
from mixture.planning.plan.weights.caps import tokens_over_cap
from mixture.planning.plan.weights.weights import drawable

__all__ = [
    "Exact",
    "Crossing",
    "FIGURES",
    "Finding",
    "FindingReport",
    "GroupTokens",
    "Groups",
    "Inputs",
    "LEVELS",
    "Level",
    "PhaseShare",
    "PhaseSteps",
    "Plan",
    "PlanReport",
    "PlannedPhase",
    "PlannedPhaseReport",
    "STRETCH",
    "WeightsChange",
    "amends_of",
    "at_phases",
    "batch_place",
    "changes_inside",
    "check_lock",
    "composition",
    "crossing_json",
    "crossings",
    "drawable",
    "evenly",
    "finding_json",
    "fraction_of",
    "free_name",
    "group",
    "group_domains",
    "group_tokens",
    "json_value",
    "lay_out",
    "lineage_of",
    "make_lock",
    "make_plan",
    "masks_of",
    "parse_epochs",
    "plain_name",
    "plan_json",
    "read_inputs",
    "round_half_up",
    "tokens_over_cap",
    "weight_findings",
    "weights_change",
    "with_masks",
]
