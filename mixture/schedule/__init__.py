"""The schedule: pure integers over NumPy arrays, from a position to (domain, sequence) and back. Knows no files."""

from mixture.schedule.apportion import WHOLE, apportion, apportion_amounts
from mixture.schedule.coverage import Coverage
from mixture.schedule.fields import MAX_SEQUENCES, Batch, Domain, ScheduleData, Segment
from mixture.schedule.history import agreed_steps, history
from mixture.schedule.layout import SegmentHandoff
from mixture.schedule.order import DomainOrder, Permutations
from mixture.schedule.permute import Permutation, key64
from mixture.schedule.reads import Draws, Read, ReadPlace
from mixture.schedule.rows import COLUMNS, Rows
from mixture.schedule.schedule import Schedule
from mixture.schedule.tree import MOST_OFF

__all__ = [
    "Batch",
    "COLUMNS",
    "Coverage",
    "Domain",
    "DomainOrder",
    "Draws",
    "MAX_SEQUENCES",
    "MOST_OFF",
    "Permutation",
    "Permutations",
    "Read",
    "ReadPlace",
    "Rows",
    "Schedule",
    "ScheduleData",
    "Segment",
    "SegmentHandoff",
    "WHOLE",
    "agreed_steps",
    "apportion",
    "apportion_amounts",
    "history",
    "key64",
]
