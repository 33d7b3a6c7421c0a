"""The Hub itself: each of its methods is one question, which is asked at most once in a process."""

from collections.abc import Mapping
from functools import partial

from holdfast.adapters.hub.accounts import fetch_account, reach
from holdfast.adapters.hub.answers import ResponseCache
from holdfast.adapters.hub.datasets import fetch_dataset
from holdfast.adapters.hub.links import fetch_link
from holdfast.adapters.hub.models import fetch_model
from holdfast.adapters.hub.prices import fetch_job_prices
from holdfast.adapters.hub.repo_trees import fetch_repo_tree
from holdfast.adapters.hub.repos import fetch_repo
from holdfast.adapters.hub.session import HubSession
from holdfast.adapters.hub.settings import HubSettings, read_settings
from holdfast.adapters.hub.targets import fetch_target
from holdfast.adapters.hub.weights import fetch_tensors
from holdfast.adapters.hub.wire import CircuitBreaker
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.hub import Account, Link, PushTarget, Repo, RepoTree
from holdfast.core.check.reference import Reference
from holdfast.core.plan.hardware import PriceList

ANSWERS = ResponseCache()
"""The answers that this process received."""
REACH = CircuitBreaker()
"""Which hosts it did not reach."""


class HubClient:
    """The Hub, as one token sees it, for one check: its clock starts with the first question.

    Any of its methods may be called from several threads at once.
    """

    def __init__(
        self, settings: HubSettings, *, answers: ResponseCache = ANSWERS, reach: CircuitBreaker = REACH
    ) -> None:
        """Take how the Hub is contacted, and what is known of it."""
        self._asking = HubSession(settings, answers, reach)

    @classmethod
    def of(cls, environ: Mapping[str, str], *, anew: bool = False) -> "HubClient":
        """Return the Hub that the environment names.

        Args:
            environ: The environment's variables.
            anew: Whether it is asked what this process has heard of it already, too: of another token, say.

        Raises:
            UsageError: One of its variables cannot be read.
        """
        return cls(read_settings(environ), answers=ResponseCache() if anew else ANSWERS)

    def account(self) -> Account:
        """Return whose token is at hand; without one, no request is sent."""
        return fetch_account(self._asking)

    def reach(self) -> None:
        """Ask the Hub something, to see that it answers."""
        reach(self._asking)

    def repo(self, reference: Reference) -> Repo:
        """Return the repository that is named; one that is not there comes with the nearest that are."""
        return fetch_repo(self._asking, reference.repo_kind, reference.name, reference.revision)

    def dataset(self, reference: Reference) -> Dataset:
        """Return the known facts about a dataset, without reading its rows."""
        about = ("dataset", reference.name, reference.revision, reference.config, reference.split, reference.files)
        return self._asking.once(about, partial(fetch_dataset, self._asking, reference))

    def model(self, reference: Reference) -> ModelFacts:
        """Return the known facts about a model, an adapter or a tokenizer, without its weights."""
        about = ("model", reference.name, reference.revision)
        return self._asking.once(about, partial(fetch_model, self._asking, reference))

    def tensors(self, reference: Reference) -> frozenset[str]:
        """Return the names of a model's weights: `model.layers.0.self_attn.q_proj.weight`."""
        about = ("tensors", reference.name, reference.revision)
        return self._asking.once(about, partial(fetch_tensors, self._asking, reference))

    def target(self, reference: Reference) -> PushTarget:
        """Return what this token may do to a repository that is pushed to."""
        about = ("target", reference.repo_kind, reference.name)
        return self._asking.once(about, partial(fetch_target, self._asking, reference.repo_kind, reference.name))

    def link(self, address: str) -> Link:
        """Return the target of an address."""
        return fetch_link(self._asking, address)

    def job_prices(self) -> PriceList:
        """Return what an hour of each flavor of Hugging Face Jobs costs today."""
        return fetch_job_prices(self._asking)

    def repo_tree(self, reference: Reference) -> RepoTree:
        """Return the current files of a repository with their digests; never from the cache."""
        return fetch_repo_tree(self._asking, reference)
