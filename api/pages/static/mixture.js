// A mixture's page, made nicer: the chart says the shares at a step.
"use strict";
(() => {
  const figure = document.getElementById("areas");
  if (!figure) return;
  const { steps, tokens } = JSON.parse(document.getElementById("areas-data").textContent);
  const drawing = figure.querySelector("svg");
  const cursor = document.getElementById("cursor");
  const legend = document.getElementById("legend");
  const caption = legend.querySelector("caption");
  const cells = [...legend.querySelectorAll("tbody td")].reverse();
  const overRun = { caption: caption.textContent, cells: cells.map((cell) => [cell.textContent, cell.title]) };
  const first = steps[0];
  const last = steps[steps.length - 1] - 1;
  const width = Number(drawing.dataset.width);

  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: first, max: last, step: 1, value: first, className: "at no-print" });
  slider.setAttribute("aria-label", "Step");
  const hint = document.createElement("p");
  Object.assign(hint, { id: "slider-hint", className: "soft no-print" });
  hint.textContent = "Move it, or point at the picture: the table then has the shares at that step, until you press Escape.";
  slider.setAttribute("aria-describedby", hint.id);
  drawing.after(slider, hint);

  // As the service writes it: three digits of the share's shortest decimal, half up. Times 100, a float may be another.
  function percent(share) {
    if (share === 0) return "0%";
    if (share < 0.000001) return "<0.0001%";
    const [text, exponent] = share.toExponential().split("e");
    const digits = text.replace(".", "").padEnd(4, "0");
    let three = Number(digits.slice(0, 3)) + Number(digits[3] >= "5");
    let place = Number(exponent) + 2;
    if (three === 1000) [three, place] = [100, place + 1];
    const places = Math.max(0, 2 - place);
    return `${(three / 10 ** (2 - place)).toFixed(places)}%`;
  }

  function stretchOf(step) {
    let low = 0;
    let high = steps.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (steps[middle] <= step) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function show(step) {
    const at = stretchOf(step);
    const [from, to] = [steps[at], steps[at + 1] - 1];
    const link = document.createElement("a");
    link.href = figure.dataset.step.replace("987654321", String(step));
    link.textContent = `step ${step.toLocaleString("en")}`;
    const within = from === to ? "" : `, as of steps ${from.toLocaleString("en")} to ${to.toLocaleString("en")}`;
    caption.replaceChildren("At ", link, within);
    const whole = tokens.reduce((sum, band) => sum + band[at], 0);
    cells.forEach((cell, band) => {
      const share = tokens[band][at] / whole;
      cell.textContent = percent(share);
      cell.title = String(share);
    });
    const x = (step - first + 0.5) * width / (last + 1 - first);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    cursor.setAttribute("visibility", "visible");
    slider.setAttribute("aria-valuetext", `step ${step.toLocaleString("en")}`);
  }

  function clear() {
    caption.textContent = overRun.caption;
    overRun.cells.forEach(([text, title], band) => Object.assign(cells[band], { textContent: text, title }));
    cursor.setAttribute("visibility", "hidden");
  }

  function stepAt(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return Math.min(last, Math.max(first, first + Math.floor(point.x * (last + 1 - first) / width)));
  }

  slider.addEventListener("input", () => show(Number(slider.value)));
  drawing.addEventListener("pointermove", (event) => {
    slider.value = stepAt(event);
    show(Number(slider.value));
  });
  figure.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear();
  });
})();
