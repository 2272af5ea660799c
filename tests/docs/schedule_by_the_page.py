"""Schedule format 1, written from docs/schedule-format.md alone: plain Python, and nothing of the library.

Section numbers are the page's.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from fractions import Fraction
from functools import cache, lru_cache
from math import gcd, isqrt

WORD = 2**64 - 1


def key(*parts: object) -> int:  # 2
    text = "\x1f".join(["mixture-schedule/1", *map(str, parts)])
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")


def mix64(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


def out(k: int, i: int) -> int:
    return mix64(k + (i + 1) * 0x9E3779B97F4A7C15 & WORD)


@lru_cache(64)
def _sorted(n: int, k: int) -> list[int]:
    return sorted(range(n), key=lambda j: (out(k, j) >> 16, j))


@lru_cache(64)
def _places(n: int, k: int) -> list[int]:
    places = [0] * n
    for i, j in enumerate(_sorted(n, k)):
        places[j] = i
    return places


def _rounds(n: int, k: int, i: int, sign: int) -> int:
    a = isqrt(n - 1) + 1
    b = -(-n // a)
    while True:
        high, low = divmod(i, a)
        for r in range(6)[::sign]:
            if r % 2 == 0:
                low = (low + sign * ((mix64(high ^ out(k, r)) >> 32) * a >> 32)) % a
            else:
                high = (high + sign * ((mix64(low ^ out(k, r)) >> 32) * b >> 32)) % b
        i = high * a + low
        if i < n:
            return i


def perm(n: int, k: int, i: int) -> int:
    return _sorted(n, k)[i] if n <= 16_384 else _rounds(n, k, i, 1)


def inverse(n: int, k: int, j: int) -> int:
    return _places(n, k)[j] if n <= 16_384 else _rounds(n, k, j, -1)


class Tree:  # 4
    def __init__(self, weights: list[int]) -> None:
        heap = [(weight, d) for d, weight in enumerate(weights) if weight]
        heapq.heapify(heap)
        self.size, self.nodes, number = len(weights), {}, len(weights)
        while len(heap) > 1:
            (right_weight, right), (left_weight, left) = heapq.heappop(heap), heapq.heappop(heap)
            self.nodes[number] = left, right, left_weight, left_weight + right_weight
            heapq.heappush(heap, (left_weight + right_weight, number))
            number += 1
        self.root = heap[0][1]

    def counts(self, x: int) -> list[int]:
        found, todo = [0] * self.size, [(self.root, x)]
        while todo:
            node, m = todo.pop()
            if node < self.size:
                found[node] = m
                continue
            left, right, left_weight, whole = self.nodes[node]
            to_left = (2 * m * left_weight + whole) // (2 * whole)
            todo += [(left, to_left), (right, m - to_left)]
        return found


def stride(batch: int) -> int:  # 5
    q, away = (isqrt(5 * batch * batch) - batch) // 2, 0
    while True:
        for h in (q + away, q - away):
            if 1 <= h <= batch and gcd(h, batch) == 1:
                return h
        away += 1


class Order:  # 7
    def __init__(self, fields: dict, domain: dict, length: int) -> None:
        self.seed, self.name, self.length, unit = fields["seed"], domain["name"], length, fields["block_tokens"]
        held, self.full = domain.get("pool_tokens", domain["tokens"]), domain["tokens"] // unit
        self.pooled = "pool_tokens" in domain and self.full > 0
        self.per_block, self.blocks = unit // length, -(-held // unit)
        self.in_last = (held - (self.blocks - 1) * unit) // length
        self.lacks = self.per_block - self.in_last
        self.per_epoch = self.blocks * self.per_block - self.lacks
        self.window = min(fields["window_blocks"], max(1, self.blocks // 32))

    def last_place(self, epoch: int) -> int:
        return inverse(self.blocks, key(self.seed, "pass", self.name, epoch), self.blocks - 1)

    def before(self, epoch: int, w: int) -> int:
        p = min(w * self.window, self.blocks)
        return p * self.per_block - (self.lacks if self.last_place(epoch) < p else 0)

    def window_with(self, epoch: int, r: int) -> int:
        w = r // (self.window * self.per_block)  # windows before it can not hold more draws than this
        while self.before(epoch, w + 1) <= r:
            w += 1
        return w

    def sequence(self, k: int) -> int:
        epoch, r = divmod(k, self.per_epoch)
        w = self.window_with(epoch, r)
        y, n = r - self.before(epoch, w), self.before(epoch, w + 1) - self.before(epoch, w)
        if self.per_block > 1:
            y = perm(n, key(self.seed, "window", self.name, self.length, epoch, w), y)
        c = self.last_place(epoch) - w * self.window
        if 0 <= c < self.window and y >= c * self.per_block + self.in_last:
            y += self.lacks
        place, inside = divmod(y, self.per_block)
        block = perm(self.blocks, key(self.seed, "pass", self.name, epoch), w * self.window + place)
        if self.pooled:
            block = perm(self.full, key(self.seed, "pool", self.name), block)
        return block * self.per_block + inside

    def untouched(self, k: int) -> tuple[int, int]:  # 6
        """Epoch and window of the first window that draws before k have not touched."""
        epoch, r = divmod(k, self.per_epoch)
        w = self.window_with(epoch, r - 1) + 1 if r else 0
        return (epoch, w) if w * self.window < self.blocks else (epoch + 1, 0)


class Schedule:
    def __init__(self, fields: dict) -> None:
        self.fields, self.domains, self.stretches = fields, fields["domains"], []
        self.order = cache(lambda d, length: Order(fields, self.domains[d], length))
        num, following = len(self.domains), 0
        lengths, draws, tree = [0] * num, [0] * num, None
        for segment in fields["segments"]:  # 5, 6
            length, skip = segment["sequence_length"], segment.get("skip", 0)
            if skip:
                begin, following = following, following + skip
                for d, (a, b) in enumerate(zip(tree.counts(begin), tree.counts(following), strict=True)):
                    draws[d] += b - a
                    lengths[d] = length if b > a else lengths[d]
            else:
                tree = Tree(segment["weights"])
                following = key(fields["seed"], "origin", segment["first_step"]) >> 24
                for d, weight in enumerate(segment["weights"]):
                    if weight and lengths[d] not in (0, length):
                        epoch, w = self.order(d, lengths[d]).untouched(draws[d])
                        order = self.order(d, length)
                        draws[d], lengths[d] = epoch * order.per_epoch + order.before(epoch, w), length
            for first, end, batch in self._parts(segment):
                stretch = {"first": first, "steps": end - first, "length": length, "tree": tree, "origin": following,
                           "B": batch["sequences"], "G": batch["mix_steps"], "base": tuple(draws)}  # fmt: skip
                self.stretches.append(stretch)
                for d, read in enumerate(self._read(stretch)):
                    draws[d] += read
                    lengths[d] = length if read else lengths[d]
                following += (end - first) * batch["sequences"]

    def _parts(self, segment: dict) -> list[tuple[int, int, dict]]:
        begin, end = segment["first_step"], segment["first_step"] + segment["steps"]
        starts = [batch["first_step"] for batch in self.fields["batches"]] + [end]
        held = zip(starts, starts[1:], self.fields["batches"], strict=False)
        return [(max(a, begin), min(b, end), batch) for a, b, batch in held if max(a, begin) < min(b, end)]

    def _read(self, stretch: dict) -> list[int]:
        """What a stretch reads of each domain in all its steps."""
        group, rest = divmod(stretch["steps"], stretch["G"])
        ends = (stretch["origin"] + g * stretch["G"] * stretch["B"] for g in (0, group))
        read = [b - a for a, b in zip(*map(stretch["tree"].counts, ends), strict=True)]
        for step in self._group(self.stretches.index(stretch), group)[:rest] if rest else ():
            for d, _ in step:
                read[d] += 1
        return read

    @lru_cache(8)  # noqa: B019
    def _group(self, number: int, g: int) -> list[list[tuple[int, int]]]:
        """The layout of each step of a group: (domain, draw) by place."""
        s = self.stretches[number]
        n = s["G"] * s["B"]
        start, low, high = (s["tree"].counts(s["origin"] + x) for x in (0, g * n, (g + 1) * n))
        labels = [d for d in range(len(low)) for _ in range(high[d] - low[d])]
        k = key(self.fields["seed"], "mix", s["first"] + g * s["G"])
        mixed = [labels[perm(n, k, y)] for y in range(n)] if s["G"] > 1 else labels
        following = [base + a - b for base, a, b in zip(s["base"], low, start, strict=True)]
        steps = []
        for j in range(s["G"]):
            step = []
            for d in sorted(mixed[j * s["B"] : (j + 1) * s["B"]]):
                step.append((d, following[d]))
                following[d] += 1
            steps.append(step)
        return steps

    def step_and_slot(self, position: int) -> tuple[int, int]:  # 3
        for s in self.stretches:
            if position < s["steps"] * s["B"]:
                return s["first"] + position // s["B"], position % s["B"]
            position -= s["steps"] * s["B"]
        raise IndexError(position)

    def layout(self, step: int) -> list[tuple[int, int]]:
        number = max(i for i, s in enumerate(self.stretches) if s["first"] <= step)
        g, j = divmod(step - self.stretches[number]["first"], self.stretches[number]["G"])
        return self._group(number, g)[j]

    def place(self, step: int, slot: int) -> int:
        batch = len(self.layout(step))
        return (key(self.fields["seed"], "deal", step) % batch + slot * stride(batch)) % batch

    def at(self, position: int) -> dict:  # 8
        step, slot = self.step_and_slot(position)
        d, draw = self.layout(step)[self.place(step, slot)]
        length = [s["length"] for s in self.stretches if s["first"] <= step][-1]
        order = self.order(d, length)
        sequence = order.sequence(draw)
        return {"position": position, "step": step, "slot": slot, "domain": self.domains[d]["name"], "draw": draw,
                "epoch": draw // order.per_epoch, "sequence": sequence, "first_token": sequence * length,
                "tokens": length}  # fmt: skip

    def history(self, step: int) -> str:  # 9
        segments = [segment for segment in self.fields["segments"] if segment["first_step"] < step]
        kept = [d for d in range(len(self.domains)) if any(segment["weights"][d] for segment in segments)]
        said = {name: self.fields[name] for name in ("seed", "block_tokens", "window_blocks")}
        said |= {"format": 1, "step": step}
        said["segments"] = [
            {"first_step": segment["first_step"], "steps": min(segment["steps"], step - segment["first_step"]),
             "sequence_length": segment["sequence_length"], "skip": segment.get("skip", 0),
             "weights": [segment["weights"][d] for d in kept]} for segment in segments]  # fmt: skip
        said["batches"] = [batch for batch in self.fields["batches"] if batch["first_step"] < step]
        names = ("name", "tokens", "pool_tokens")
        said["domains"] = [{n: self.domains[d][n] for n in names if n in self.domains[d]} for d in kept]
        return sha256_of(said)


def sha256_of(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def weights(*shares: str) -> list[int]:  # 9
    exact = [Fraction(share) * 10**15 for share in shares]
    found = [int(x) for x in exact]
    for d in sorted(range(len(exact)), key=lambda d: (found[d] - exact[d], d))[: 10**15 - sum(found)]:
        found[d] += 1
    return found
