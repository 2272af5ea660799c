// What a run reads, worked out from its lock file alone: schedule format 1 in plain ES2020, no libraries, no server.
//
//   browser  <script src=…> of lock_text.js, orders.js, schedule.js, in this order: classic scripts, which file:// loads
//   Node     const MixtureSchedule = require("./schedule.js")
//
//   const lock = MixtureSchedule.parseLock(text);        // the text of a mixture.lock.json
//   MixtureSchedule.digestOf(lock) === lock.digest;      // SHA-256 of all its other fields
//   const schedule = new MixtureSchedule.Schedule(lock); // throws where the fields make no schedule
//   schedule.step(12);                                   // what step 12 reads of each domain
//   schedule.rows(0, 100);                               // what stands at positions 0 to 99
//   schedule.find("books", 1234567n);                    // the positions whose sequence holds a token
//
// Positions, steps, slots, epochs and counts of sequences are Numbers: format 1 keeps them below 2^53. Tokens, draws
// and numbers of sequences may be larger: they are BigInts, but for the tokens of one sequence.
"use strict";
const MixtureSchedule = (({ parseLock, digestOf, historyOf, checkFields }, orders) => {
  const { Keys, DomainOrder, ceilDiv, isqrt, output } = orders;

  /**
   * A Huffman tree over a segment's weights, whose keyed splits say of which domain each of any number of items is.
   *
   * Of a node of weight W, item j of the smaller child, of weight s, is one of the items ceil(jW/s) up to
   * ceil((j+1)W/s), drawn by key; all others, in order, are the larger child's. Products are BigInts: below 2^99.
   */
  class Tree {
    constructor(weights, key) {
      this.size = weights.length;
      this.weight = weights.map(BigInt);
      this.children = [];
      this.parent = [];
      this.keys = [];
      const byWeight = (a, b) => weights[a] - weights[b] || a - b;
      const leaves = weights.map((_, i) => i).filter((i) => weights[i] > 0).sort(byWeight);
      const inner = []; // made in order of weight, and after the leaves: two queues do what a heap would
      const smallest = () => {
        if (!inner.length) return leaves.shift();
        return leaves.length && this.weight[leaves[0]] <= this.weight[inner[0]] ? leaves.shift() : inner.shift();
      };
      let fresh = this.size;
      while (leaves.length + inner.length > 1) {
        const small = smallest();
        const large = smallest();
        this.children[fresh] = [small, large];
        this.parent[small] = this.parent[large] = fresh;
        this.weight[fresh] = this.weight[small] + this.weight[large];
        this.keys[fresh] = output(key, BigInt(fresh - this.size));
        inner.push(fresh++);
      }
      this.root = smallest();
    }

    /** Which of a node's items is item j of its smaller child. */
    _place(node, j) {
      const whole = this.weight[node];
      const small = this.weight[this.children[node][0]];
      const low = ceilDiv(j * whole, small);
      return low + (output(this.keys[node], j) % (ceilDiv((j + 1n) * whole, small) - low));
    }

    /** How many of the first x items each domain has. */
    counts(x) {
      const items = new Array(Math.max(this.size, this.root + 1)).fill(0);
      items[this.root] = x;
      for (let node = this.root; node >= this.size; node--) {
        const m = BigInt(items[node]);
        if (!m) continue;
        const [small, large] = this.children[node];
        const j = (m * this.weight[small]) / this.weight[node];
        items[small] = Number(j) + (this._place(node, j) < m ? 1 : 0);
        items[large] = items[node] - items[small];
      }
      return items.slice(0, this.size);
    }

    /** Where item k of a domain is: the least x with counts(x + 1)[domain] = k + 1. */
    item(domain, k) {
      let at = BigInt(k);
      for (let node = domain; node !== this.root; node = this.parent[node]) {
        const above = this.parent[node];
        const [small, large] = this.children[above];
        if (node === small) {
          at = this._place(above, at);
        } else {
          const j = (at * this.weight[small]) / this.weight[large];
          at += j;
          if (at >= this._place(above, j)) at += 1n;
        }
      }
      return Number(at);
    }
  }

  /** The number nearest to n/1.618 without a common divisor with n; the larger one where two are as near. */
  function goldenStride(n) {
    const common = (a, b) => (b ? common(b, a % b) : a);
    const near = Number((isqrt(5n * BigInt(n) * BigInt(n)) - BigInt(n)) / 2n);
    for (let away = 0; ; away++) {
      for (const g of [near + away, near - away]) if (g >= 1 && g <= n && common(g, n) === 1) return g;
    }
  }

  /** Steps of one segment and one batch, from item `origin` of its tree; base: each domain's first draw in them. */
  class Stretch {
    constructor(fields) {
      Object.assign(this, fields); // keys, tree, weights, origin, length, firstStep, steps, batch, base
      this.stride = goldenStride(this.batch);
      this.atOrigin = this.tree.counts(this.origin);
    }

    /** Sequences of each domain in the first j steps. */
    drawn(j) {
      return this.tree.counts(this.origin + j * this.batch).map((n, d) => n - this.atOrigin[d]);
    }

    rotation(j) {
      return Number(this.keys.key("deal", this.firstStep + j) % BigInt(this.batch));
    }

    /** [step of the stretch, slot] of draw k of a domain. */
    where(domain, k) {
      const r = Number(k - this.base[domain]);
      const j = Math.floor((this.tree.item(domain, r + this.atOrigin[domain]) - this.origin) / this.batch);
      const before = this.drawn(j);
      const place = this.drawn(j + 1).slice(0, domain).reduce((sum, n, d) => sum + n - before[d], r - before[domain]);
      const turned = (place - this.rotation(j) + this.batch) % this.batch;
      return [j, (turned * this._strideInverse()) % this.batch];
    }

    _strideInverse() {
      // Euclid: what the stride is multiplied by to give 1 modulo the batch.
      let [a, b, x, y] = [this.stride, this.batch, 1, 0];
      while (b) [a, b, x, y] = [b, a % b, y, x - Math.floor(a / b) * y];
      return ((x % this.batch) + this.batch) % this.batch;
    }
  }

  /** The last index whose number is at most n, in numbers that rise. */
  function lastUpTo(numbers, n) {
    let low = 0, high = numbers.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (numbers[middle] <= n) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  class Schedule {
    /** lock: what parseLock gives; only the fields that fix the order are read. */
    constructor(lock) {
      checkFields(lock);
      this.lock = lock;
      this.names = lock.domains.map((domain) => domain.name);
      const end = lock.segments[lock.segments.length - 1];
      /** Steps of the run. */
      this.steps = end.first_step + end.steps;
      this.keys = new Keys(lock.seed);
      this.orders = new Map();
      this.batchSteps = lock.batches.map((batch) => batch.first_step);
      this.batchPositions = [0];
      lock.batches.forEach((batch, i) => {
        const steps = (i + 1 < lock.batches.length ? this.batchSteps[i + 1] : this.steps) - batch.first_step;
        this.batchPositions.push(this.batchPositions[i] + steps * batch.sequences);
      });
      /** Sequences of the run. */
      this.sequences = this.batchPositions.pop();
      const withSkips = lock.segments.reduce((sum, s) => sum + (s.skip || 0), this.sequences);
      if (withSkips > 2 ** 49) throw new Error(`a run of ${withSkips} sequences is longer than format 1 allows`);
      this._layStretches();
    }

    /** Sequences before a step, 0 to `steps`: the position of its first slot. */
    before(step) {
      if (!Number.isSafeInteger(step) || step < 0 || step > this.steps) {
        throw new RangeError(`no step ${step} in a run of ${this.steps} steps`);
      }
      const b = lastUpTo(this.batchSteps, step);
      return this.batchPositions[b] + (step - this.batchSteps[b]) * this.lock.batches[b].sequences;
    }

    /** The step that a position is in. */
    stepOf(position) {
      if (!Number.isSafeInteger(position) || position < 0 || position >= this.sequences) {
        throw new RangeError(`no position ${position} in a run of ${this.sequences} sequences`);
      }
      const b = lastUpTo(this.batchPositions, position);
      return this.batchSteps[b] + Math.floor((position - this.batchPositions[b]) / this.lock.batches[b].sequences);
    }

    /** Sequences drawn from each domain by all steps before this one, in the order of `names`. */
    counts(step) {
      this.before(step);
      const s = lastUpTo(this.stretchSteps, step);
      const drawn = this.stretches[s].drawn(step - this.stretchSteps[s]);
      return drawn.map((n, d) => this.drawnBefore[s][d] + n);
    }

    /**
     * What a step reads: {step, position, sequences, sequence_length, domains: [{domain, weight, sequences, tokens,
     * first_draw, first_epoch, last_epoch}]}. weight is of 10^15; draws and epochs are null where the step reads none.
     */
    step(step) {
      const { stretch, j } = this._stretchOf(step);
      const before = stretch.drawn(j);
      const domains = stretch.drawn(j + 1).map((n, d) => {
        const sequences = n - before[d];
        const first = sequences ? stretch.base[d] + BigInt(before[d]) : null;
        const epoch = (k) => (sequences ? Number(k / this._order(d, stretch.length).perEpoch) : null);
        return {
          domain: this.names[d],
          weight: stretch.weights[d],
          sequences,
          tokens: BigInt(sequences) * BigInt(stretch.length),
          first_draw: first,
          first_epoch: epoch(first),
          last_epoch: sequences ? epoch(first + BigInt(sequences) - 1n) : null,
        };
      });
      return { step, position: this.before(step), sequences: stretch.batch, sequence_length: stretch.length, domains };
    }

    /**
     * What stands at positions start to start + count - 1:
     * [{position, step, slot, domain, draw, epoch, sequence, first_token, tokens}].
     */
    rows(start, count) {
      const out = [];
      for (let at = start; at < start + count; ) {
        const step = this.stepOf(at);
        const end = Math.min(start + count, this.before(step + 1));
        const first = this.before(step);
        for (const row of this._slots(step, at - first, end - first)) out.push(row);
        at = end;
      }
      return out;
    }

    /** What stands at one position. */
    at(position) {
      return this.rows(position, 1)[0];
    }

    /** Every position whose sequence holds a token (an offset in the domain, Number or BigInt), in order. */
    find(name, token) {
      const d = this.names.indexOf(name);
      if (d < 0) throw new RangeError(`no domain "${name}"`);
      const offset = BigInt(token);
      const tokens = BigInt(this.lock.domains[d].tokens);
      if (offset < 0n || offset >= tokens) throw new RangeError(`no token ${token} in domain "${name}" of ${tokens}`);
      const found = [];
      this.stretches.forEach((stretch, s) => {
        const drawn = BigInt(this.drawnBefore[s + 1][d] - this.drawnBefore[s][d]);
        const length = BigInt(stretch.length);
        const sequence = offset / length;
        if (!drawn || (sequence + 1n) * length > tokens) return;
        const order = this._order(d, stretch.length);
        const first = stretch.base[d];
        const end = first + drawn;
        for (let epoch = first / order.perEpoch; epoch * order.perEpoch < end; epoch += 1n) {
          const k = order.draw(epoch, sequence);
          if (k === null || k < first || k >= end) continue;
          const [j, slot] = stretch.where(d, k);
          found.push(this.before(stretch.firstStep + j) + slot);
        }
      });
      return found.sort((a, b) => a - b);
    }

    /** What each segment leaves unread of each domain where it begins: [{first_step, tokens_skipped: [BigInt]}]. */
    handoffs() {
      return this.left;
    }

    /** The digest of all that decides what is read before a step. */
    history(step) {
      this.before(step);
      return historyOf(this.lock, step);
    }

    /** Whether the rows that the lock keeps as a check are those that its schedule gives. */
    keepsItsRows() {
      return this.lock.check.every((kept) => {
        const row = this.at(kept.position);
        return row.domain === kept.domain && row.draw === BigInt(kept.draw) && row.sequence === BigInt(kept.sequence);
      });
    }

    _stretchOf(step) {
      this.before(step + 1);
      const stretch = this.stretches[lastUpTo(this.stretchSteps, step)];
      return { stretch, j: step - stretch.firstStep };
    }

    _order(d, length) {
      const name = `${d}/${length}`;
      let order = this.orders.get(name);
      if (!order) {
        order = new DomainOrder(this.lock, this.keys, this.lock.domains[d], length);
        this.orders.set(name, order);
      }
      return order;
    }

    /** Rows of slots from low to high - 1 of a step. */
    _slots(step, low, high) {
      const { stretch, j } = this._stretchOf(step);
      const first = this.before(step);
      const rotation = stretch.rotation(j);
      const placeOf = (slot) => (rotation + slot * stretch.stride) % stretch.batch;
      const rows = Array.from({ length: high - low }, (_, i) => ({ slot: low + i, place: placeOf(low + i) }));
      const byPlace = [...rows].sort((a, b) => a.place - b.place); // a domain's together: its tables are made once
      const before = stretch.drawn(j);
      const after = stretch.drawn(j + 1);
      let d = 0, begin = 0;
      for (const row of byPlace) {
        while (row.place >= begin + after[d] - before[d]) {
          begin += after[d] - before[d];
          d += 1;
        }
        const order = this._order(d, stretch.length);
        row.domain = d;
        row.draw = stretch.base[d] + BigInt(before[d] + row.place - begin);
        row.epoch = Number(row.draw / order.perEpoch);
        row.sequence = order.sequence(row.draw);
      }
      return rows.map(({ slot, domain, draw, epoch, sequence }) => ({
        position: first + slot, step, slot, domain: this.names[domain], draw, epoch, sequence,
        first_token: sequence * BigInt(stretch.length), tokens: stretch.length,
      }));
    }

    /** Follow the run once, a stretch at a time: each domain's first draw in every one. */
    _layStretches() {
      const { domains, segments, batches } = this.lock;
      const draws = domains.map(() => ({ length: 0, next: 0n })); // of each domain: its last length, its next draw
      this.stretches = [];
      this.left = [];
      this.drawnBefore = [domains.map(() => 0)];
      let tree;
      let origin = 0;
      for (const s of segments) {
        const length = s.sequence_length;
        s.weights.forEach((weight, d) => weight && this._order(d, length)); // refuses a domain without a sequence
        const left = domains.map(() => 0n);
        let base = draws.map((last, d) => {
          if (!last.length || !s.weights[d]) return 0n;
          if (last.length === length) return last.next;
          const [epoch, window, skipped] = this._order(d, last.length).nextWindow(last.next);
          left[d] = skipped * BigInt(last.length);
          const order = this._order(d, length);
          return epoch * order.perEpoch + order.before(epoch, window);
        });
        let used = domains.map(() => 0); // sequences that the segment skips and reads
        if (s.skip) {
          const before = tree.counts(origin);
          origin += s.skip;
          used = tree.counts(origin).map((n, d) => n - before[d]);
          base = base.map((draw, d) => draw + BigInt(used[d]));
          used.forEach((n, d) => (left[d] += BigInt(n) * BigInt(length)));
        } else {
          tree = new Tree(s.weights, this.keys.key("split", s.first_step));
          origin = 0;
        }
        const end = s.first_step + s.steps;
        const starts = [s.first_step, ...this.batchSteps.filter((b) => s.first_step < b && b < end), end];
        for (let i = 0; i + 1 < starts.length; i++) {
          const batch = batches[lastUpTo(this.batchSteps, starts[i])].sequences;
          const stretch = new Stretch({
            keys: this.keys, tree, weights: s.weights, origin, length,
            firstStep: starts[i], steps: starts[i + 1] - starts[i], batch, base,
          });
          const drawn = stretch.drawn(stretch.steps);
          base = base.map((draw, d) => draw + BigInt(drawn[d]));
          used = used.map((n, d) => n + drawn[d]);
          const total = this.drawnBefore[this.drawnBefore.length - 1];
          this.drawnBefore.push(total.map((n, d) => n + drawn[d]));
          this.stretches.push(stretch);
          origin += stretch.steps * batch;
        }
        used.forEach((n, d) => {
          if (n) draws[d] = { length, next: base[d] };
          else left[d] = 0n; // nothing of the domain is read or skipped: it stays where it was
        });
        this.left.push({ first_step: s.first_step, tokens_skipped: left });
      }
      this.stretchSteps = this.stretches.map((stretch) => stretch.firstStep);
    }
  }

  return { Schedule, parseLock, digestOf };
})(
  typeof module === "undefined" ? MixtureLock : require("./lock_text.js"),
  typeof module === "undefined" ? MixtureOrders : require("./orders.js"),
);
if (typeof module !== "undefined") module.exports = MixtureSchedule;
