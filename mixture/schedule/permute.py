"""Keys, and keyed permutations of 0..n-1 with their inverses: one index at a time, and whole arrays.

Up to 16,384 a permutation is the order of a hash; above, a Feistel network on a two-digit number. SplitMix64's
finaliser (Steele, Lea, Flood 2014) does the mixing. In arrays the order of a hash comes from one sort of plain
integers: the hash's upper 48 bits with the index below them are unique and sort as (hash, index).
"""

from __future__ import annotations

import hashlib
from math import isqrt

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SORTED_LIMIT = 1 << 14
ROUNDS = 6
PICKED_AT_ONCE = 1 << 14
"""Indices that go through the network together: few enough to stay near the processor."""
_MULTIPLIER_1 = 0xBF58476D1CE4E5B9
_MULTIPLIER_2 = 0x94D049BB133111EB
_INDEX_BITS = np.uint64(0xFFFF)
_STEPS = (np.arange(1, SORTED_LIMIT + 1, dtype=np.uint64) * np.uint64(GOLDEN)).astype(np.uint64)
_INDICES = np.arange(SORTED_LIMIT, dtype=np.uint64)


class Keys:
    """Keys that share their first parts: ``Keys(seed, "deal")(step)``. Each is 64 bits of a BLAKE2b digest."""

    __slots__ = ("_hash",)

    def __init__(self, *parts: object) -> None:
        text = "\x1f".join(["mixture-schedule/1", *map(str, parts)]) + "\x1f"
        self._hash = hashlib.blake2b(text.encode(), digest_size=8)

    def __call__(self, *rest: object) -> int:
        digest = self._hash.copy()
        digest.update("\x1f".join(map(str, rest)).encode())
        return int.from_bytes(digest.digest(), "little")

    def many(self, rests: list[str]) -> U64:
        """Keys of many last parts, already joined: uint64 [len(rests)]."""
        return _keys(_digests(self._hash, [rest.encode() for rest in rests]))

    def numbers(self, first: int, count: int) -> U64:
        """Keys of the numbers from `first` on, each the only last part: uint64 [count].

        The digits that a thousand numbers share are hashed once, and none of the others is formatted: a third faster.
        """
        digests: list[bytes] = []
        number, end = first, first + count
        while number < end:
            high, low = divmod(number, 1_000)
            stop = min(end, (high + 1) * 1_000)
            shared = self._hash.copy()
            shared.update(str(high).encode() if high else b"")
            last = LAST_DIGITS[low : low + stop - number] if high else [b"%d" % n for n in range(low, stop)]
            digests += _digests(shared, last)
            number = stop
        return _keys(digests)


LAST_DIGITS = [b"%03d" % number for number in range(1_000)]


def _digests(shared: hashlib.blake2b, rests: list[bytes]) -> list[bytes]:
    """The digest of what `shared` holds and each of these."""
    copy, digests = shared.copy, []
    for rest in rests:
        digest = copy()
        digest.update(rest)
        digests.append(digest.digest())
    return digests


def _keys(digests: list[bytes]) -> U64:
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)


def key64(*parts: object) -> int:
    """The key of these parts."""
    return Keys(*parts[:-1])(parts[-1])


def mix64(x: int) -> int:
    """SplitMix64's finaliser, modulo 2^64."""
    x &= MASK
    x ^= x >> 30
    x = x * _MULTIPLIER_1 & MASK
    x ^= x >> 27
    x = x * _MULTIPLIER_2 & MASK
    return x ^ (x >> 31)


def stream64(key: int, index: int) -> int:
    """Output number `index` (from 0) of SplitMix64 started at `key`."""
    return mix64(key + (index + 1) * GOLDEN)


def mix64_in_place(x: U64) -> U64:
    """The finaliser on every element of `x`, which is overwritten and returned."""
    scratch = np.right_shift(x, np.uint64(30))
    np.bitwise_xor(x, scratch, out=x)
    np.multiply(x, np.uint64(_MULTIPLIER_1), out=x)
    np.right_shift(x, np.uint64(27), out=scratch)
    np.bitwise_xor(x, scratch, out=x)
    np.multiply(x, np.uint64(_MULTIPLIER_2), out=x)
    np.right_shift(x, np.uint64(31), out=scratch)
    np.bitwise_xor(x, scratch, out=x)
    return x


def stream64s(keys: U64 | np.uint64, indices: I64) -> U64:
    """`stream64` of arrays that broadcast against each other."""
    counter = (indices + 1).view(np.uint64)
    np.multiply(counter, np.uint64(GOLDEN), out=counter)
    return mix64_in_place(counter + keys)


def sorted_tables(n: int, keys: U64) -> U64:
    """The permutations of n <= 16,384 under each of `keys`: uint64 [len(keys), n], row k holding perm_k(0..n-1)."""
    assert n <= SORTED_LIMIT
    table = mix64_in_place(keys[:, None] + _STEPS[:n])
    np.bitwise_and(table, ~_INDEX_BITS, out=table)
    np.bitwise_or(table, _INDICES[:n], out=table)
    table.sort(axis=1)
    np.bitwise_and(table, _INDEX_BITS, out=table)
    return table


