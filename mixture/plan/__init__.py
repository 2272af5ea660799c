"""Plans and locks: spec and catalog worked out, what that finds, and the file that fixes a run."""

from mixture.plan.caps import tokens_over_cap
from mixture.plan.distance import half_l1, hellinger
from mixture.plan.figures import decimal, fraction_of, json_value
from mixture.plan.findings import LEVELS, Finding, Level
from mixture.plan.lock import Accepted, Checked, Lock, LockPhase, make_lock
from mixture.plan.lock_check import DomainChange, check_lock
from mixture.plan.lock_file import lock_text, parse_lock, read_lock, write_lock
from mixture.plan.phases import PhaseSteps
from mixture.plan.plan import Plan, make_plan
from mixture.plan.planned import PlannedDomain, PlannedPhase
from mixture.plan.report import finding_json, plan_json

__all__ = [
    "LEVELS",
    "Accepted",
    "Checked",
    "DomainChange",
    "Finding",
    "Level",
    "Lock",
    "LockPhase",
    "PhaseSteps",
    "Plan",
    "PlannedDomain",
    "PlannedPhase",
    "check_lock",
    "decimal",
    "finding_json",
    "fraction_of",
    "half_l1",
    "hellinger",
    "json_value",
    "lock_text",
    "make_lock",
    "make_plan",
    "parse_lock",
    "plan_json",
    "read_lock",
    "tokens_over_cap",
    "write_lock",
]
