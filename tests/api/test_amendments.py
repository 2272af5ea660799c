"""Amended locks over HTTP: published, made by the service, refused where they rewrite what a run has read; lineage."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from api_helpers import ask

from mixture.api.database import Scope
from mixture.errors import Place
from mixture.lock import Amendment, Mask, lock_text, parse_lock
from mixture.planning.amend import amend
from mixture.planning.plan import make_lock, make_plan, plan_json
from mixture.planning.spec import read_spec

CELLS = "domain,tokens,kind\na,200000,web\nb,90000,code\nc,1000000,web\n"
MORE = CELLS + "d,500000,code\n"
SPEC = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 100 steps
phases:
  - phase: first
    share: 80%
    weights: {a: 50%, b: 30%, c: 20%}
  - phase: second
    weights: {a: 20%, b: 80%, c: 0}
"""
AMENDED = """\
mixture: small
catalog: cells.csv
sequence_length: 128
batch: 4 sequences
budget: 150 steps
phases:
  - phase: first
    share: 80%
    weights: {a: 40%, b: 20%, c: 20%, d: 20%}
  - phase: second
    weights: {a: 20%, b: 70%, c: 0, d: 10%}
"""
SMALL = {"spec": SPEC, "tables": {"cells.csv": CELLS}}
LARGER = {"spec": AMENDED, "tables": {"cells.csv": MORE}}


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def send(app):
    """send("PUT", address, body, status=200, code=None, **headers): with a token for all, gives the answer."""
    secret = app.state.services.repository.add_token("ann", [Scope.PUBLISH, Scope.RUN])[1]

    def of(method, address, body, *, status=200, code=None, **headers):
        sent = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        answer = ask(app, method, address, content=json.dumps(body).encode(), headers=sent)
        assert (answer.status_code, answer.headers.get("X-Error-Code")) == (status, code), answer.text
        return answer.json()

    return of


@pytest.fixture
def first(send):
    """The mixture `small` as it was first published."""
    return send("PUT", "/v1/mixtures/small", SMALL, status=201)


def get(app, address):
    return ask(app, "GET", address).raise_for_status().json()


def lock_of(app, ref):
    text = ask(app, "GET", f"/v1/mixtures/{ref}/lock").raise_for_status().content
    return parse_lock(text, place=Place(file="it"))


def plan_here(folder, body, **options):
    """The plan that the library makes of a body in a folder of its own."""
    folder.mkdir(exist_ok=True)
    for name, text in body["tables"].items():
        (folder / name).write_text(text)
    (folder / "mixture.yaml").write_text(body["spec"])
    return make_plan(read_spec(folder / "mixture.yaml"), **options)


def run_at(send, step, mixture="small", **fields):
    """The id of a run of the mixture that has reported a step."""
    run = send("POST", "/v1/runs", {"mixture": mixture, **fields}, status=201)["id"]
    send("POST", f"/v1/runs/{run}/progress", {"step": step}, status=201)
    return run


def amended(first, **fields):
    return {"base": first["ref"], "step": 40, **LARGER, **fields}


def test_a_lock_that_amends_is_published_with_the_figures_of_the_amended_run(app, send, first, tmp_path):
    old = lock_of(app, "small")
    plan = plan_here(tmp_path / "new", LARGER, amends=Amendment(old, 40, reason="more domains"))
    new = make_lock(plan)
    body = LARGER | {"lock": lock_text(new)}
    moved = send("PUT", "/v1/mixtures/small", body, If_Match=f'"sha256:{first["digest"]}"')
    assert (moved["digest"], moved["change"], moved["replaced"]) == (new.digest, "moved", first["digest"])
    assert send("PUT", "/v1/mixtures/small", body)["change"] == "unchanged"
    assert lock_of(app, "small") == new
    shown, made = get(app, "/v1/mixtures/small/plan"), plan_json(plan)
    assert [one["phase"] for one in shown["phases"]] == ["first", "first@40", "second"]
    for name in ("steps", "sequences", "tokens", "phases", "domains"):
        assert shown[name] == made[name], name


def test_a_lock_that_amends_and_is_not_what_spec_and_tables_give_is_refused(app, send, first):
    old = lock_of(app, "small")
    other = amend(old, 40, {"a": "1/4", "b": "3/4"})
    refused = send("PUT", "/v1/mixtures/other", SMALL | {"lock": lock_text(other)}, status=409, code="lock-differs")
    assert refused["facts"]["given"] == f"sha256:{other.digest}"
    assert "weight of 'a'" in refused["detail"] or "number of phases" in refused["detail"]
    fine = amend(old, 40, skip_steps=3)
    assert send("PUT", "/v1/mixtures/other", SMALL | {"lock": lock_text(fine)}, status=201)["digest"] == fine.digest


