"""Threads may share a store, also where it has more files than a process may hold open."""

from __future__ import annotations

import string
import subprocess
import sys

import pytest
from data.makers import MakeStore

READ = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mixture import open_store

path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))  # 62 files, each with a descriptor of its own and of its map
sys.setswitchinterval(1e-6)
store = open_store(path)
names = list(store.domains)
reader = store.reader(names)
number = np.array([ord(name[1:]) for name in names])


def read(thread):
    for turn in range(2000):
        count = (1, 2, 4, len(names))[turn % 4]
        domain = (np.arange(count) * (2 * thread + 1) + turn * (7 + thread)) % len(names)
        rows = reader.rows(domain, np.full(count, turn % 8), 16)
        assert (rows == number[domain, None]).all()


with ThreadPoolExecutor(8) as threads:
    list(threads.map(read, range(8)))
mapped = sum(path in line for line in open("/proc/self/maps"))
assert mapped <= 32, mapped
"""


@pytest.mark.long
def test_threads_that_share_more_files_than_may_be_open_read_what_is_there(make_store: MakeStore):
    letters = string.ascii_letters + string.digits
    store = make_store(**{f"d{letter}": [24 * letter] for letter in letters})
    done = subprocess.run([sys.executable, "-c", READ, str(store.path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
