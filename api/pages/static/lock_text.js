// A lock file as text: the JSON in it, its digest and its histories, and whether its fields make a schedule.
"use strict";
const MixtureLock = (() => {
  const WHOLE = 10 ** 15; // what the weights of a segment sum to

  const TOKENS = [
    /([{}[\],:])/,
    /("(?:[^"\\\u0000-\u001f]|\\.)*")/,
    /(-?(?:0|[1-9][0-9]*))(?![0-9.eE])/, // whole numbers only
    /(true|false|null)/,
  ];
  const TOKEN = new RegExp(`[ \\t\\n\\r]*(?:${TOKENS.map((one) => one.source).join("|")})`, "y");

  /** A JSON text's value. Integers that a Number does not hold become BigInts. Throws at fractions: no lock has one. */
  function parseJson(text) {
    let at = 0;
    function next() {
      TOKEN.lastIndex = at;
      const found = TOKEN.exec(text);
      if (!found) throw new Error(`no JSON that a lock could hold, at character ${at}`);
      at = TOKEN.lastIndex;
      return found;
    }
    function list(end, element) {
      const start = at;
      if (next()[1] === end) return;
      at = start;
      for (let mark = ","; mark !== end; ) {
        element();
        mark = next()[1];
        if (mark !== "," && mark !== end) throw new Error(`"," or "${end}" is missing at character ${at}`);
      }
    }
    function value() {
      const [, mark, string, integer, word] = next();
      if (string !== undefined) return JSON.parse(string);
      if (integer !== undefined) return Number.isSafeInteger(Number(integer)) ? Number(integer) : BigInt(integer);
      if (word !== undefined) return JSON.parse(word);
      if (mark === "[") {
        const out = [];
        list("]", () => out.push(value()));
        return out;
      }
      if (mark !== "{") throw new Error(`"${mark}" stands where a value should, before character ${at}`);
      const out = Object.create(null);
      list("}", () => {
        const key = value();
        const fresh = typeof key === "string" && !(key in out);
        if (!fresh || next()[1] !== ":") throw new Error(`a wrong key before character ${at}`);
        out[key] = value();
      });
      return out;
    }
    const out = value();
    if (text.slice(at).trim()) throw new Error(`there is more than one value, from character ${at} on`);
    return out;
  }

  /** By code points, as UTF-8 sorts; JavaScript sorts by halves of UTF-16. */
  function byCodePoint(a, b) {
    const left = Array.from(a, (c) => c.codePointAt(0));
    const right = Array.from(b, (c) => c.codePointAt(0));
    for (let i = 0; i < left.length && i < right.length; i++) if (left[i] !== right[i]) return left[i] - right[i];
    return left.length - right.length;
  }

  /** A value's canonical JSON: sorted keys, no spaces, no escapes but needed ones. */
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (typeof value === "bigint") return value.toString();
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const keys = Object.keys(value).sort(byCodePoint);
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }

  const fractionBits = (root, power) => {
    // The first 32 bits of the fraction of a prime's square or cube root, by exact integers.
    const wanted = BigInt(root) << BigInt(32 * power);
    let low = 0n;
    for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) if ((low + bit) ** BigInt(power) <= wanted) low += bit;
    return Number(low & 0xffffffffn);
  };
  const PRIMES = [];
  for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
  const SHA_START = PRIMES.slice(0, 8).map((p) => fractionBits(p, 2));
  const SHA_ROUND = PRIMES.map((p) => fractionBits(p, 3));

  /** SHA-256 of a text's UTF-8 (FIPS 180-4), in lower-case hex. The browser's own does not work on file://. */
  function sha256(text) {
    const bytes = new TextEncoder().encode(text);
    const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
    view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
    const turned = (x, n) => (x >>> n) | (x << (32 - n));
    const state = Uint32Array.from(SHA_START);
    const w = new Uint32Array(64);
    for (let block = 0; block < padded.length; block += 64) {
      for (let i = 0; i < 16; i++) w[i] = view.getUint32(block + 4 * i);
      for (let i = 16; i < 64; i++) {
        const s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
        const s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i++) {
        const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
        const t1 = (h + s1 + ((e & f) ^ (~e & g)) + SHA_ROUND[i] + w[i]) | 0;
        const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
        const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
      }
      [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
    }
    return Array.from(state, (x) => x.toString(16).padStart(8, "0")).join("");
  }

  /** The fields of a lock file's text. Throws where it is no JSON object of format 1, or needs features, by name. */
  function parseLock(text) {
    const lock = parseJson(text);
    if (lock === null || typeof lock !== "object" || lock.format !== 1) throw new Error("this is no lock of format 1");
    if (lock.features === undefined) {
      throw new Error("this lock was made before the first release, when a run had another order");
    }
    if (!Array.isArray(lock.features)) throw new Error("the lock's features are not a list of names");
    if (lock.features.length) {
      throw new Error(`this lock needs features that this page cannot read: ${lock.features.join(", ")}`);
    }
    return lock;
  }

  /** The SHA-256 that a lock must hold as `digest`: of all its other fields, in their canonical form. */
  function digestOf(lock) {
    return sha256(canonical(Object.fromEntries(Object.entries(lock).filter(([name]) => name !== "digest"))));
  }

  /** The digest of all that decides what is read before a step: the same in every lock that agrees so far. */
  function historyOf(lock, step) {
    const pick = (from, names) => {
      const held = names.filter((name) => from[name] !== undefined);
      return Object.fromEntries(held.map((name) => [name, from[name]]));
    };
    const segments = lock.segments.filter((s) => s.first_step < step);
    const batches = lock.batches.filter((b) => b.first_step < step);
    const kept = lock.domains.map((_, d) => d).filter((d) => segments.some((s) => s.weights[d] > 0));
    return sha256(canonical({
      ...pick(lock, ["seed", "block_tokens", "window_blocks"]),
      format: 1,
      step,
      domains: kept.map((d) => pick(lock.domains[d], ["name", "tokens", "pool_tokens"])),
      segments: segments.map((s) => ({
        ...pick(s, ["first_step", "sequence_length"]),
        steps: Math.min(s.steps, step - s.first_step),
        skip: s.skip || 0,
        weights: kept.map((d) => s.weights[d]),
      })),
      batches: batches.map((b) => pick(b, ["first_step", "sequences"])),
    }));
  }

  /** Throw where the fields that fix the order make no schedule, in the one way that a lock writes it. */
  function checkFields(lock) {
    const need = (right, what) => {
      if (!right) throw new Error(`the lock makes no schedule: ${what}`);
    };
    const whole = (n, from) => (Number.isSafeInteger(n) || typeof n === "bigint") && n >= from;
    const exact = (n, from) => Number.isSafeInteger(n) && n >= from;
    const same = (a, b) => a.sequence_length === b.sequence_length && a.weights.every((w, d) => w === b.weights[d]);
    const { seed, block_tokens: block, window_blocks: window, domains, segments, batches } = lock;
    need(whole(seed, 0) && exact(block, 1) && whole(window, 1), "seed, block_tokens or window_blocks");
    for (const list of [domains, segments, batches]) need(Array.isArray(list) && list.length > 0, "a list is empty");
    need(new Set(domains.map((d) => d.name)).size === domains.length, "a domain stands there twice");
    for (const { name, tokens, pool_tokens: pool } of domains) {
      need(typeof name === "string" && whole(tokens, 0), `domain "${name}"`);
      const wholeBlocks = (BigInt(tokens) / BigInt(block)) * BigInt(block);
      const part = () => whole(pool, 1) && pool < tokens && pool <= (wholeBlocks || tokens);
      need(pool === undefined || part(), `the pool of "${name}"`);
    }
    segments.forEach((s, i) => {
      need(exact(s.first_step, 0) && exact(s.steps, 1) && exact(s.sequence_length, 1), `segment ${i}`);
      need(block % s.sequence_length === 0, `the length of segment ${i} does not divide block_tokens`);
      need(Array.isArray(s.weights) && s.weights.length === domains.length, `the weights of segment ${i}`);
      const sum = s.weights.reduce((total, w) => (exact(w, 0) ? total + w : NaN), 0);
      need(sum === WHOLE, `the weights of segment ${i} do not sum to 10^15`);
      const before = segments[i - 1];
      const first = before ? before.first_step + before.steps : 0;
      need(s.first_step === first, `segment ${i} begins at step ${s.first_step}, not ${first}`);
      need(s.skip === undefined || exact(s.skip, 1), `the skip of segment ${i}`);
      need((s.skip !== undefined) === (before !== undefined && same(before, s)), `segment ${i}, and the one before`);
    });
    const end = segments[segments.length - 1];
    batches.forEach((b, i) => {
      const first = i ? batches[i - 1].first_step + 1 : 0;
      need(exact(b.sequences, 1) && b.sequences <= 2 ** 24, `batch ${i}`);
      need(exact(b.first_step, first) && (i > 0 || b.first_step === 0), `batch ${i} begins at the wrong step`);
      need(b.first_step < end.first_step + end.steps, `batch ${i} begins after the end`);
      need(i === 0 || batches[i - 1].sequences !== b.sequences, `batch ${i} is as the one before`);
    });
  }

  return { parseLock, digestOf, historyOf, checkFields, canonical, sha256 };
})();
if (typeof module !== "undefined") module.exports = MixtureLock;