def test_a_lock_that_does_not_go_on_from_the_one_it_names_is_refused(app, send, first, tmp_path):
    old = lock_of(app, "small")
    stranger = make_lock(plan_here(tmp_path / "seed", SMALL | {"spec": SPEC + "seed: 7\n"}))
    liar = amend(stranger, 40, skip_steps=1)
    told = json.loads(lock_text(liar))
    told["amends"]["lock"] = old.digest
    told.pop("digest")
    from mixture.json_text import digest

    text = json.dumps(told | {"digest": digest(told)})
    body = SMALL | {"spec": SPEC + "seed: 7\n", "lock": text}
    refused = send("PUT", "/v1/mixtures/other", body, status=409, code="lineage-differs")
    assert refused["facts"]["parts_at"] == 0


def test_an_amended_run_keeps_to_a_catalog_that_lists_all_of_its_domains(app, send, first, tmp_path):
    old = lock_of(app, "small")
    fewer = {
        "spec": SPEC.replace("c: 20%", "b: 20%").replace("b: 30%, b: 20%", "b: 50%").replace(", c: 0", ""),
        "tables": {"cells.csv": CELLS.replace("c,1000000,web\n", "")},
    }
    new = make_lock(plan_here(tmp_path / "fewer", fewer, amends=Amendment(old, 40)))
    body = fewer | {"lock": lock_text(new)}
    refused = send("PUT", "/v1/mixtures/other", body, status=422, code="domain-not-listed")
    assert refused["facts"]["domain"] == "c"


def test_the_service_amends_its_own_lock_and_moves_the_name(app, send, first, tmp_path):
    old = lock_of(app, "small")
    new = make_lock(plan_here(tmp_path / "new", LARGER, amends=Amendment(old, 40, reason="why not")))
    asked = amended(first, reason="why not")
    shown = send("POST", "/v1/mixtures/small/amendments", asked | {"dry_run": True})
    assert (shown["digest"], shown["published"]) == (new.digest, False)
    assert get(app, "/v1/mixtures/small")["digest"] == old.digest, "a dry run keeps nothing"
    made = send("POST", "/v1/mixtures/small/amendments", asked)
    assert made == shown | {"published": True}
    assert (made["parts_at"], made["steps_before"], made["steps"]) == (40, 100, 150)
    drawn = new.schedule().tokens(40)
    assert {one["domain"]: one["tokens_drawn"] for one in made["domains"]} == dict(
        zip("abcd", drawn.tolist(), strict=True)
    )
    assert lock_of(app, "small") == new
    assert get(app, f"/v1/mixtures/{first['ref']}")["digest"] == old.digest, "the old one stays under its digest"
    assert send("POST", "/v1/mixtures/small/amendments", asked) == made, "sending it again changes nothing"
    assert len(get(app, "/v1/mixtures/small/moves")["items"]) == 2
    send("POST", "/v1/mixtures/small/amendments", amended(first, step=50), status=409, code="name-conflict")


def test_text_is_left_out_and_taken_down_without_a_spec(app, send, first):
    mask = {"domain": "a", "first_token": 640, "tokens": 64}
    asked = {"base": first["ref"], "step": 30, "skip_steps": 2, "masks": [mask], "reason": "a loss spike"}
    made = send("POST", "/v1/mixtures/small/amendments", asked)
    old, new = lock_of(app, first["ref"]), lock_of(app, "small")
    assert new == amend(old, 30, skip_steps=2, masks=[Mask(30, "a", 640, 64)], reason="a loss spike")
    assert (made["masks"], made["tokens_skipped"]) == (1, 2 * 8 * 64)
    assert ask(app, "GET", "/v1/mixtures/small/spec").text == SPEC


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"base": "small"}, 422, "base-invalid"),
        ({"base": f"small@sha256:{'0' * 64}"}, 404, "unknown-mixture"),
        ({"step": 101}, 422, "amend-outside-run"),
        ({"skip_steps": 1}, 422, "skip-not-here"),
        ({"spec": None}, 422, "invalid-request"),
        ({"tables": {"cells.csv": MORE.replace("a,200000", "a,200001")}}, 422, "domain-changed"),
        ({"masks": [{"domain": "a", "first_token": 0, "tokens": 64, "first_step": 10}]}, 422, "mask-invalid"),
        ({"masks": [{"domain": "a", "first_token": 200000, "tokens": 64}]}, 422, "mask-invalid"),
        ({"spec": AMENDED.replace("128", "100000")}, 422, "block-not-multiple"),
        ({"reason": ""}, 422, "invalid-request"),
    ],
)
def test_what_can_not_be_amended_is_refused_with_its_code(app, send, first, fields, status, code):
    send("POST", "/v1/mixtures/small/amendments", amended(first, **fields), status=status, code=code)
    assert get(app, "/v1/mixtures/small")["digest"] == first["digest"]


