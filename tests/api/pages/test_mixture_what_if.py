"""What if, on a page: a form whose changes are the address, planned by the service, saved as a spec."""

import pytest
from playwright.sync_api import expect

PAGE = "/mixtures/demo/what-if"


def test_what_is_typed_is_planned_at_once_and_the_address_keeps_it(page, service, look):
    page.goto(f"{service}/mixtures/demo")
    page.get_by_role("link", name="what if").click()
    expect(page.locator("#outcome")).to_contain_text("Nothing is changed yet.")
    page.get_by_label("reference in pretraining").fill("90%")
    expect(page.locator("#outcome .lead")).to_contain_text("It could not be locked as it is.")
    expect(page.locator("#result")).to_contain_text("math would be read")
    expect(page.locator("#result .said")).to_contain_text("weighed domains were 85.6727% together and are 10%")
    expect(page.locator("#result .findings-changed")).to_contain_text("over-epochs")
    expect(page).to_have_url(f"{service}{PAGE}?by=kind&share%3Apretraining%3Areference=90%25")
    look("mixture-what-if")
    page.reload()
    expect(page.get_by_label("reference in pretraining")).to_have_value("90%")
    expect(page.locator("#outcome .lead")).to_contain_text("It could not be locked as it is.")


def test_what_is_put_in_place_can_be_sorted_and_copied_and_its_data_are_those_that_it_shows(page, service):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{service}{PAGE}?by=kind&budget=1000+steps")
    sorts = page.locator("#figures th button")
    expect(sorts).to_have_count(18)
    page.get_by_label("Budget").fill("900 steps")
    expect(page.locator("#outcome")).to_contain_text("in 900 steps")
    expect(sorts).to_have_count(18)
    rows = page.locator("#after-domains tbody tr")
    page.locator("#after-domains").get_by_role("button", name="Domain").click()
    expect(rows.first).to_contain_text("books")
    page.locator("#after-domains").get_by_role("button", name="Domain").click()
    expect(rows.first).to_contain_text("web-mid")
    page.locator(".yaml").get_by_role("button", name="Copy").click()
    assert "\nbudget: 900 steps\n" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_text("Data of this page").click()
    link = page.locator("#data").get_by_role("link", name=".csv")
    expect(link).to_have_attribute("href", f"{PAGE}.csv?by=kind&budget=900+steps")
    page.locator("#data .copy", has_text="curl").get_by_role("button").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"curl -sS '{service}{PAGE}.csv?by=kind&budget=900+steps'"


@pytest.mark.parametrize("share", ["20%", "700%"])
def test_what_comes_of_it_or_what_is_wrong_stands_under_the_button_and_before_the_shares(page, service, share):
    page.goto(f"{service}/mixtures/marin-535b-a23b/what-if?by=cluster")
    page.get_by_label("c14 in main").fill(share)
    page.get_by_role("button", name="Plan").click()
    outcome = page.locator("#outcome p")
    expect(outcome).to_contain_text("tokens in 390,251 steps" if share == "20%" else "sum to 700%")
    button, said, shares = (
        one.bounding_box() for one in (page.get_by_role("button", name="Plan"), outcome, page.locator("details.shares"))
    )
    assert button["y"] < said["y"] < button["y"] + 150
    assert said["y"] + said["height"] <= shares["y"]


def test_the_lead_alone_is_spoken_when_the_result_changes(page, service):
    page.goto(f"{service}{PAGE}?by=kind&budget=1000+steps")
    live = page.locator("main").locator("[aria-live], [role=status], [role=alert]")
    expect(live).to_have_count(1)
    assert page.locator("main table, main pre").count() > 0
    assert live.locator("table, pre, ul").count() == 0


def test_the_changed_spec_is_saved_as_a_file(page, service):
    page.goto(f"{service}{PAGE}?budget=1000+steps")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as YAML").click()
    assert saving.value.suggested_filename == "demo-what-if.yaml"
    text = saving.value.path().read_text()
    assert text.startswith("# What if: budget 1000 steps.\n# Made of demo@sha256:")
    assert "\nmixture: demo-what-if\n" in text
    expect(page.locator("#result")).to_contain_text("save it beside them, in the folder of that mixture")
    assert "\nbudget: 1000 steps\n" in text
    assert page.locator("#result .yaml code").text_content() == text


def test_without_scripts_the_form_asks_for_the_same_page(browser, service):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{service}{PAGE}?by=kind")
    page.get_by_label("web in pretraining").fill("30%")
    page.get_by_label("pretraining until").fill("step 9000")
    page.get_by_role("button", name="Plan").click()
    expect(page.locator("#result .said li").first).to_contain_text("were 40% together and are 70%")
    expect(page.get_by_label("pretraining until")).to_have_value("step 9000")
    expect(page.get_by_role("region", name="By kind").locator("tbody tr").first).to_contain_text("web")
    context.close()


def test_what_is_refused_is_said_beside_the_form_and_data_are_refused_as_such(page, service):
    asked = "?by=kind&share:pretraining:web=160%25"
    page.goto(f"{service}{PAGE}{asked}")
    expect(page.get_by_role("status")).to_contain_text("sum to 160%")
    expect(page.get_by_label("web in pretraining")).to_have_value("160%")
    answer = page.request.get(f"{service}{PAGE}.csv{asked}")
    assert (answer.status, answer.json()["code"]) == (422, "weights-sum")


@pytest.mark.parametrize("is_typed", [True, False])
def test_all_that_is_wrong_is_said_at_once_and_each_input_is_marked(page, service, is_typed):
    first, other = page.get_by_label("web in pretraining"), page.get_by_label("code in midtraining")
    if is_typed:
        page.goto(f"{service}{PAGE}?by=kind")
        first.fill("17.85")
        other.fill("-99")
    else:
        page.goto(f"{service}{PAGE}?by=kind&share:pretraining:web=17.85&share:midtraining:code=some")
    expect(page.locator("#outcome p").last).to_contain_text("did you mean '17.85%'?")
    expect(first).to_have_attribute("aria-invalid", "true")
    first.fill("+5")
    expect(first).not_to_have_attribute("aria-invalid", "true")
    expect(other).to_have_attribute("aria-invalid", "true")
    other.fill("-5")
    expect(page.locator("#outcome .lead")).to_contain_text("tokens in 19,073 steps")
    expect(page.locator("[aria-invalid]")).to_have_count(0)


def test_the_data_are_the_domains_before_and_after(page, service):
    answer = page.request.get(f"{service}{PAGE}.csv?by=domain&share:pretraining:math=50%25")
    lines = answer.text().splitlines()
    assert lines[0].startswith('"domain","tokens_before","tokens","tokens_missing","share_before"')
    assert lines[1].startswith('"math",')
    assert len(lines) == 11


@pytest.mark.parametrize("name", ["mixture-what-if-dark", "mixture-what-if-narrow"])
def test_a_what_if_can_be_read_in_the_dark_and_on_a_phone(page, service, look, name):
    if name == "mixture-what-if-dark":
        page.emulate_media(color_scheme="dark")
    else:
        page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{service}{PAGE}?by=kind&share:pretraining:reference=90%25")
    expect(page.locator(".lead")).to_contain_text("It could not be locked as it is.")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    look(name)
