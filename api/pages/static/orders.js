// The order of a domain's sequences: keys, keyed permutations of 0 to n - 1, the blocks and windows that they permute.
// Tokens, draws and numbers of sequences may be above 2^53, and are BigInts.
"use strict";
const MixtureOrders = (() => {
  const SORTED_LIMIT = 1 << 14; // permutations up to here are sorted, larger ones are Feistel networks
  const ROUNDS = 6;
  const MIN_WINDOWS = 32n;
  const KEPT_ENTRIES = 1 << 23; // of permutations' tables, 2 bytes each
  const ceilDiv = (a, b) => (a + b - 1n) / b;
  const least = (a, b) => (a < b ? a : b);
  const isqrt = (n) => {
    let root = BigInt(Math.floor(Math.sqrt(Number(n))));
    while (root * root > n) root -= 1n;
    while ((root + 1n) * (root + 1n) <= n) root += 1n;
    return root;
  };

  const BLAKE_START = [
    0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
  ];
  const BLAKE_ORDER = [
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
  ].map((row) => Array.from(row, (digit) => parseInt(digit, 16)));
  const BLAKE_MIXED = [
    [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
    [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
  ];

  /** BLAKE2b (RFC 7693) of bytes, cut to 8 of them and read little-endian: a BigInt below 2^64. */
  function blake2b64(bytes) {
    const h = BigUint64Array.from(BLAKE_START);
    h[0] ^= 0x01010008n; // 8 bytes of digest, no key
    const v = new BigUint64Array(16); // what is put in is taken modulo 2^64
    const turned = (x, n) => (x >> n) | (x << (64n - n));
    const message = new Uint8Array(Math.max(1, Math.ceil(bytes.length / 128)) * 128);
    message.set(bytes);
    const view = new DataView(message.buffer);
    for (let block = 0; block < message.length; block += 128) {
      const last = block + 128 === message.length;
      const m = Array.from({ length: 16 }, (_, i) => view.getBigUint64(block + 8 * i, true));
      v.set(h);
      v.set(BLAKE_START, 8);
      v[12] ^= BigInt(last ? bytes.length : block + 128);
      if (last) v[14] = ~v[14];
      for (let round = 0; round < 12; round++) {
        const order = BLAKE_ORDER[round % 10];
        BLAKE_MIXED.forEach(([a, b, c, d], i) => {
          v[a] = v[a] + v[b] + m[order[2 * i]];
          v[d] = turned(v[d] ^ v[a], 32n);
          v[c] = v[c] + v[d];
          v[b] = turned(v[b] ^ v[c], 24n);
          v[a] = v[a] + v[b] + m[order[2 * i + 1]];
          v[d] = turned(v[d] ^ v[a], 16n);
          v[c] = v[c] + v[d];
          v[b] = turned(v[b] ^ v[c], 63n);
        });
      }
      for (let i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
    }
    return h[0];
  }

  // What mix64 leaves: the halves of its result.
  let high32 = 0;
  let low32 = 0;

  /** The product modulo 2^64, left in the halves, by parts of 16 bits. */
  function multiply(high, low, byHigh, byLow) {
    const a = low >>> 16, b = low & 0xffff, c = byLow >>> 16, d = byLow & 0xffff;
    const t = a * d + ((b * d) >>> 16);
    const u = b * c + (t & 0xffff);
    high32 = (a * c + (t >>> 16) + (u >>> 16) + Math.imul(low, byHigh) + Math.imul(high, byLow)) >>> 0;
    low32 = Math.imul(low, byLow) >>> 0;
  }

  /** SplitMix64's finaliser, on 32-bit halves: many times faster than on a BigInt. */
  function mix64(high, low) {
    multiply(high ^ (high >>> 30), low ^ ((low >>> 30) | (high << 2)), 0xbf58476d, 0x1ce4e5b9);
    multiply(high32 ^ (high32 >>> 27), low32 ^ ((low32 >>> 27) | (high32 << 5)), 0x94d049bb, 0x133111eb);
    low32 = (low32 ^ ((low32 >>> 31) | (high32 << 1))) >>> 0;
    high32 = (high32 ^ (high32 >>> 31)) >>> 0;
  }

  // Where the lower half of a 64-bit number lies among two 32-bit ones, on this machine.
  const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] ? 0 : 1;

  /** The first n outputs of SplitMix64 started at key: a Uint32Array of halves, over which a BigUint64Array can lie. */
  function outputs(key, n) {
    const words = new Uint32Array(2 * n);
    let high = Number(key >> 32n), low = Number(key & 0xffffffffn);
    for (let i = 0; i < n; i++) {
      low += 0x7f4a7c15;
      high = (high + 0x9e3779b9 + (low > 0xffffffff ? 1 : 0)) >>> 0;
      low >>>= 0;
      mix64(high, low);
      words[2 * i + LOW] = low32;
      words[2 * i + 1 - LOW] = high32;
    }
    return words;
  }

  /** Output number i of SplitMix64 started at key: BigInts in and out. */
  function output(key, i) {
    const state = BigInt.asUintN(64, key + (i + 1n) * 0x9e3779b97f4a7c15n);
    mix64(Number(state >> 32n), Number(state & 0xffffffffn));
    return (BigInt(high32) << 32n) | BigInt(low32);
  }

  /** A keyed bijection of 0 to n - 1; BigInts in and out. */
  class Permutation {
    constructor(n, key) {
      this.n = n;
      this.small = n <= SORTED_LIMIT;
      if (this.small) {
        // The hash's upper 48 bits with the index below them are unique, and sort as (hash, index).
        const words = outputs(key, Number(n));
        for (let i = 0; i < n; i++) words[2 * i + LOW] = (words[2 * i + LOW] & 0xffff0000) | i;
        new BigUint64Array(words.buffer).sort();
        this.table = Uint16Array.from({ length: Number(n) }, (_, i) => words[2 * i + LOW] & 0xffff);
      } else {
        this.a = isqrt(n - 1n) + 1n;
        this.sizes = [Number(this.a), Number(ceilDiv(n, this.a))];
        this.keys = outputs(key, ROUNDS);
      }
    }

    /** The top half of the mixed value, scaled to a number below size; value and size are below 2^32. */
    _round(value, r, size) {
      mix64(this.keys[2 * r + 1 - LOW], this.keys[2 * r + LOW] ^ value);
      return Math.floor(((high32 >>> 16) * size + Math.floor(((high32 & 0xffff) * size) / 65536)) / 65536);
    }

    at(i) {
      if (this.small) return BigInt(this.table[Number(i)]);
      const [a, b] = this.sizes;
      do {
        let high = Number(i / this.a), low = Number(i % this.a);
        for (let r = 0; r < ROUNDS; r += 2) {
          low = (low + this._round(high, r, a)) % a;
          high = (high + this._round(low, r + 1, b)) % b;
        }
        i = BigInt(high) * this.a + BigInt(low);
      } while (i >= this.n);
      return i;
    }

    inverse(j) {
      if (this.small) {
        if (!this.back) {
          this.back = new Uint16Array(this.table.length);
          this.table.forEach((to, from) => (this.back[to] = from));
        }
        return BigInt(this.back[Number(j)]);
      }
      const [a, b] = this.sizes;
      do {
        let high = Number(j / this.a), low = Number(j % this.a);
        for (let r = ROUNDS - 2; r >= 0; r -= 2) {
          high = (high + b - this._round(low, r + 1, b)) % b;
          low = (low + a - this._round(high, r, a)) % a;
        }
        j = BigInt(high) * this.a + BigInt(low);
      } while (j >= this.n);
      return j;
    }
  }

  /** The keys and permutations of a run. Tables are kept until they are too many, then made anew when asked for. */
  class Keys {
    constructor(seed) {
      this.seed = seed;
      this.kept = new Map();
      this.entries = 0;
    }

    key(...parts) {
      return blake2b64(new TextEncoder().encode(["mixture-schedule/1", this.seed, ...parts].join("\u001f")));
    }

    permutation(n, ...parts) {
      const name = parts.join("\u001f");
      let made = this.kept.get(name);
      if (!made) {
        made = new Permutation(n, this.key(...parts));
        if (this.entries > KEPT_ENTRIES) {
          this.kept.clear();
          this.entries = 0;
        }
        this.kept.set(name, made);
        this.entries += made.small ? 2 * made.table.length : 64;
      }
      return made;
    }
  }

  /** The endless order of one domain's sequences of one length. All BigInts. */
  class DomainOrder {
    constructor(lock, keys, domain, length) {
      this.keys = keys;
      this.name = domain.name;
      this.length = length;
      const block = BigInt(lock.block_tokens);
      this.perBlock = block / BigInt(length);
      this.full = BigInt(domain.tokens) / block;
      this.pooled = domain.pool_tokens !== undefined && this.full > 0n;
      const tokens = BigInt(domain.pool_tokens === undefined ? domain.tokens : domain.pool_tokens);
      this.blocks = ceilDiv(tokens, block);
      this.inLast = tokens ? (tokens - (this.blocks - 1n) * block) / BigInt(length) : 0n;
      this.deficit = tokens ? this.perBlock - this.inLast : 0n;
      this.perEpoch = this.blocks * this.perBlock - this.deficit;
      if (!this.perEpoch) throw new Error(`domain "${this.name}" has no whole sequence of ${length} tokens`);
      this.window = least(BigInt(lock.window_blocks), this.blocks < MIN_WINDOWS ? 1n : this.blocks / MIN_WINDOWS);
    }

    _pool() {
      return this.keys.permutation(this.full, "pool", this.name);
    }

    _pass(epoch) {
      return this.keys.permutation(this.blocks, "pass", this.name, epoch);
    }

    _within(epoch, window) {
      const size = this.before(epoch, window + 1n) - this.before(epoch, window);
      return this.keys.permutation(size, "window", this.name, this.length, epoch, window);
    }

    /** Where in the epoch the last block stands, which may be short. */
    _shortPlace(epoch) {
      return this._pass(epoch).inverse(this.blocks - 1n);
    }

    /** Draws of the epoch that come before a window. */
    before(epoch, window) {
      const blocks = least(window * this.window, this.blocks);
      return blocks * this.perBlock - (this.deficit && this._shortPlace(epoch) < blocks ? this.deficit : 0n);
    }

    /** The window that holds draw r of an epoch. */
    _windowOf(epoch, r) {
      let window = r / (this.window * this.perBlock);
      while (this.before(epoch, window + 1n) <= r) window += 1n;
      return window;
    }

    /** Draw k: the number of the sequence in storage. */
    sequence(k) {
      const epoch = k / this.perEpoch;
      const r = k % this.perEpoch;
      const window = this._windowOf(epoch, r);
      const firstPlace = window * this.window;
      let y = r - this.before(epoch, window);
      if (this.perBlock > 1n) y = this._within(epoch, window).at(y);
      if (this.deficit) {
        const short = this._shortPlace(epoch) - firstPlace;
        if (short >= 0n && short < this.window && y >= short * this.perBlock + this.inLast) y += this.deficit;
      }
      const block = this._pass(epoch).at(firstPlace + y / this.perBlock);
      return (this.pooled ? this._pool().at(block) : block) * this.perBlock + (y % this.perBlock);
    }

    /** The draw of an epoch that yields a sequence; null where the pool does not hold it. */
    draw(epoch, sequence) {
      let block = sequence / this.perBlock;
      const chunk = sequence % this.perBlock;
      if (this.pooled && block >= this.full) return null;
      if (this.pooled) block = this._pool().inverse(block);
      if (block >= this.blocks || (block === this.blocks - 1n && chunk >= this.inLast)) return null;
      const place = this._pass(epoch).inverse(block);
      const window = place / this.window;
      let y = (place % this.window) * this.perBlock + chunk;
      if (this.deficit) {
        const short = this._shortPlace(epoch);
        if (window * this.window <= short && short < place) y -= this.deficit;
      }
      if (this.perBlock > 1n) y = this._within(epoch, window).inverse(y);
      return epoch * this.perEpoch + this.before(epoch, window) + y;
    }

    /**
     * [epoch, window, draws skipped] of the window after the one that holds draw k - 1, k at least 1. A window without
     * a sequence of this length counts: of another length it may have some.
     */
    nextWindow(k) {
      const epoch = (k - 1n) / this.perEpoch;
      const r = (k - 1n) % this.perEpoch;
      const window = this._windowOf(epoch, r) + 1n;
      const skipped = this.before(epoch, window) - (r + 1n);
      return window * this.window >= this.blocks ? [epoch + 1n, 0n, skipped] : [epoch, window, skipped];
    }
  }

  return { Keys, DomainOrder, blake2b64, ceilDiv, isqrt, output };
})();
if (typeof module !== "undefined") module.exports = MixtureOrders;