def test_an_amendment_takes_a_token_that_may_publish(app, first):
    answer = ask(app, "POST", "/v1/mixtures/small/amendments", json=amended(first, dry_run=True))
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (401, "token-missing")


def test_a_built_in_mixture_is_amended_under_another_name(app, send):
    demo = get(app, "/v1/mixtures/demo")
    asked = {"base": demo["ref"], "step": 100, "skip_steps": 4}
    send("POST", "/v1/mixtures/demo/amendments", asked, status=409, code="name-built-in")
    assert send("POST", "/v1/mixtures/demo/amendments", asked | {"dry_run": True})["published"] is False
    made = send("POST", "/v1/mixtures/my-demo/amendments", asked, status=201)
    assert lock_of(app, "my-demo").amends.lock == demo["digest"]
    assert send("POST", "/v1/mixtures/my-demo/amendments", asked) == made


def test_what_a_run_has_read_is_not_rewritten(app, send, first):
    run = run_at(send, 41, name="ablation 7")
    for body in (amended(first), amended(first, dry_run=True)):
        refused = send("POST", "/v1/mixtures/small/amendments", body, status=409, code="run-consumed")
        assert refused["facts"]["runs"] == [{"run": run, "name": "ablation 7", "step": 41, "parts_at": 40}]
        assert "'ablation 7'" in refused["detail"]
        assert "41 steps" in refused["detail"]
        assert "step 40" in refused["detail"]
    tag = f'"sha256:{first["digest"]}"'
    seeded = SMALL | {"spec": SPEC + "seed: 1\n"}
    refused = send("PUT", "/v1/mixtures/small", seeded, status=409, code="run-consumed", If_Match=tag)
    assert refused["facts"]["runs"][0]["parts_at"] == 0
    assert get(app, "/v1/mixtures/small")["digest"] == first["digest"]
    send("POST", "/v1/mixtures/small/amendments", amended(first, step=41))


def test_runs_stand_in_the_way_only_of_what_they_have_read(app, send, first):
    run_at(send, 40)
    run_at(send, 100, name="finished")
    send("POST", "/v1/runs", {"mixture": "small", "name": "not begun"}, status=201)
    send("PUT", "/v1/mixtures/other", SMALL | {"spec": SPEC.replace("small", "other")}, status=201)
    run_at(send, 90, "other")
    send("POST", "/v1/mixtures/small/amendments", amended(first))


def test_a_run_is_left_behind_by_its_id(app, send, first):
    run, other = run_at(send, 60), run_at(send, 70)
    body = amended(first, leaves_runs=[run])
    refused = send("POST", "/v1/mixtures/small/amendments", body, status=409, code="run-consumed")
    assert [one["run"] for one in refused["facts"]["runs"]] == [other]
    send("POST", "/v1/mixtures/small/amendments", amended(first, leaves_runs=[run, other]))
    assert get(app, f"/v1/runs/{run}")["digest"] == first["digest"]


def test_the_lineage_leads_to_the_locks_that_are_here(app, send, first):
    plain = get(app, "/v1/mixtures/small/lineage")
    assert plain["amendments"] == []
    assert plain["resumable"] == [{"lock": first["digest"], "up_to_step": 100, "own": True}]
    assert [one["digest"] for one in plain["versions"]] == [first["digest"]]
    second = send("POST", "/v1/mixtures/small/amendments", amended(first, reason="more"))
    third = send("POST", "/v1/mixtures/small/amendments", {"base": second["ref"], "step": 60, "skip_steps": 1})
    found = get(app, "/v1/mixtures/small/lineage")
    one, two = found["amendments"]
    assert (one["step"], one["amended"], one["made"], one["reason"]) == (40, first["digest"], second["digest"], "more")
    assert (two["step"], two["amended"], two["made"]) == (60, second["digest"], third["digest"])
    assert (one["parts_at"], two["parts_at"]) == (40, 60)
    assert one["change"]["sequence_length"] == {"before": 64, "after": 128}
    assert two["change"]["skip_sequences"] == 4
    assert "A sequence has 128 tokens and no longer 64." in one["words"]
    for amendment in (one, two):
        assert get(app, amendment["url"])["digest"] == amendment["amended"]
    assert [entry["up_to_step"] for entry in found["resumable"]] == [40, 60, 150]
    assert [entry["revision"] for entry in found["versions"]] == [3, 2, 1]
    assert all(entry["in_lineage"] for entry in found["versions"])


