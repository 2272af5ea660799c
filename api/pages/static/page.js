// What all pages have: buttons that copy. Pages are whole without it.
"use strict";
for (const button of document.querySelectorAll("[data-copy]")) {
  const text = button.parentElement.querySelector("code");
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
    }
  });
}
