"""A mixture planned with changes."""

from api.what_if.answer import WhatIfAnswer, WhatIfDomain, what_if_answer
from api.what_if.faults import Faults
from api.what_if.heading import changed_name
from api.what_if.shares import Asked, read_share
from api.what_if.what_if import Changes, PhaseChange, check_whole, what_if

__all__ = [
    "Asked",
    "Changes",
    "Faults",
    "PhaseChange",
    "WhatIfAnswer",
    "WhatIfDomain",
    "changed_name",
    "check_whole",
    "read_share",
    "what_if",
    "what_if_answer",
]
