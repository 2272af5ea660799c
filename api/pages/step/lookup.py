"""What is at a step, looked up in the browser: a page of files that works the answer out of the lock beside it.

The page needs no server, and trusts none: `schedule.js` is schedule format 1, and `lock.js` holds the text of the lock
file, whose digest the page checks. A script and not the JSON itself, since pages from `file://` may not read files.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

from mixture.api.pages.links import FileLinks
from mixture.api.pages.render import render
from mixture.lock import Lock, lock_text


class StepLookupView(BaseModel):
    """The run that is looked up in; sequences: of the whole run."""

    model_config = ConfigDict(frozen=True)

    mixture: str
    digest: str
    steps: int
    sequences: int
    domains: int


def step_lookup_view(lock: Lock, name: str | None = None) -> StepLookupView:
    """What the page says before anything is looked up. name: of the mixture, where it is not the lock's."""
    schedule = lock.schedule()
    return StepLookupView(
        mixture=name or lock.mixture,
        digest=lock.digest,
        steps=schedule.steps,
        sequences=schedule.num_sequences,
        domains=len(schedule.names),
    )


def step_lookup_files(lock: Lock, name: str | None = None) -> dict[str, str]:
    """The page and the lock beside it: texts in UTF-8 by path below the site's folder.

    The page is where `FileLinks.step` leads to; it loads `mixture.api.pages.assets` from `assets/`.
    """
    view = step_lookup_view(lock, name)
    page = FileLinks("").steps(view.mixture)
    lock_script = f"const LOCK_TEXT = {json.dumps(lock_text(lock))};\n"
    return {
        page: render("step_lookup.html", FileLinks(page), view),
        page.replace("index.html", "lock.js"): lock_script,
    }
