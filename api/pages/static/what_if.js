// What if, while one types: the page is asked again with the form's changes, and what they change is put in place.
"use strict";
(() => {
  const form = document.getElementById("what-if");
  const result = document.getElementById("result");
  const outcome = document.getElementById("outcome");
  const figures = document.getElementById("figures");
  const changing = ["outcome", "figures", "all-rows", "data"]; // by id; `data`: addresses that can be copied
  const wait = 500;
  let timer = 0;
  let asked = null;

  function address() {
    const given = [...new FormData(form)].filter(([, value]) => value.trim());
    return `${location.pathname}?${new URLSearchParams(given)}`;
  }

  function put(page) {
    for (const id of changing) {
      const [part, fresh] = [document.getElementById(id), page.getElementById(id)];
      if (!part || !fresh) continue;
      part.replaceChildren(...fresh.childNodes);
      part.dispatchEvent(new Event("replaced", { bubbles: true }));
    }
    // Inputs stay, with what is being typed: what is wrong with each is said anew.
    for (const input of form.querySelectorAll("td input")) {
      const fresh = page.querySelector(`td input[name="${CSS.escape(input.name)}"]`);
      for (const name of ["aria-invalid", "title"]) {
        if (fresh?.hasAttribute(name)) input.setAttribute(name, fresh.getAttribute(name));
        else input.removeAttribute(name);
      }
    }
  }

  function refuse(text) {
    const said = document.createElement("p");
    said.className = "level-error";
    said.textContent = text;
    outcome.replaceChildren(said);
    figures.replaceChildren();
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
        put(new DOMParser().parseFromString(await answer.text(), "text/html"));
        history.replaceState(null, "", url);
      } else {
        refuse(answer.status === 503 ? "The service plans others now: try again." : "The service can not say.");
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      refuse("The service can not be reached.");
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
