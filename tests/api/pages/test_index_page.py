"""The first page: every mixture, and where to read on."""

from playwright.sync_api import expect


def test_the_first_page_lists_the_mixtures_and_leads_to_their_pages(page, service, look):
    page.goto(f"{service}/")
    rows = page.get_by_role("region", name="Mixtures").get_by_role("row")
    expect(rows).to_have_count(5)
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
