"""The first page: every mixture, and where to read on."""

from playwright.sync_api import expect


def test_the_first_page_lists_the_mixtures_and_leads_to_their_pages(page, service, look):
    page.goto(f"{service}/")
    rows = page.get_by_role("region", name="Mixtures").get_by_role("row")
    expect(rows).to_have_count(7)
    expect(rows.filter(has_text="marin-announced-80-20")).to_contain_text("18.75T")
    link = page.get_by_role("link", name="marin-535b-a23b", exact=True)
    assert link.get_attribute("href") == "/mixtures/marin-535b-a23b"
    look("index")


def test_in_the_dark_the_first_page_can_be_read_too(page, service, look):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{service}/")
    expect(page.get_by_role("heading", name="Mixtures")).to_be_visible()
    look("index-dark")


def test_the_data_of_the_first_page_is_at_its_address_with_an_ending(page, service):
    page.goto(f"{service}/")
    page.get_by_text("Data of this page").click()
    answer = page.request.get(f"{service}{page.get_by_role('link', name='.csv').get_attribute('href')}")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text().splitlines()[0] == '"name","digest","tokens","steps","domains"'


def test_who_comes_by_a_browser_is_told_in_words_what_is_not_there(page, service):
    # Not by going there: the console of a browser counts every 404 as an error.
    asked = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = page.request.get(f"{service}/mixtures/marin-535b-a23c", headers=asked)
    assert answer.status == 404
    assert answer.headers["x-error-code"] == "unknown-mixture"
    assert answer.headers["content-type"].startswith("text/html")
    page.set_content(answer.text())
    expect(page.get_by_role("main")).to_contain_text("Did you mean 'marin-535b-a23b'?")


def test_programs_are_told_in_json(page, service):
    answer = page.request.get(f"{service}/mixtures/marin-535b-a23c.json", headers={"Accept": "text/html"})
    assert answer.headers["content-type"] == "application/problem+json"
    assert page.request.get(f"{service}/mixtures/nobody", headers={"Accept": "*/*"}).json()["code"] == "unknown-mixture"


def test_the_lists_that_people_try_are_on_the_first_page(page, service):
    for path in ("/mixtures", "/catalogs", "/runs"):
        assert page.request.get(f"{service}{path}").url == f"{service}/"
