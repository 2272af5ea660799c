// What all pages have: buttons that copy, also in what a script puts in place later. Pages are whole without it.
"use strict";
(() => {
  function offer(within) {
    for (const button of within.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
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
