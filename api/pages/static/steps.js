// The page that looks steps up: reads the lock beside it (LOCK_TEXT), checks it, and shows what the address asks for:
// ?step=N or ?position=N, &slot=S: the first slot that is shown, &order=domain|weight|sequences.
"use strict";
(() => {
  const SHOWN = 50;
  const NOTHING = "–";
  const query = new URLSearchParams(location.search);
  const by = (id) => document.getElementById(id);

  // ---- figures, as the other pages print them ----------------------------------------------------------------

  const integer = (n) => n.toLocaleString("en-US");
  const digits = (value, n) => (value >= 10 ** n ? integer(Math.round(value)) : value.toPrecision(n));

  function tokens(count) {
    const n = Number(count);
    const [unit, size] = [["T", 1e12], ["B", 1e9], ["M", 1e6], ["K", 1e3]].find(([, s]) => n >= s - s / 20000) || ["", 0];
    return size ? digits(n / size, 4) + unit : String(count);
  }

  function percent(share) {
    if (!share) return "0%";
    return share < 1e-6 ? "<0.0001%" : `${digits(share * 100, 3)}%`;
  }

  // ---- parts of the page -------------------------------------------------------------------------------------

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  /** A row of a table: [text, attributes] a cell, the one at `head` its header. */
  function tableRow(cells, head, attributes = {}) {
    const row = element("tr", undefined, attributes);
    cells.forEach(([text, more = {}], i) => {
      row.append(i === head ? element("th", text, { scope: "row", ...more }) : element("td", text, more));
    });
    return row;
  }

  const figure = (text, title) => [text, title === undefined ? { class: "n" } : { class: "n", title }];

  function address(changes) {
    const asked = new URLSearchParams();
    const order = query.get("order");
    for (const [key, value] of Object.entries({ order, ...changes })) if (value !== null) asked.set(key, value);
    return `?${asked}`;
  }

  function save(name, text, type) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    element("a", undefined, { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  function say(text, level) {
    by("said").textContent = text;
    if (level) by("said").className = level;
  }

  /** A number that the address asks for: undefined where it does not, an error where it is none. */
  function asked(name, end) {
    const text = query.get(name);
    if (text === null || text === "") return undefined;
    const n = Number(text.replace(/[,_ ]/g, "") || NaN);
    if (!Number.isSafeInteger(n) || n < 0 || n >= end) {
      throw new RangeError(`There is no ${name} ${text}: they go from 0 to ${integer(end - 1)}.`);
    }
    return n;
  }

  // ---- what is shown -----------------------------------------------------------------------------------------

  function showChecks(lock, digest, schedule) {
    const checks = [
      [digest === lock.digest, `The lock's digest is right: SHA-256 over its fields gives ${digest}.`],
      [by("digest").textContent === lock.digest, "It is the digest that this page names."],
      [schedule.keepsItsRows(), `The ${lock.check.length} rows that the lock keeps are those worked out here.`],
    ];
    const wrong = checks.find(([right]) => !right);
    if (wrong) throw new Error(`The lock can not be relied on. This does not hold: ${wrong[1]}`);
    by("checks").querySelector("ul").append(...checks.map(([, text]) => element("li", text)));
    by("save-lock").addEventListener("click", () => save("mixture.lock.json", LOCK_TEXT, "application/json"));
    by("checks").hidden = false;
  }

  function showStep(schedule, lock, found, at) {
    const { step, position, sequences, sequence_length: length } = found;
    const phase = lock.phases.find((one) => one.first_step <= step && step < one.first_step + one.steps);
    by("step-heading").textContent = `Step ${integer(step)}`;
    const facts = [
      ["Phase", phase ? phase.name : NOTHING],
      ["Positions", `${integer(position)} to ${integer(position + sequences - 1)}`],
      ["Reads", `${integer(sequences)} sequences of ${integer(length)} tokens: ${integer(sequences * length)} tokens`],
      ["History", schedule.history(step)],
    ];
    if (at !== undefined) {
      const row = schedule.at(at);
      const which = `sequence ${integer(row.sequence)} of ${row.domain}, in epoch ${integer(row.epoch)}`;
      const where = `from its token ${integer(row.first_token)} on`;
      facts.unshift([`Position ${integer(at)}`, `Slot ${integer(row.slot)} reads ${which}, ${where}`]);
    }
    for (const [name, text] of facts) by("facts").append(element("dt", name), element("dd", text));
    by("facts").lastChild.title = "SHA-256 of all that decides what comes before: equal in locks that agree so far";
    const last = schedule.steps - 1;
    go("first", step > 0 && { step: 0 });
    go("previous", step > 0 && { step: step - 1 });
    go("next", step < last && { step: step + 1 });
    go("last", step < last && { step: last });
  }

  function showDomains(found, order) {
    const weighed = found.domains.filter((one) => one.weight > 0);
    const read = weighed.filter((one) => one.sequences > 0);
    by("domains-note").textContent =
      `Weights are token shares. Of the ${integer(found.domains.length)} domains, ${integer(weighed.length)} have ` +
      `one here, and ${integer(read.length)} are read in this step.`;
    if (order !== "domain") weighed.sort((a, b) => b[order] - a[order]);
    for (const one of weighed) {
      const epochs = [...new Set([one.first_epoch, one.last_epoch])].filter((epoch) => epoch !== null).map(integer);
      by("domains").tBodies[0].append(tableRow([
        [one.domain],
        figure(percent(one.weight / 1e15), `${integer(one.weight)} of 10^15`),
        figure(integer(one.sequences)),
        figure(percent(one.sequences / found.sequences)),
        figure(tokens(one.tokens), integer(one.tokens)),
        figure(one.sequences ? integer(one.first_draw) : NOTHING),
        figure(epochs.join("–") || NOTHING),
      ], 0));
    }
    for (const head of by("domains").querySelectorAll("[data-order]")) {
      const its = head.dataset.order;
      const link = element("a", head.textContent, { href: address({ step: found.step, order: its }) });
      head.replaceChildren(link);
      if (its === order) head.setAttribute("aria-sort", its === "domain" ? "ascending" : "descending");
    }
  }

  function showSequences(schedule, found, slot, marked) {
    const count = Math.min(SHOWN, found.sequences - slot);
    const slots = `slots ${integer(slot)} to ${integer(slot + count - 1)} of ${integer(found.sequences)}`;
    by("sequences-heading").textContent = `Sequences: ${slots}`;
    for (const row of schedule.rows(found.position + slot, count)) {
      const its = row.position === marked ? { class: "asked", "aria-current": "true" } : {};
      by("sequences").tBodies[0].append(tableRow([
        figure(integer(row.slot)),
        figure(integer(row.position)),
        [row.domain],
        figure(integer(row.epoch)),
        figure(integer(row.draw)),
        figure(integer(row.sequence)),
        figure(integer(row.first_token)),
      ], 0, its));
    }
    const { step } = found;
    go("slots-before", slot > 0 && { step, slot: Math.max(0, slot - SHOWN) }, "#sequences-heading");
    go("slots-after", slot + count < found.sequences && { step, slot: slot + count }, "#sequences-heading");
    by("save-rows").textContent = `Save all ${integer(found.sequences)} as CSV`;
    by("save-rows").addEventListener("click", () => {
      const names = ["position", "step", "slot", "domain", "draw", "epoch", "sequence", "first_token", "tokens"];
      const quoted = (value) => (typeof value === "string" ? `"${value.replace(/"/g, '""')}"` : value);
      const rows = schedule.rows(found.position, found.sequences);
      const lines = rows.map((row) => names.map((name) => quoted(row[name])).join(","));
      save(`step-${step}.csv`, [names.join(","), ...lines, ""].join("\n"), "text/csv");
    });
  }

  /** Where one of the page's links leads; without a place it is not one. */
  function go(name, changes, part = "") {
    const link = document.querySelector(`[data-go="${name}"]`);
    if (changes) link.href = address(changes) + part;
    else link.setAttribute("aria-disabled", "true");
  }

  function show() {
    const lock = MixtureSchedule.parseLock(LOCK_TEXT);
    const digest = MixtureSchedule.digestOf(lock);
    const schedule = new MixtureSchedule.Schedule(lock);
    showChecks(lock, digest, schedule);
    const position = asked("position", schedule.sequences);
    const step = position === undefined ? asked("step", schedule.steps) || 0 : schedule.stepOf(position);
    const found = schedule.step(step);
    const slot = position === undefined ? asked("slot", found.sequences) || 0 : position - found.position;
    const order = ["weight", "sequences"].includes(query.get("order")) ? query.get("order") : "domain";
    by("by-step").elements.step.value = step;
    by("by-position").elements.position.value = found.position + slot;
    showStep(schedule, lock, found, position);
    showDomains(found, order);
    showSequences(schedule, found, slot, position);
    by("found").hidden = false;
    const part = location.hash && by(location.hash.slice(1)); // it was hidden when the browser looked for it
    if (part) part.scrollIntoView({ behavior: "instant" });
    document.title = `Step ${integer(step)} of ${lock.mixture} · mixture`;
    say(`Step ${integer(step)}, worked out from the lock with digest ${digest.slice(0, 12)}, which is right.`);
  }

  try {
    show();
  } catch (error) {
    say(error.message, "level-error");
  }
})();
