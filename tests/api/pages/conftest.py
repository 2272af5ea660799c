"""Pages in a real browser: the system's Chromium, driven by Playwright, on a service that runs as a process."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from clustered_mixture import clustered_mixture
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from service_processes import copy_of_the_service, start_copy

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCREENSHOTS = Path(os.environ.get("MIXTURE_SCREENSHOTS", "build/screenshots"))
SERIOUS = ("serious", "critical")


def pytest_collection_modifyitems(items):
    """Tests in the browser need one: skipped where there is none, never in `make test-all`."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.needs_browser)
            if CHROMIUM is None and "MIXTURE_TEST_ALL" not in os.environ:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium on this machine"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium without a window.

    Of one module: while Playwright is started, the thread has a running event loop, in which no other test could run.
    """
    assert CHROMIUM is not None, "apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails its test where a script fails, the console shows an error, or another host is asked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_navigation_timeout(120_000)  # a page that comes late fails no test: benchmarks/pages.py measures
    wrong: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"console: {message.text} ({message.location})")

    def asked(url: str) -> None:
        if not url.startswith(("http://127.0.0.1", "http://localhost", "file:", "data:", "blob:")):
            wrong.append(f"asked for {url}")

    page.on("console", heard)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("request", lambda request: asked(request.url))
    yield page
    context.close()
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="session")
def service(tmp_path_factory) -> Iterator[str]:
    """The address of a service that shows the mixtures of the repository."""
    with copy_of_the_service(tmp_path_factory.mktemp("service")) as url:
        yield url


@pytest.fixture(scope="session")
def clustered(tmp_path_factory) -> Path:
    """The folder of a mixture whose store has clusters of real text, with an overview."""
    return clustered_mixture(tmp_path_factory)


@pytest.fixture(scope="session")
def clustered_service(clustered: Path, tmp_path_factory) -> Iterator[str]:
    """The address of a service that shows it, with snippets of its texts."""
    copy = start_copy(data_dir=tmp_path_factory.mktemp("service"), mixtures_dirs=[clustered])
    yield copy.url
    copy.end(signal.SIGTERM)


@pytest.fixture
def look(page: Page, request):
    """`look("mixture")`: a screenshot for whoever looks at the pages, and no serious fault of accessibility."""

    def shoot(name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
        # No preload: from file:// axe may not read style sheets, and says so in the console.
        found = Axe().run(page, options={"preload": False}).response["violations"]
        serious = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in SERIOUS]
        assert not serious, "\n".join(serious)

    return shoot
