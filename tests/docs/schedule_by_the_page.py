"""Schedule format 1, written by a reader from docs/schedule-format.md alone: plain Python, nothing of the library.

Section numbers and letters are the page's.
"""
# ruff: noqa: N803, N806

from __future__ import annotations

import hashlib
import heapq
import json
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt
from typing import NamedTuple


def key(*parts: object) -> int:  # 2
    text = "\x1f".join(["mixture-schedule/1", *map(str, parts)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mix64(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def out(k: int, i: int) -> int:
    return mix64((k + (i + 1) * 0x9E3779B97F4A7C15) % 2**64)


@lru_cache(64)
def by_out(n: int, k: int) -> list[int]:
    return sorted(range(n), key=lambda j: (out(k, j) >> 16, j))


def perm(n: int, k: int, i: int, sign: int = 1) -> int:
    if n <= 16384:
        return by_out(n, k)[i] if sign > 0 else by_out(n, k).index(i)
    a = isqrt(n - 1) + 1
    b = -(-n // a)
    while True:
        high, low = divmod(i, a)
        for r in range(6)[::sign]:
            f = mix64((low if r % 2 else high) ^ out(k, r)) >> 32
            if r % 2:
                high = (high + sign * (f * b >> 32)) % b
            else:
                low = (low + sign * (f * a >> 32)) % a
        i = high * a + low
        if i < n:
            return i


def inverse(n: int, k: int, j: int) -> int:
    return perm(n, k, j, -1)


@lru_cache(64)
def tree(weights: tuple[int, ...]) -> tuple:  # 4: (weight, number, (left, right)), a leaf's children ()
    heap, number = [(w, d, ()) for d, w in enumerate(weights) if w], len(weights)
    heapq.heapify(heap)
    while len(heap) > 1:
        right, left = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (left[0] + right[0], number, (left, right)))
        number += 1
    return heap[0]


def counts(weights: tuple[int, ...], x: int) -> list[int]:
    result, todo = [0] * len(weights), [(tree(weights), x)]
    for (whole, number, children), m in todo:  # the list grows meanwhile
        if children:
            left, right = children
            part = (2 * m * left[0] + whole) // (2 * whole)
            todo += [(left, part), (right, m - part)]
        else:
            result[number] = m
    return result


def between(weights: tuple[int, ...], x: int, y: int) -> list[int]:
    return [b - a for a, b in zip(counts(weights, x), counts(weights, y), strict=True)]


def stride(B: int) -> int:  # 5
    q = (isqrt(5 * B * B) - B) // 2
    return next(h for i in range(B + 1) for h in (q + i, q - i) if 1 <= h <= B and gcd(h, B) == 1)


class Stretch(NamedTuple):  # 5
    seed: int
    first: int
    steps: int
    L: int
    weights: tuple[int, ...]
    o: int
    B: int
    G: int
    base: list[int]

    def layouts(self, g: int, steps: int) -> tuple[list[list[tuple[int, int]]], list[int]]:
        """(domain, draw) by place of each of the first steps of group g; every domain's next draw behind them."""
        n, k = self.G * self.B, key(self.seed, "mix", self.first + g * self.G)
        x = self.o + g * n
        labels = [d for d, m in enumerate(between(self.weights, x, x + n)) for _ in range(m)]
        if self.G > 1:
            labels = [labels[perm(n, k, y)] for y in range(steps * self.B)]
        draw = [a + b for a, b in zip(self.base, between(self.weights, self.o, x), strict=True)]

        def take(d: int) -> tuple[int, int]:
            draw[d] += 1
            return d, draw[d] - 1

        return [[take(d) for d in sorted(labels[j * self.B : (j + 1) * self.B])] for j in range(steps)], draw

    def layout(self, step: int) -> list[tuple[int, int]]:
        g, j = divmod(step - self.first, self.G)
        return self.layouts(g, j + 1)[0][j]

    def place(self, step: int, slot: int) -> int:
        return (key(self.seed, "deal", step) % self.B + slot * stride(self.B)) % self.B


class Epoch:  # 7
    def __init__(self, lock: dict, d: int, L: int, e: int) -> None:
        U, T = lock["block_tokens"], lock["domains"][d]["tokens"]
        self.P, self.F, H = lock["domains"][d].get("pool_tokens"), T // U, lock["domains"][d].get("pool_tokens", T)
        self.seed, self.name, self.L, self.e = lock["seed"], lock["domains"][d]["name"], L, e
        self.N, self.Q, self.kp = -(-H // U), U // L, key(self.seed, "pass", self.name, e)
        self.Z = (H - (self.N - 1) * U) // L
        self.D, self.W = self.Q - self.Z, min(lock["window_blocks"], max(1, self.N // 32))
        self.C, self.z = self.N * self.Q - self.D, inverse(self.N, self.kp, self.N - 1)

    def before(self, w: int) -> int:
        p = min(w * self.W, self.N)
        return p * self.Q - (self.D if self.z < p else 0)

    def window(self, r: int) -> int:
        w = r // (self.W * self.Q)  # none before it holds r, as before(w) is at most w·W·Q
        while self.before(w + 1) <= r:
            w += 1
        return w

    def sequence(self, r: int) -> int:
        w = self.window(r)
        y, n, c = r - self.before(w), self.before(w + 1) - self.before(w), self.z - w * self.W
        if self.Q > 1:
            y = perm(n, key(self.seed, "window", self.name, self.L, self.e, w), y)
        if 0 <= c < self.W and y >= c * self.Q + self.Z:
            y += self.D
        j = perm(self.N, self.kp, w * self.W + y // self.Q)
        if self.P and self.F:
            j = perm(self.F, key(self.seed, "pool", self.name), j)
        return j * self.Q + y % self.Q


def next_draw(lock: dict, d: int, k: int, last: int, L: int) -> int:  # 6
    e, r = divmod(k, Epoch(lock, d, last, 0).C)
    old = Epoch(lock, d, last, e)
    w = old.window(r - 1) + 1 if r else 0
    if w * old.W >= old.N:
        e, w = e + 1, 0
    new = Epoch(lock, d, L, e)
    return e * new.C + new.before(w)


class Schedule:
    def __init__(self, lock: dict) -> None:  # 6
        self.lock, self.stretches, o = lock, [], 0
        seed, batches, num = lock["seed"], lock["batches"], len(lock["domains"])
        draw, last = [0] * num, [None] * num
        for s in lock["segments"]:
            first, L, weights, skip = s["first_step"], s["sequence_length"], tuple(s["weights"]), s.get("skip", 0)
            end, o = first + s["steps"], o + skip if skip else key(seed, "origin", first) >> 24
            for d, m in enumerate(between(weights, o - skip, o) if skip else weights):
                if skip:
                    draw[d] += m
                elif m and last[d] not in (None, L):
                    draw[d] = next_draw(lock, d, draw[d], last[d], L)
                last[d] = L if m else last[d]
            for batch, stop in zip(batches, [b["first_step"] for b in batches[1:]] + [end], strict=True):
                a, z, B, G = max(first, batch["first_step"]), min(end, stop), batch["sequences"], batch["mix_steps"]
                if a < z:
                    stretch = Stretch(seed, a, z - a, L, weights, o, B, G, draw)
                    self.stretches.append(stretch)
                    draw = stretch.layouts(*divmod(z - a, G))[1]
                    last = [L if x > y else was for x, y, was in zip(draw, stretch.base, last, strict=True)]
                    o += (z - a) * B

    def locate(self, position: int) -> tuple[Stretch, int, int]:  # 3: stretch, step and slot
        rest = position
        for stretch in self.stretches:
            if 0 <= rest < stretch.steps * stretch.B:
                return stretch, stretch.first + rest // stretch.B, rest % stretch.B
            rest -= stretch.steps * stretch.B
        raise IndexError(position)

    def at(self, position: int) -> dict:  # 8
        stretch, step, slot = self.locate(position)
        d, draw = stretch.layout(step)[stretch.place(step, slot)]
        e, sequence = self.sequence(d, stretch.L, draw)
        said = {"step": step, "slot": slot, "domain": self.lock["domains"][d]["name"], "draw": draw, "epoch": e}
        return said | {"sequence": sequence, "first_token": sequence * stretch.L, "tokens": stretch.L}

    def sequence(self, d: int, L: int, k: int) -> tuple[int, int]:  # 7: epoch and sequence of draw k
        e, r = divmod(k, Epoch(self.lock, d, L, 0).C)
        return e, Epoch(self.lock, d, L, e).sequence(r)


def history(lock: dict, step: int) -> str:  # 9
    segments = [s for s in lock["segments"] if s["first_step"] < step]
    kept = [d for d in range(len(lock["domains"])) if any(s["weights"][d] for s in segments)]
    said = {"format": 1, "step": step} | {name: lock[name] for name in ("seed", "block_tokens", "window_blocks")}
    said["segments"] = [
        {"first_step": s["first_step"], "sequence_length": s["sequence_length"], "skip": s.get("skip", 0)}
        | {"steps": min(s["steps"], step - s["first_step"]), "weights": [s["weights"][d] for d in kept]}
        for s in segments
    ]
    said["batches"] = [batch for batch in lock["batches"] if batch["first_step"] < step]
    names = ("name", "tokens", "pool_tokens")
    said["domains"] = [{n: lock["domains"][d][n] for n in names if n in lock["domains"][d]} for d in kept]
    return sha256_of(said)


def sha256_of(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def weights(*shares: str) -> list[int]:
    exact = [Fraction(share) * 10**15 for share in shares]
    found = [int(x) for x in exact]
    for d in sorted(range(len(exact)), key=lambda d: (found[d] - exact[d], d))[: 10**15 - sum(found)]:
        found[d] += 1
    return found
