// What all pages have: buttons that copy, tables that are sorted, also in what a script puts in place later. Pages are
// whole without it.
"use strict";
(() => {
  function offer(within) {
    for (const button of within.querySelectorAll("[data-copy]")) {
      button.hidden = !navigator.clipboard;
      const text = button.parentElement.querySelector("code");
      if (text) text.textContent = text.textContent.replaceAll("http://ADDRESS", location.origin);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
    }
  });

  offer(document);
  document.addEventListener("replaced", (event) => offer(event.target));
})();

// Where no address orders a table, its rows are put in order here.
(() => {
  const heads = (within) => within.querySelectorAll("table[data-sorts] > thead th");

  function offer(within) {
    for (const head of heads(within)) {
      if (head.querySelector("button")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent.trim();
      head.replaceChildren(button);
    }
  }

  function sort(table, head) {
    const column = head.cellIndex;
    const isText = !head.classList.contains("n");
    const falls = head.ariaSort ? head.ariaSort === "ascending" : !isText;
    const key = (row) => {
      const cell = row.cells[column]; // a title is the exact figure
      return cell.dataset.v ?? (cell.title || cell.textContent);
    };
    const keys = new Map([...table.tBodies[0].rows].map((row) => [row, key(row)]));
    const areNumbers = !isText || [...keys.values()].every((one) => !Number.isNaN(Number(one)));
    const order = (a, b) => (areNumbers ? Number(a) - Number(b) : a < b ? -1 : Number(a > b));
    const rows = [...keys.keys()].sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (a === "" || b === "") return Number(a === "") - Number(b === ""); // without a figure: last either way
      return order(a, b) * (falls ? -1 : 1);
    });
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.ariaSort = falls ? "descending" : "ascending";
    table.tBodies[0].append(...rows);
  }

  document.addEventListener("click", (event) => {
    const head = event.target.closest("button")?.closest("th");
    const table = head?.closest("table[data-sorts]");
    if (table) sort(table, head);
  });

  offer(document);
  document.addEventListener("replaced", (event) => offer(event.target));
})();
