"""Schedule format 1, written by a reader from docs/schedule-format.md alone: plain Python,
nothing of the library."""
# ruff: noqa: N803, N806

from __future__ import annotations

import json
from array import array
from bisect import bisect_right, insort
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b, sha256
from math import gcd, isqrt
from typing import Any

MASK = 2**64 - 1


# Section 2: keys and permutations
def key(*parts: int | str) -> int:
    text = "\x1f".join(["mixture-schedule/1", *map(str, parts)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mix64(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def out(k: int, i: int) -> int:
    return mix64(k + (i + 1) * 0x9E3779B97F4A7C15 & MASK)


@lru_cache(maxsize=1024)
def _sorted(n: int, k: int) -> array[int]:
    return array("H", sorted(range(n), key=lambda j: out(k, j) >> 16))  # the sort is stable: equal ones by j


def _walk(n: int, k: int, i: int, rounds: range, sign: int) -> int:
    a = isqrt(n - 1) + 1
    b = -(-n // a)  # ceil(n/a), since // rounds down
    high, low = divmod(i, a)
    for r in rounds:
        if r % 2 == 0:
            low = (low + sign * ((mix64(high ^ out(k, r)) >> 32) * a >> 32)) % a
        else:
            high = (high + sign * ((mix64(low ^ out(k, r)) >> 32) * b >> 32)) % b
    i = high * a + low
    return i if i < n else _walk(n, k, i, rounds, sign)


def perm(n: int, k: int, i: int) -> int:
    return _sorted(n, k)[i] if n <= 16_384 else _walk(n, k, i, range(6), 1)


def inverse(n: int, k: int, j: int) -> int:
    return _sorted(n, k).index(j) if n <= 16_384 else _walk(n, k, j, range(5, -1, -1), -1)


# Section 4: which domain
@lru_cache(maxsize=256)
def _tree(weights: tuple[int, ...]) -> list[tuple[int, int, int, int, int]]:
    """The inner nodes, the root last: (id, W, s, smaller child, larger child)."""
    heap = sorted((weight, d) for d, weight in enumerate(weights) if weight > 0)
    nodes: list[tuple[int, int, int, int, int]] = []
    while len(heap) > 1:
        (s, smaller), (rest, larger) = heap.pop(0), heap.pop(0)
        nodes.append((len(weights) + len(nodes), s + rest, s, smaller, larger))
        insort(heap, (s + rest, nodes[-1][0]))
    return nodes


def _p(K: int, W: int, s: int, j: int) -> int:
    first, end = -(-j * W // s), -(-(j + 1) * W // s)  # ceil(j * W / s) and ceil((j + 1) * W / s)
    return first + out(K, j) % (end - first)


def counts(weights: list[int] | tuple[int, ...], key: int, x: int) -> list[int]:
    size, nodes = len(weights), _tree(tuple(weights))
    if not nodes:  # the tree of one domain
        return [x if weight > 0 else 0 for weight in weights]
    has = [0] * (size + len(nodes) - 1) + [x]  # by id: how many of the first x items
    for node, W, s, smaller, larger in reversed(nodes):
        j = has[node] * s // W
        has[smaller] = j + (_p(out(key, node - size), W, s, j) < has[node])
        has[larger] = has[node] - has[smaller]
    return has[:size]


def item(weights: list[int] | tuple[int, ...], key: int, d: int, k: int) -> int:
    if weights[d] == 0:
        raise ValueError(f"domain {d} has weight 0, so no items")
    child = d
    for node, W, s, smaller, larger in _tree(tuple(weights)):
        if child in (smaller, larger):
            K, j = out(key, node - len(weights)), k * s // (W - s)
            k = _p(K, W, s, k) if child == smaller else k + j + (k + j >= _p(K, W, s, j))
            child = node
    return k


# Section 5: which slot
def stride(b: int) -> int:
    q = (isqrt(5 * b * b) - b) // 2
    return next(h for i in range(b + 1) for h in (q + i, q - i) if 1 <= h <= b and gcd(h, b) == 1)


# Section 7: the order of one domain's sequences of one length
class _Order:
    def __init__(self, lock: dict[str, Any], domain: dict[str, Any], L: int) -> None:
        self.seed, self.name, self.L = lock["seed"], domain["name"], L
        U, T, M = int(lock["block_tokens"]), int(domain["tokens"]), int(lock["window_blocks"])
        H = int(domain.get("pool_tokens", T))
        self.Q, self.N = U // L, -(-H // U)
        self.D = self.Q - (H - (self.N - 1) * U) // L
        self.C = self.N * self.Q - self.D
        self.F = T // U if "pool_tokens" in domain else 0  # 0: block j is block j of the storage
        self.G = min(M, max(1, self.N // 32))

    def before(self, e: int, w: int) -> int:
        p, z = min(w * self.G, self.N), inverse(self.N, key(self.seed, "pass", self.name, e), self.N - 1)
        return p * self.Q - (self.D if z < p else 0)

    def window(self, e: int, r: int) -> int:
        w = r // (self.G * self.Q)  # or one more: up to D draws are missing before r, and D <= Q
        return w + 1 if self.before(e, w + 1) <= r else w

    def after(self, k: int, new: _Order) -> int:  # section 6: the window after draw k - 1, in the order new
        e, w = (k - 1) // self.C, self.window((k - 1) // self.C, (k - 1) % self.C)
        return e * new.C + new.before(e, w + 1)  # after the last window of e: C more, where e + 1 begins

    def sequence(self, k: int) -> int:
        e, r = divmod(k, self.C)
        w, A = self.window(e, r), key(self.seed, "pass", self.name, e)
        y, n = r - self.before(e, w), self.before(e, w + 1) - self.before(e, w)
        if self.Q > 1:
            y = perm(n, key(self.seed, "window", self.name, self.L, e, w), y)
        c = inverse(self.N, A, self.N - 1) - w * self.G
        if 0 <= c < self.G and y >= (c + 1) * self.Q - self.D:  # Z = Q - D
            y += self.D
        block = perm(self.N, A, w * self.G + y // self.Q)
        if self.F > 0:
            block = perm(self.F, key(self.seed, "pool", self.name), block)
        return block * self.Q + y % self.Q


class Schedule:
    def __init__(self, lock: dict[str, Any]) -> None:  # section 1: fields
        if type(lock.get("format")) is not int or lock["format"] != 1:
            raise ValueError(f"format {lock.get('format')!r} is not 1")
        if lock.get("features") != []:
            raise ValueError(f"cannot read a lock with these features: {lock.get('features', 'no field')}")
        self.lock, self.domains = lock, {domain["name"]: domain for domain in lock["domains"]}
        self.batches = [(0, 0, int(lock["batches"][0]["sequences"]))]  # position, first step, B
        for step, B in ((batch["first_step"], batch["sequences"]) for batch in lock["batches"][1:]):
            self.batches.append((self._position(step), step, B))
        # Section 6: which draw. last and draw: by domain, its last length (0: none) and its next draw
        self.segments: list[tuple[tuple[tuple[int, ...], int], int, list[int], list[int]]] = []
        last, draw, E = [0 for _ in self.domains], [0 for _ in self.domains], 0
        for segment in lock["segments"]:
            step, L, skip = segment["first_step"], segment["sequence_length"], segment.get("skip", 0)
            if skip == 0:
                tree, E = (tuple(segment["weights"]), key(lock["seed"], "split", step)), 0
            O, self.steps = E + skip, step + segment["steps"]  # noqa: E741
            E = O + self._position(self.steps) - self._position(step)
            before, low, high = (counts(*tree, x) for x in (O - skip, O, E))
            shift, left_out = [0] * len(low), [0] * len(low)  # by domain: start - counts(O); tokens
            for d, domain in enumerate(lock["domains"]):
                start, left, read = draw[d], low[d] - before[d], high[d] - low[d]
                lost = L * left
                if last[d] not in (0, L) and tree[0][d] > 0:
                    old, new = _Order(lock, domain, last[d]), _Order(lock, domain, L)
                    start, lost = old.after(start, new), lost + last[d] * (old.after(start, old) - start)
                shift[d] = start + left - low[d]
                if read + left > 0:
                    left_out[d], last[d], draw[d] = lost, L, start + left + read
            self.segments.append((tree, O, shift, left_out))

    def _position(self, step: int) -> int:  # section 3: of slot 0 of the step
        position, first, B = self.batches[bisect_right(self.batches, step, key=lambda batch: batch[1]) - 1]
        return position + (step - first) * B

    def step_and_slot(self, position: int) -> tuple[int, int]:  # section 3
        if not 0 <= position < self._position(self.steps):
            raise IndexError(f"position {position} is outside the run")
        start, first, B = self.batches[bisect_right(self.batches, position, key=lambda batch: batch[0]) - 1]
        return first + (position - start) // B, (position - start) % B

    def _step(self, step: int) -> tuple[int, int, int]:  # section 5: its segment, first item and B
        if not 0 <= step < self.steps:
            raise IndexError(f"step {step} is outside the run")
        i = bisect_right(self.lock["segments"], step, key=lambda segment: segment["first_step"]) - 1
        position, begin = self._position(step), self._position(self.lock["segments"][i]["first_step"])
        return i, self.segments[i][1] + position - begin, self._position(step + 1) - position

    def first_item(self, step: int) -> int:
        return self._step(step)[1]

    def place(self, step: int, slot: int) -> int:
        B = self._step(step)[2]
        return (key(self.lock["seed"], "deal", step) % B + slot * stride(B)) % B

    def _draws(self, step: int) -> list[range]:  # section 5: by domain
        i, x, B = self._step(step)
        tree, _, shift, _ = self.segments[i]
        both = zip(shift, counts(*tree, x), counts(*tree, x + B), strict=True)
        return [range(more + low, more + high) for more, low, high in both]

    def layout(self, step: int) -> list[tuple[int, int]]:
        return [(d, draw) for d, draws in enumerate(self._draws(step)) for draw in draws]

    def next_draw(self, name: str, k: int, l: int, L: int) -> int:  # noqa: E741
        old, new = (_Order(self.lock, self.domains[name], length) for length in (l, L))
        return k if l == L else old.after(k, new)

    def left_out(self, i: int) -> list[int]:
        return self.segments[i][3]

    def sequence(self, name: str, L: int, k: int) -> int:
        return _Order(self.lock, self.domains[name], L).sequence(k)

    def at(self, position: int) -> dict[str, str | int]:  # section 8
        step, slot = self.step_and_slot(position)
        d, place, draws = 0, self.place(step, slot), self._draws(step)
        while place >= len(draws[d]):
            d, place = d + 1, place - len(draws[d])
        L, draw = self.lock["segments"][self._step(step)[0]]["sequence_length"], draws[d][place]
        order = _Order(self.lock, self.lock["domains"][d], L)
        row = {"domain": order.name, "draw": draw, "epoch": draw // order.C, "sequence": order.sequence(draw)}
        return {"step": step, "slot": slot, **row, "first_token": row["sequence"] * L, "tokens": L}


# Section 9: beside the order
def sha256_of(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def history(lock: dict[str, Any], step: int) -> str:
    begun = [segment for segment in lock["segments"] if segment["first_step"] < step]
    kept = [d for d in range(len(lock["domains"])) if any(segment["weights"][d] > 0 for segment in begun)]
    batches = [batch for batch in lock["batches"] if batch["first_step"] < step]
    value = {name: lock[name] for name in ("seed", "block_tokens", "window_blocks")}
    value |= {"format": 1, "step": step, "segments": [], "domains": []}
    value["batches"] = [{name: batch[name] for name in ("first_step", "sequences")} for batch in batches]
    for segment in begun:
        cut = {name: segment.get(name, 0) for name in ("first_step", "sequence_length", "skip")}
        cut["steps"] = min(segment["steps"], step - segment["first_step"])
        value["segments"].append(cut | {"weights": [segment["weights"][d] for d in kept]})
    for domain in (lock["domains"][d] for d in kept):
        value["domains"].append({n: domain[n] for n in ("name", "tokens", "pool_tokens") if n in domain})
    return sha256_of(value)


def weights(*shares: str) -> list[int]:
    exact = [Fraction(share) * 10**15 for share in shares]
    whole = [int(x) for x in exact]
    largest = sorted(range(len(exact)), key=lambda d: whole[d] - exact[d])  # stable: the earlier one first
    return [whole[d] + (d in largest[: 10**15 - sum(whole)]) for d in range(len(whole))]
