// What if, while one types: the page is asked again with the form's changes, and its result is put in place.
"use strict";
(() => {
  const form = document.getElementById("what-if");
  const result = document.getElementById("result");
  const wait = 500;
  let timer = 0;
  let asked = null;

  function address() {
    const given = [...new FormData(form)].filter(([, value]) => value.trim());
    return `${location.pathname}?${new URLSearchParams(given)}`;
  }

  async function show() {
    clearTimeout(timer);
    asked?.abort();
    asked = new AbortController();
    const url = address();
    result.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, { signal: asked.signal, headers: { Accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        result.replaceChildren(...page.getElementById("result").childNodes);
        history.replaceState(null, "", url);
      } else {
        const said = document.createElement("p");
        said.className = "level-error";
        said.textContent = answer.status === 503 ? "The service plans others now: try again." : "The service can not say.";
        result.replaceChildren(said);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      throw error;
    }
    result.removeAttribute("aria-busy");
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, wait);
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter?.hasAttribute("formaction")) return;
    event.preventDefault();
    show();
  });
  form.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (!value.trim()) event.formData.delete(name);
  });
})();