class FeistelKeys:
    """Feistel permutations of many sizes and keys at once: row k permutes 0..sizes[k]-1 under keys[k].

    sizes: int64 [k] above 0; keys: uint64 [k].
    """

    def __init__(self, sizes: I64, keys: U64) -> None:
        roots = [isqrt(int(n) - 1) + 1 for n in sizes]
        self.sizes = sizes.astype(np.uint64)[:, None]
        self.a = np.array(roots, dtype=np.uint64)[:, None]
        self.b = (self.sizes + self.a - np.uint64(1)) // self.a
        self.keys = [mix64_in_place(keys + np.uint64((r + 1) * GOLDEN & MASK))[:, None] for r in range(ROUNDS)]

    def __call__(self, indices: I64) -> I64:
        """Permuted indices, int64 [k, m], of int64 [k, m] or [1, m]; an index must lie below its row's size."""
        i = np.broadcast_to(indices, np.broadcast_shapes(indices.shape, self.sizes.shape)).astype(np.uint64)
        out = self._once(i, self.a, self.b, self.keys).view(np.int64)
        rows, columns = np.nonzero(out >= self.sizes.view(np.int64))
        if rows.size:
            out[rows, columns] = self.pick(rows, out[rows, columns])
        return out

    def pick(self, rows: I64, indices: I64) -> I64:
        """Permuted indices, int64 [m], index i under the permutation of row rows[i]; both int64 [m].

        An index from row size to a * b - 1 is on its way: it goes on until it is below its row's size.
        """
        out = indices.astype(np.uint64)
        for start in range(0, out.size, PICKED_AT_ONCE):
            part, row = out[start : start + PICKED_AT_ONCE], rows[start : start + PICKED_AT_ONCE]
            again = np.arange(part.size)
            while again.size:
                part[again] = self._once(
                    part[again], self.a[row, 0], self.b[row, 0], [key[row, 0] for key in self.keys]
                )
                far = part[again] >= self.sizes[row, 0]
                again, row = again[far], row[far]
        return out.view(np.int64)

    @staticmethod
    def _once(i: U64, a: U64, b: U64, keys: list[U64]) -> U64:
        half = np.uint64(32)
        high = i // a
        low = i - high * a
        for r, key in enumerate(keys):
            if r % 2 == 0:
                low = low + (((mix64_in_place(high ^ key) >> half) * a) >> half)
                low = np.minimum(low, low - a)  # modulo a: both terms are below it, and what is too small wraps round
            else:
                high = high + (((mix64_in_place(low ^ key) >> half) * b) >> half)
                high = np.minimum(high, high - b)
        return high * a + low


class Permutation:
    """A keyed bijection of 0..n-1, one index at a time: ``p(i)`` and ``p.inverse(j)``."""

    __slots__ = ("_inverse", "_key", "_table", "a", "b", "keys", "n")

    def __init__(self, n: int, key: int) -> None:
        assert n > 0
        self.n, self._key = n, key
        self._table: npt.NDArray[np.uint16] | None = None
        self._inverse: npt.NDArray[np.uint16] | None = None
        if n <= SORTED_LIMIT:
            self._table = sorted_tables(n, np.array([key], np.uint64))[0].astype(np.uint16)
        else:
            self.a = isqrt(n - 1) + 1
            self.b = -(-n // self.a)
            self.keys = [stream64(key, r) for r in range(ROUNDS)]

    @property
    def nbytes(self) -> int:
        """Bytes its tables take, once both are made."""
        return 256 + (0 if self._table is None else 2 * self._table.nbytes)

    def __call__(self, i: int) -> int:
        assert 0 <= i < self.n
        if self._table is not None:
            return int(self._table[i])
        while True:
            high, low = divmod(i, self.a)
            for r, key in enumerate(self.keys):
                if r % 2 == 0:
                    low = (low + ((mix64(high ^ key) >> 32) * self.a >> 32)) % self.a
                else:
                    high = (high + ((mix64(low ^ key) >> 32) * self.b >> 32)) % self.b
            i = high * self.a + low
            if i < self.n:
                return i

    def many(self, indices: I64) -> I64:
        """Permuted indices, int64, of int64 indices of any shape."""
        if self._table is not None:
            return self._table[indices].astype(np.int64)
        keys = FeistelKeys(np.array([self.n], np.int64), np.array([self._key], np.uint64))
        return keys(indices.reshape(1, -1)).reshape(indices.shape)

    def inverse(self, j: int) -> int:
        assert 0 <= j < self.n
        if self._table is not None:
            if self._inverse is None:
                inverse = np.empty_like(self._table)
                inverse[self._table] = np.arange(self.n, dtype=np.uint16)
                self._inverse = inverse  # whole before another thread can see it
            return int(self._inverse[j])
        while True:
            high, low = divmod(j, self.a)
            for r in reversed(range(ROUNDS)):
                if r % 2 == 0:
                    low = (low - ((mix64(high ^ self.keys[r]) >> 32) * self.a >> 32)) % self.a
                else:
                    high = (high - ((mix64(low ^ self.keys[r]) >> 32) * self.b >> 32)) % self.b
            j = high * self.a + low
            if j < self.n:
                return j