def test_every_route_and_page_of_an_amended_mixture_answers(app, send, first):
    made = send("POST", "/v1/mixtures/small/amendments", amended(first))
    here = "/v1/mixtures/small"
    for address in (
        here, f"{here}/plan", f"{here}/lock", f"{here}/spec", f"{here}/moves", f"{here}/lineage",
        f"{here}/composition", f"{here}/composition?by=kind&points=7", f"{here}/composition?phase=first@40",
        f"{here}/positions?first_position=0&last_position=8", f"{here}/counts?step=40", f"{here}/find?domain=d&token=0",
        f"{here}/handoffs", f"{here}/history?step=40", f"{here}/steps/40", f"{here}/steps/149/sequences",
        "/v1/catalogs/small", "/v1/catalogs/small/domains", "/v1/catalogs/small/domains/d", "/v1/catalogs",
        "/v1/catalogs/small/sums?by=kind", "/v1/mixtures", f"{here}/diff/{first['ref']}",
    ):  # fmt: skip
        answer = ask(app, "GET", address)
        assert answer.status_code == 200, f"{address}: {answer.text[:500]}"
    for address in (
        "/", "/mixtures/small", "/mixtures/small?sort=-weight:first@40", "/mixtures/small?by=kind",
        f"/mixtures/small?with={first['ref']}", f"/mixtures/{made['ref']}?with=demo",
        "/mixtures/small?with=demo&phase=first@40", "/mixtures/small.csv", "/mixtures/small/steps/40",
        "/catalogs/small", "/catalogs/small?phase=first@40", "/catalogs/small?cell=d",
    ):  # fmt: skip
        answer = ask(app, "GET", address, headers={"Accept": "text/html"})
        assert answer.status_code == 200, f"{address}: {answer.text[:500]}"


def test_what_if_sends_amended_mixtures_elsewhere(app, send, first):
    send("POST", "/v1/mixtures/small/amendments", amended(first))
    refused = send("POST", "/v1/mixtures/small/what-if", {"budget": "200 steps"}, status=409, code="what-if-amended")
    assert "/v1/mixtures/small/amendments" in refused["hint"]
    assert ask(app, "GET", "/mixtures/small/what-if").status_code == 409
    assert ask(app, "GET", f"/mixtures/{first['ref']}/what-if").status_code == 200


FITTED = """\
mixture: small
catalog: cells.csv
sequence_length: 64
batch: 8 sequences
budget: 1000 steps
phases:
  - phase: all
    weights: {unimax: {max_epochs: 1}}
"""


def test_weights_that_are_fitted_again_are_in_the_preview_and_are_kept_where_that_is_asked(app, send):
    # Of 512,000 tokens a has its 200,000, b its 90,000 and c the rest; of 256,000 each has a third, b 85,333.
    first = send("PUT", "/v1/mixtures/small", {"spec": FITTED, "tables": {"cells.csv": CELLS}}, status=201)
    (old,) = lock_of(app, "small").data.segments
    shorter = {"base": first["ref"], "step": 200, "spec": FITTED.replace("1000 steps", "500 steps")}

    def found(answer):
        return [one for one in answer["findings"] if one["code"].startswith("weights-")]

    looked = send("POST", "/v1/mixtures/small/amendments", shorter | {"dry_run": True})
    (moved,) = found(looked)
    assert (moved["code"], moved["level"], moved["facts"]["rules"]) == ("weights-moved", "warning", ["unimax"])
    apart = Fraction(moved["facts"]["total_variation"]["ratio"]) - (Fraction(85_333, 256_000) - Fraction(90, 512))
    assert abs(apart) < Fraction(1, 10**14)
    assert [one["domain"] for one in moved["facts"]["movers"]] == ["b", "c", "a"]
    looked = send("POST", "/v1/mixtures/small/amendments", shorter | {"dry_run": True, "keep_weights": True})
    assert [one["code"] for one in found(looked)] == ["weights-kept"]
    kept = send("POST", "/v1/mixtures/small/amendments", shorter | {"keep_weights": True})
    assert kept["digest"] == looked["digest"]
    (new,) = lock_of(app, "small").data.segments
    assert (new.steps, new.weights) == (500, old.weights)
    # Without a spec the weights go on; the lock is still what spec and tables give, here and where it is published.
    skip = {"base": kept["ref"], "step": 300, "skip_steps": 5}
    again = send("POST", "/v1/mixtures/small/amendments", skip)
    assert {one.weights for one in lock_of(app, "small").data.segments} == {old.weights}
    copy = {"spec": shorter["spec"], "tables": {"cells.csv": CELLS}, "lock": lock_text(lock_of(app, "small"))}
    assert send("PUT", "/v1/mixtures/copy", copy, status=201)["digest"] == again["digest"]
    assert [one["keep_weights"] for one in get(app, "/v1/mixtures/small/lineage")["amendments"]] == [True, True]
    send("POST", "/v1/mixtures/small/amendments", skip | {"keep_weights": True}, status=422, code="invalid-request")
