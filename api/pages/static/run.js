// A run as it goes on: each report makes the parts that change anew, as the service shows them. Without it, one reloads.
"use strict";
const said = document.getElementById("said");
const PAUSE = 1000; // between two looks, however fast reports come
const AGAIN = 5000; // before a stream is opened again that was refused
let seen = Number(document.getElementById("progress").dataset.seq);
let looking = false;
let isBehind = false;

function say(text) {
  if (said.textContent !== text) said.textContent = text;
}

function standing() {
  return Number(document.getElementById("progress").dataset.step).toLocaleString("en-US");
}

async function look() {
  isBehind = true;
  if (looking) return;
  looking = true;
  while (isBehind) {
    isBehind = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const now = fresh.getElementById(part.id);
        if (!now) continue;
        Object.assign(part.dataset, now.dataset);
        if (now.innerHTML !== part.innerHTML) part.replaceChildren(...now.childNodes);
      }
      say(`Live: ${standing()} steps are done.`);
    } catch (error) {
      say(`The newest report can not be shown (${error.message}); load the page again.`);
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  looking = false;
}

function follow() {
  const events = new EventSource(`${said.dataset.events}?after=${seen}`);
  events.addEventListener("open", () => say(`Live: ${standing()} steps are done.`));
  events.addEventListener("progress", (event) => {
    seen = Number(event.lastEventId);
    look();
  });
  events.addEventListener("error", () => {
    say("Reconnecting: what is shown may be old.");
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN);
  });
}

follow();
