"""How long until a page is painted, asked of a service that was just started, and what its pages weigh.

    python -m benchmarks.pages [--json] [--rounds 5]

Each round starts `mixture serve` as a process of its own, waits until it answers `/healthz`, and opens the page of
marin's 200 cells in the system's Chromium, the first that anybody asks for: first paint by the browser's own clock,
from asking on. Weights are bytes without compression, of the page and of all that it loads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys

from playwright.sync_api import Browser, Response, sync_playwright

from benchmarks.service_composition import NAME, service

PAGES = {
    "catalog": f"/catalogs/{NAME}",
    "mixture": f"/mixtures/{NAME}",
    "compare": f"/mixtures/{NAME}?with=marin-announced-80-20",
    "step": f"/mixtures/{NAME}/steps/108000",
}
PAINT = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"


def _weigh(browser: Browser, url: str) -> list[int]:
    """Bytes of a page, and of it with all that it loads."""
    page = browser.new_context().new_page()
    sizes: dict[str, int] = {}

    def heard(answer: Response) -> None:
        sizes[answer.url] = len(answer.body())

    page.on("response", heard)
    page.goto(url, wait_until="networkidle")
    return [sizes[url], sum(sizes.values())]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium") or sys.exit("there is no chromium: apt-get install chromium")
    paints: list[float] = []
    weights: dict[str, list[int]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for number in range(arguments.rounds):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            with service() as port:
                page.request.get(f"http://127.0.0.1:{port}/healthz")
                page.goto(f"http://127.0.0.1:{port}{PAGES['catalog']}", wait_until="load")
                page.wait_for_function(f"{PAINT}.length === 1")
                paints += page.evaluate(PAINT)
                if number:
                    continue
                for name, path in PAGES.items():
                    weights[name] = _weigh(browser, f"http://127.0.0.1:{port}{path}")
        browser.close()
    found = {
        "first_paint_ms_median": statistics.median(paints),
        "first_paint_ms_longest": max(paints),
        "rounds": len(paints),
        "bytes_of_page_and_with_all_it_loads": weights,
    }
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"first paint of {PAGES['catalog']} from a service just started, {len(paints)} rounds:")
    print(f"  {found['first_paint_ms_median']:.0f} ms at the median, {max(paints):.0f} ms at the longest")
    for name, (own, every) in weights.items():
        print(f"  {name:8} {own:8,} bytes, {every:,} with style sheet, scripts and icon")


if __name__ == "__main__":
    main()
