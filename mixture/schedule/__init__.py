"""The schedule: pure integers over NumPy arrays, from a position to (domain, sequence) and back. Knows no files."""

from mixture.schedule.apportion import WHOLE, apportion, apportion_amounts
from mixture.schedule.coverage import Coverage
from mixture.schedule.fields import MAX_SEQUENCES, Batch, Domain, ScheduleData, Segment
from mixture.schedule.history import agreed_steps, history
from mixture.schedule.layout import SegmentHandoff
from mixture.schedule.reads import Draws, Read, ReadPlace
from mixture.schedule.rows import Rows
from mixture.schedule.schedule import Schedule
from mixture.schedule.tree import MOST_OFF

__all__ = [
    "MAX_SEQUENCES", "MOST_OFF", "WHOLE", "Batch", "Coverage", "Domain", "Draws", "Read", "ReadPlace", "Rows",
    "Schedule", "ScheduleData", "Segment", "SegmentHandoff", "agreed_steps", "apportion",
    "apportion_amounts", "history",
]  # fmt: skip
