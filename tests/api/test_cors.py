"""Pages of other origins that are named in the settings may read, with a token too."""

from __future__ import annotations

from api_helpers import ask

PAGE = "https://dashboard.example"


def test_a_page_asks_first_and_then_reads_with_its_token(make_app):
    app = make_app(cors_origins=[PAGE], public_reads=False)
    asked = "authorization,if-none-match,last-event-id,accept"
    headers = {"Origin": PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": asked}
    first = ask(app, "OPTIONS", "/v1/mixtures/demo/composition", headers=headers)
    assert first.status_code == 200
    allowed = {name.strip().lower() for name in first.headers["access-control-allow-headers"].split(",")}
    assert allowed >= set(asked.split(","))
    secret = app.state.services.repository.add_token("page", ["read"])[1]
    answer = ask(app, "GET", "/v1/mixtures", headers={"Origin": PAGE, "Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)
    shown = {name.strip() for name in answer.headers["access-control-expose-headers"].split(",")}
    assert shown >= {"ETag", "Link", "Retry-After", "X-Error-Code", "X-Request-ID"}
    refused = ask(app, "GET", "/v1/mixtures", headers={"Origin": PAGE})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


def test_other_pages_and_writes_are_not_let_in(make_app):
    app = make_app(cors_origins=[PAGE])
    other = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    assert ask(app, "OPTIONS", "/v1/mixtures", headers=other).status_code == 400
    put = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
    assert ask(app, "OPTIONS", "/v1/mixtures/demo", headers=put).status_code == 400
