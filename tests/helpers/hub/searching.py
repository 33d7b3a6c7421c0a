"""Search for models, datasets and Spaces.

Source: the parameters that `HfApi.list_models`, `list_datasets` and `list_spaces` of huggingface_hub 2.4.0 send. The real search is fuzzier than this one,
which wants every word of the query in the id, whatever its capitals.
"""

from collections.abc import Callable
from typing import Any

from tests.helpers.hub import metadata
from tests.helpers.hub.exchange import Reply
from tests.helpers.hub.paging import page_of
from tests.helpers.hub.repositories import Repository
from tests.helpers.hub.world import Visit

SHORT = {
    "model": ("likes", "trendingScore", "private", "downloads", "tags", "pipeline_tag", "library_name", "createdAt"),
    "dataset": (
        [
            "author",
            "sha",
            "lastModified",
            "likes",
            "trendingScore",
            "private",
            "gated",
            "disabled",
            "downloads",
            "tags",
            "createdAt",
            "description",
        ]
    ),
    "space": ("likes", "trendingScore", "private", "sdk", "tags", "createdAt"),
}
FULL = ("author", "gated", "disabled", "lastModified", "sha", "siblings")
SORTS: dict[str, Callable[[Repository], Any]] = {
    "downloads": lambda repo: repo.downloads,
    "likes": lambda repo: repo.likes,
    "trendingScore": lambda repo: repo.likes,
    "createdAt": lambda repo: repo.made_s,
    "lastModified": lambda repo: repo.head.made_s,
}


def search(visit: Visit) -> Reply:
    """GET /api/models, /api/datasets, /api/spaces."""
    world, asked = visit.world, visit.request
    found = [
        repo
        for repo in world.repositories.values()
        if repo.kind == visit.kind and world.accounts.sees(visit.token, repo) and _matches(visit, repo)
    ]
    found.sort(key=SORTS.get(asked.get("sort", "trendingScore"), SORTS["trendingScore"]), reverse=True)
    limit = int(asked.get("limit", "0")) or None
    return page_of(visit, [_told(visit, repo) for repo in found], limit)


def _matches(visit: Visit, repo: Repository) -> bool:
    asked = visit.request
    words = asked.get("search").lower().split()
    if not all(word in repo.name.lower() for word in words) or asked.get("author", repo.namespace) != repo.namespace:
        return False
    if asked.get("gated") and asked.says("gated") != bool(repo.gated):
        return False
    told = metadata.describe(repo, repo.head)
    known = {*told["tags"], told.get("pipeline_tag"), told.get("library_name")}
    return known.issuperset([*asked.all("filter"), *asked.all("pipeline_tag")])


def _told(visit: Visit, repo: Repository) -> dict[str, Any]:
    asked = visit.request
    told = metadata.describe(repo, repo.head)
    wanted = asked.all("expand") or [
        *SHORT[repo.kind],
        *(FULL if asked.says("full") else ()),
        *(["cardData"] if asked.says("cardData") else ()),
        *(["config"] if asked.says("config") else ()),
    ]
    return metadata.head(repo) | {key: told[key] for key in wanted if key in told}
