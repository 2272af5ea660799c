"""A mixture at smaller sizes: the rungs of a scaling ladder."""

from mixture.planning.ladder.file import write_rung
from mixture.planning.ladder.ladder import Rung, RungDomain, make_ladder
from mixture.planning.ladder.report import RungFiles, RungReport, rung_json
from mixture.planning.ladder.spec import RungSize, parse_rung

__all__ = [
    "Rung",
    "RungDomain",
    "RungFiles",
    "RungReport",
    "RungSize",
    "make_ladder",
    "parse_rung",
    "rung_json",
    "write_rung",
]
