// Questions to the pages' schedule script, read as JSON from the standard input, and the answers, written as JSON.
//
//   node ask_schedule.js SCHEDULE.js <<< '{"lock": "the text of a lock", "ask": [["counts", 12], ["find", "books", "7"]]}'
"use strict";
const { join, dirname } = require("path");
const script = process.argv[2];
const { canonical } = require(join(dirname(script), "lock_text.js"));
const { Schedule, parseLock, digestOf } = require(script);

const { lock: text, ask } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const lock = parseLock(text);
const schedule = new Schedule(lock);
const answers = {
  digest: () => digestOf(lock),
  keeps_its_rows: () => schedule.keepsItsRows(),
  counts: (step) => schedule.counts(step),
  step: (step) => schedule.step(step),
  rows: (start, count) => schedule.rows(start, count),
  at: (positions) => positions.map((position) => schedule.at(position)),
  find: (name, token) => schedule.find(name, token),
  handoffs: () => schedule.handoffs(),
  history: (step) => schedule.history(step),
};
process.stdout.write(canonical(ask.map(([question, ...rest]) => answers[question](...rest))));
