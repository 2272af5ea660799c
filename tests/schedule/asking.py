"""The same questions put to a schedule and to the oracle, and the answers in one form."""

from __future__ import annotations

from mixture.schedule import Rows, Schedule


def answers(schedule: Schedule, rows: Rows) -> list[dict]:
    """Rows as the oracle would give them, one dict a position."""
    out = []
    for i, position in enumerate(rows.position.tolist()):
        step = schedule.step_of(position)
        out.append(
            {
                "position": position,
                "step": step,
                "slot": position - schedule.positions_before(step),
                "domain": schedule.names[rows.domain[i]],
                "draw": int(rows.draw[i]),
                "epoch": int(rows.epoch[i]),
                "sequence": int(rows.sequence[i]),
                "first_token": int(rows.first_token[i]),
                "tokens": int(rows.tokens[i]),
            }
        )
    return out


def handoffs(schedule: Schedule) -> list[tuple[int, list[int]]]:
    """What is skipped where each segment begins, in the oracle's form."""
    return [(handoff.first_step, list(handoff.tokens_skipped)) for handoff in schedule.handoffs()]
