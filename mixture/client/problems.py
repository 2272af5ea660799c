"""What a service refuses with, a problem of RFC 9457, as an error of this library."""

from __future__ import annotations

import http.client
import urllib.error
from collections.abc import Mapping
from typing import Any

from mixture.errors import MixtureError, Place, ServiceError
from mixture.json_text import parse_json

LONGEST_PROBLEM = 1 << 20


def refusal_of(answer: urllib.error.HTTPError, address: str) -> ServiceError | None:
    """The error that an answer says; None for what no service of this kind answers."""
    try:
        said = parse_json(answer.read(LONGEST_PROBLEM))
    except (ValueError, OSError, http.client.HTTPException):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("code"), str):
        return None
    facts = said.get("facts")
    faults = said.get("errors")
    error = ServiceError(
        str(said.get("detail") or answer.reason),
        code=said["code"],
        place=Place(file=address),
        hint=_text(said.get("hint")),
    )
    error.facts = {**(facts if isinstance(facts, dict) else {}), "status": answer.code}
    for one in faults if isinstance(faults, list) else ():
        if isinstance(one, dict) and one.get("line"):
            error.errors += (_single(one, error.code),)
    return error


def _single(fault: Mapping[str, Any], code: str) -> MixtureError:
    place = Place(_text(fault.get("in")), fault.get("line"), fault.get("column"), _text(fault.get("pointer")) or "")
    return MixtureError(
        str(fault.get("detail")), code=_text(fault.get("code")) or code, place=place, hint=_text(fault.get("hint"))
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
