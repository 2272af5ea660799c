"""A client of the service that asks for little, in a process of its own: `python polite_client.py PORT PATH…`.

Asks for the paths in turn, each on a new connection, until its standard input ends. Prints a line for each answer: when
it was asked for, and the seconds until it was there, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import http.client
import select
import sys
import time
from itertools import cycle

EVERY = 0.01


def main(port: int, paths: list[str]) -> None:
    for path in cycle(paths):
        if select.select([sys.stdin], [], [], EVERY)[0]:
            return
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise SystemExit(f"{path} was answered with {answer.status}")
        print(began, time.monotonic() - began, flush=True)


main(int(sys.argv[1]), sys.argv[2:])
