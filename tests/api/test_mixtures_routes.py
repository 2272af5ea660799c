"""/v1/mixtures: the list, and what a mixture says of itself."""

from __future__ import annotations

import httpx2


def test_the_repositorys_mixtures_are_there_with_nothing_configured(client: httpx2.Client):
    listed = client.get("/v1/mixtures").raise_for_status().json()
    assert [one["name"] for one in listed["items"]] == ["demo", "marin-535b-a23b", "marin-announced-80-20", "olmo-3-7b"]
    assert (listed["next"], listed["next_url"]) == (None, None)
