"""A service that is told to end knows at once, whichever server runs it and however little happens in it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from api_helpers import MIXTURES

pytestmark = pytest.mark.long

WAITING = """\
import asyncio, sys
from pathlib import Path
from mixture.api.settings import Settings
from mixture.api.app import create_app

async def main():
    app = create_app(Settings(data_dir=Path(sys.argv[1]), mixtures_dirs=(Path(sys.argv[2]),)))
    async with app.router.lifespan_context(app):
        asyncio.get_running_loop().call_later(0.01, lambda: print("waits", flush=True))
        await app.state.services.stopping.wait()
        print("told")

asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_loop_in_which_nothing_happens_is_woken(tmp_path: Path, how: signal.Signals):
    handlers = f"import signal\nsignal.signal({int(how)}, lambda *_: None)\n"
    command = [sys.executable, "-c", handlers + WAITING, str(tmp_path), str(MIXTURES / "demo")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(how)
        try:
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (said, process.returncode) == ("told\n", 0)
