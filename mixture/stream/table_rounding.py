"""Controlled rounding of a table: entries, rows and columns all become one of the two integers that they lie between.

By the cycles of L. H. Cox, "A constructive procedure for unbiased controlled rounding" (1987): while there are
fractions there is a cycle through them, row to column to row, along which they are moved up and down in turn until one
is whole.
"""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[int, int, int]
"""Two rows, and the column in which both have a fraction."""


def round_table(entries: Sequence[Sequence[int]], whole: int) -> list[list[int]]:
    """Integers for entries ÷ `whole`, at least 0: each entry, and each sum of a row or a column, is off by less than 1.

    entries: [rows, columns]; their sum is a multiple of `whole`. The same table is always rounded alike; an entry that
    is nearer to the integer above is not always rounded up, for the sake of the sums.
    """
    rows, columns = len(entries), len(entries[0])
    floors = [[entry // whole for entry in row] for row in entries]
    rests = [[entry % whole for entry in row] for row in entries]
    # One row more makes every column whole, and one column more every row.
    rests.append([-sum(row[c] for row in rests) % whole for c in range(columns)])
    for row in rests:
        row.append(-sum(row) % whole)
    _settle(rests, whole)
    return [[floors[r][c] + rests[r][c] // whole for c in range(columns)] for r in range(rows)]


def _settle(rests: list[list[int]], whole: int) -> None:
    """Make each entry 0 or `whole`, in place, sums of rows and columns unchanged.

    Columns are gone through in order. The rows in which one still has fractions are linked in a chain, unless they are
    linked already, by columns before it: then that is a cycle. Links make no cycle, so they are fewer than the rows.
    """
    linked: list[dict[int, int]] = [{} for _ in rests]  # by row, the rows next to it and the columns that they share
    chains: list[list[int]] = []
    for column in range(len(rests[0])):
        chains.append([])
        for row in range(len(rests)):
            while 0 < rests[row][column] < whole:
                chain = chains[column]
                path = _path(linked, row, chain[-1]) if chain else None
                if path is not None:
                    for r, c in _move(rests, whole, [(chain[-1], row, column), *path]):
                        if r in chains[c]:
                            _leave(linked, chains[c], r, c)
                    continue
                if chain:
                    linked[row][chain[-1]] = linked[chain[-1]][row] = column
                chain.append(row)
                break


def _leave(linked: list[dict[int, int]], chain: list[int], row: int, column: int) -> None:
    """Take a row out of a column's chain; those on both sides of it are then linked to each other."""
    at = chain.index(row)
    beside = chain[max(0, at - 1) : at] + chain[at + 1 : at + 2]
    for other in beside:
        del linked[row][other], linked[other][row]
    if len(beside) == 2:
        linked[beside[0]][beside[1]] = linked[beside[1]][beside[0]] = column
    chain.remove(row)


def _path(linked: list[dict[int, int]], start: int, end: int) -> list[Edge] | None:
    """The edges from a row to another, of which there is at most one path: links are made where there is none."""
    came: dict[int, Edge] = {start: (start, start, -1)}
    ahead = [start]
    while ahead and end not in came:
        row = ahead.pop()
        for other, column in linked[row].items():
            if other not in came:
                came[other] = (row, other, column)
                ahead.append(other)
    if end not in came:
        return None
    path, row = [], end
    while row != start:
        path.append(came[row])
        row = came[row][0]
    return path[::-1]


def _move(rests: list[list[int]], whole: int, cycle: list[Edge]) -> list[tuple[int, int]]:
    """Move the entries of a cycle, the shorter way, until one is whole: those that are, row and column."""
    ways: dict[tuple[int, int], int] = {}
    for a, b, column in cycle:
        ways[a, column] = ways.get((a, column), 0) + 1
        ways[b, column] = ways.get((b, column), 0) - 1
    moved = {at: way for at, way in ways.items() if way}
    up = min(whole - rests[r][c] if way > 0 else rests[r][c] for (r, c), way in moved.items())
    down = min(rests[r][c] if way > 0 else whole - rests[r][c] for (r, c), way in moved.items())
    size = up if up <= down else -down
    for (r, c), way in moved.items():
        rests[r][c] += way * size
    return [(r, c) for r, c in moved if rests[r][c] in (0, whole)]
