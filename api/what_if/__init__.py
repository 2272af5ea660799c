"""A mixture planned with changes, for anybody."""

from mixture.api.what_if.answer import WhatIfAnswer, WhatIfDomain, what_if_answer
from mixture.api.what_if.faults import changes_refused
from mixture.api.what_if.planning import check_whole, what_if

__all__ = [
    "WhatIfAnswer",
    "WhatIfDomain",
    "changes_refused",
    "check_whole",
    "what_if",
    "what_if_answer",
]
