"""The description of the service is that of its code, whole, and to be read without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from api_helpers import routes_of
from fastapi import FastAPI

from mixture.api.answers.bodies import RequestBody
from mixture.api.answers.description import TAGS
from mixture.api.app import create_app
from mixture.api.openapi import COMMITTED, text
from mixture.api.settings import Settings


@pytest.fixture(scope="module")
def described() -> tuple[FastAPI, dict[str, Any]]:
    app = create_app(Settings())
    return app, json.loads(text(app))


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_the_committed_description_is_that_of_the_code(described):
    assert COMMITTED.read_text(encoding="utf-8") == text(described[0]), "python -m mixture.api.openapi writes it anew"


def test_the_service_gives_the_description(client: httpx2.Client, described):
    assert client.get("/openapi.json").json() == described[1]


VERBS = {
    "amend", "compare", "count", "export", "find", "get", "list", "plan", "publish", "register", "report", "stream",
    "sum", "trace",
}  # fmt: skip


def test_every_operation_has_an_id_and_a_title_that_say_what_it_does_and_its_problems(described):
    seen = set()
    for name, operation in operations(described[1]):
        (tag,) = operation["tags"]
        assert tag in TAGS, name
        verb, *words = operation["operationId"].split("-")
        assert verb in VERBS, name
        assert words, name
        assert operation["summary"].lower().split() == [verb, *words], name
        assert operation["operationId"] not in seen, name
        seen.add(operation["operationId"])
        assert operation["description"], name
        assert operation["responses"]["500"] == {"$ref": "#/components/responses/500"}, name


def test_every_schema_has_examples(described):
    for name, schema in described[1]["components"]["schemas"].items():
        if "enum" in schema or "example" in schema or "examples" in schema:
            continue
        for field, value in schema["properties"].items():
            shown = value.get("examples") or "$ref" in json.dumps(value)
            assert shown, f"{name}.{field}"


def test_every_parameter_has_an_example_or_a_few_values(described):
    for name, operation in operations(described[1]):
        for parameter in operation.get("parameters", ()):
            said = json.dumps(parameter)
            assert '"example' in said or '"enum"' in said or '"boolean"' in said, f"{name}: {parameter['name']}"


def test_every_reference_leads_somewhere(described):
    description = described[1]
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(description)):
        found: Any = description
        for part in reference.split("/"):
            found = found[part]
        assert found


def test_every_body_is_strict_about_fields_and_numbers(described):
    routes = routes_of(described[0])
    assert len(routes) >= len(list(operations(described[1])))
    for route in routes:
        if route.body_field is not None:
            kind = route.body_field.field_info.annotation
            assert issubclass(kind, RequestBody), route.path


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_documentation_page_loads_only_files_of_this_service(client: httpx2.Client):
    page = client.get("/docs").raise_for_status()
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert not re.search(r"https?:|\*", policy)
    links = _Links()
    links.feed(page.text)
    assert len(links.found) >= 4
    for link in links.found:
        assert "://" not in link
        answer = client.get(f"/{link}").raise_for_status()
        assert answer.content
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "SwaggerUIBundle" in client.get("/docs/swagger-ui-bundle.js").text
    assert client.get("/docs/..%2fapp.py").status_code == 404
    assert client.get("/docs/redoc.standalone.js").status_code == 404
