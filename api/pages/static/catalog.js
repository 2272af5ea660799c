// The catalog's page: filtering as one types, panels in their place, the keyboard. The page is whole without it.
"use strict";
(() => {
  const WAIT = 250; // milliseconds after the last key before the service is asked
  const DATA = "details.data a, details.data code";
  const results = document.getElementById("results");
  const panel = document.getElementById("panel");
  const count = document.getElementById("count");
  const controls = document.getElementById("controls");
  const search = document.getElementById("search");
  const number = new Intl.NumberFormat("en-US");
  let opener = null; // what the panel was opened from: focus goes back to it
  let searches = 0; // the last of the searches, and of the panels: answers to others come too late
  let openings = 0;

  const rows = () => [...results.querySelectorAll("tbody tr")];
  const cells = () => [...results.querySelectorAll("tbody [data-cell]")].filter((one) => !one.closest("tr").hidden);
  const cellOf = (key) => [...results.querySelectorAll("[data-cell]")].find((one) => one.dataset.cell === key);
  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  // Filtering: at once by what the rows that are here say; then the service is asked, which has all rows and texts.
  function filter() {
    const words = wordsOf(search.value);
    let shown = 0;
    for (const row of rows()) {
      row.hidden = !words.every((word) => row.dataset.words.includes(word)) && !row.querySelector(".hit");
      shown += row.hidden ? 0 : 1;
    }
    const here = rows().length;
    const all = Number(count.dataset.all);
    const said = `${number.format(shown)} of ${number.format(here)} ${here === all ? "rows" : "shown"}.`;
    count.textContent = shown === all ? "" : said;
    const table = results.querySelector(".scroll");
    if (table) table.hidden = !shown; // sums of all rows would stand under none
    // Only the service knows whether a text has the words: it says that nothing is found.
    document.getElementById("nothing").hidden = shown > 0 || panel.hasAttribute("data-served");
  }
  // The address says what is searched for as soon as somebody has stopped typing, whatever becomes of the answer.
  async function ask() {
    const url = searched(new URL(location.href));
    history.replaceState(history.state, "", url);
    const mine = ++searches;
    const found = await answered(url);
    const table = found?.getElementById("results");
    if (!table || mine !== searches) return;
    results.replaceChildren(...table.childNodes);
    count.textContent = table.dataset.count;
    const there = found.querySelectorAll(DATA);
    document.querySelectorAll(DATA).forEach((one, at) => {
      if (one.href) one.href = there[at].href;
      else one.textContent = there[at].textContent;
    });
    mark(new URL(location.href).searchParams.get("cell")); // that may be another one by now
  }
  function searched(url) {
    const q = search.value.trim();
    if ((url.searchParams.get("q") ?? "").trim() !== q) url.searchParams.delete("from"); // the first of what is found
    if (q) url.searchParams.set("q", q);
    else url.searchParams.delete("q");
    return url;
  }

  // The page at an address; null: there is none now.
  async function answered(url) {
    try {
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
    } catch {
      return null;
    }
  }

  // The panel.
  async function show(address, { focus, push }) {
    const url = searched(new URL(address, location.href));
    const asking = new URL(url);
    asking.searchParams.set("part", "panel");
    const mine = ++openings;
    panel.setAttribute("aria-busy", "true");
    const found = (await answered(asking))?.getElementById("panel-part");
    if (mine !== openings) return;
    panel.removeAttribute("aria-busy");
    if (!found) {
      location.assign(url); // the page says what is wrong
      return;
    }
    panel.replaceChildren(found);
    panel.hidden = false;
    if (push) history.pushState(null, "", url);
    mark(url.searchParams.get("cell"));
    const target = (focus && document.getElementById(focus)) || document.getElementById("panel-heading");
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
  }
  function mark(key) {
    for (const one of results.querySelectorAll("[data-cell][aria-current]")) one.removeAttribute("aria-current");
    const cell = key && cellOf(key);
    if (cell) cell.setAttribute("aria-current", "true");
    return cell;
  }
  function close({ push }) {
    const url = new URL(location.href);
    const key = url.searchParams.get("cell");
    for (const name of ["cell", "at", "examples", "seed"]) url.searchParams.delete(name);
    url.hash = "";
    openings += 1; // one that is on its way comes too late
    panel.removeAttribute("aria-busy");
    panel.hidden = true;
    panel.replaceChildren();
    mark(null);
    if (push) history.pushState(null, "", url);
    (cellOf(key) || opener || search)?.focus();
  }
  function go(step) {
    const shown = cells();
    const key = new URL(location.href).searchParams.get("cell");
    const at = shown.findIndex((one) => one.dataset.cell === key);
    const next = at < 0 ? null : shown[at + step];
    if (next) show(next.href, { push: true });
    else if (at < 0) panel.querySelector(step > 0 ? "[data-go=next]" : "[data-go=previous]")?.click();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (!panel.hasAttribute("data-served")) return;
    if ("cell" in link.dataset || link.classList.contains("hit") || "go" in link.dataset) {
      event.preventDefault();
      if (!panel.contains(link)) opener = link;
      show(link.href, { push: true, focus: link.classList.contains("hit") ? "panel-examples" : null });
    } else if ("inPanel" in link.dataset) {
      event.preventDefault();
      show(link.href, { push: true, focus: "panel-examples" });
    } else if ("close" in link.dataset) {
      event.preventDefault();
      close({ push: true });
    }
  });

  const typing = (element) => element.matches("input, select, textarea, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && search && !typing(event.target)) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && panel.hasAttribute("data-served") && !panel.hidden && event.target !== search) {
      close({ push: true });
    } else if (event.key.startsWith("Arrow") && !typing(event.target)) {
      if (panel.contains(event.target) && !event.target.closest(".scroll, pre")) {
        if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
          event.preventDefault();
          go(event.key === "ArrowRight" ? 1 : -1);
        }
      } else if ("cell" in event.target.dataset) {
        move(event);
      }
    }
  });
  // From cell to cell of the map.
  function move(event) {
    const row = event.target.closest("tr");
    const place = event.target.closest("td, th").cellIndex;
    const inRow = (one, at) => one?.cells[at]?.querySelector("[data-cell]");
    let next = null;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const way = event.key === "ArrowUp" ? "previousElementSibling" : "nextElementSibling";
      for (let one = row[way]; one && !next; one = one[way]) next = one.hidden ? null : inRow(one, place);
    } else {
      const step = event.key === "ArrowLeft" ? -1 : 1;
      for (let at = place + step; at >= 0 && at < row.cells.length && !next; at += step) next = inRow(row, at);
    }
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }

  // All measures of a map of files: no service can be asked, and the figures are in the page.
  const every = document.getElementById("every-measure");
  if (every) offerMeasures(JSON.parse(every.textContent));
  function offerMeasures(measures) {
    const table = document.getElementById("map");
    const select = document.getElementById("measure");
    const last = measures[select.value].all.length;
    const first = table.tHead.rows[0].cells.length - last; // after the name, and the title where there is one
    const order = rows(); // as in the data, however they are sorted later
    order.forEach((row, at) => {
      row.cells[0].dataset.v = at;
      if (first === 2) row.cells[1].dataset.v = row.cells[1].querySelector(".name")?.textContent.toLowerCase() ?? "";
    });
    const titleOf = (figureOf) =>
      [...select.options].map((one) => `${one.textContent} ${figureOf(measures[one.value])?.[0] ?? "–"}`).join(", ");
    for (let place = 0; place < last; place += 1) {
      order.forEach((row, at) => {
        const cell = row.cells[place + first];
        if (measures[select.value].rows[at][place]) {
          (cell.querySelector("a") ?? cell).title = titleOf((one) => one.rows[at][place]);
        }
      });
      table.tFoot.rows[0].cells[place + first].title = titleOf((one) => one.all[place]);
    }
    function write(cell, one, ramp) {
      const [text, value, level, over] = one ?? ["–", null];
      cell.dataset.v = value ?? "";
      if (level !== undefined) cell.className = `n cell ${ramp}${level}`;
      else if (cell.classList.contains("cell")) cell.className = "n cell";
      (cell.querySelector("a") ?? cell).textContent = over ? `${text} !` : text;
    }
    function show(name) {
      const { caption, ramp, rows: figures, all } = measures[name];
      table.caption.textContent = caption;
      order.forEach((row, at) => figures[at].forEach((one, place) => write(row.cells[place + first], one, ramp)));
      all.forEach((one, place) => write(table.tFoot.rows[0].cells[place + first], one, ramp));
      for (const head of table.tHead.querySelectorAll("th.n")) head.removeAttribute("aria-sort"); // of other figures
    }
    select.addEventListener("change", () => {
      show(select.value);
      history.replaceState(null, "", `#measure=${select.value}`); // of a file, only this part of an address may change
    });
    const asked = new URLSearchParams(location.hash.slice(1)).get("measure");
    if (Object.hasOwn(measures, asked ?? "")) select.value = asked;
    show(select.value);
  }

  if (search) {
    let timer = 0;
    controls.hidden = false; // of a page of files, where only this script searches
    search.addEventListener("input", () => {
      for (const hit of results.querySelectorAll(".hit")) hit.remove(); // they are of what was searched before
      filter();
      clearTimeout(timer);
      if (panel.hasAttribute("data-served")) timer = setTimeout(ask, WAIT);
    });
    controls.addEventListener("submit", (event) => {
      clearTimeout(timer);
      if (!panel.hasAttribute("data-served")) event.preventDefault();
    });
  }
  addEventListener("popstate", () => {
    const url = new URL(location.href);
    const q = url.searchParams.get("q") ?? "";
    if (panel.hasAttribute("data-served") && q !== search.value.trim()) {
      search.value = q;
      ask();
    }
    if (panel.hasAttribute("data-served") && url.searchParams.get("cell")) show(url, { push: false });
    else if (!panel.hidden) close({ push: false });
  });
  const now = new URL(location.href).searchParams.get("cell");
  if (now) mark(now);
})();
