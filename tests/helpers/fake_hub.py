"""A Hub without a network, in the shape of `ports.Hub`."""

from typing import TypeVar

from holdfast.catalog.hub.flavors import table_prices
from holdfast.catalog.hub.permissions import VALID
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.hub import Account, Link, PushTarget, Repo, RepoTree
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError
from holdfast.core.plan.hardware import PriceList

Found = TypeVar("Found")


class FakeHub:
    """A Hub that knows everything but what is lost, and keeps in mind what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def account(self) -> Account:
        return Account(token=VALID, name="me")

    def repo(self, reference: Reference) -> Repo:
        return self.known(reference, Repo(name=reference.name))

    def dataset(self, reference: Reference) -> Dataset:
        return self.known(reference, Dataset(columns=("text",)))

    def model(self, reference: Reference) -> ModelFacts:
        return self.known(reference, ModelFacts(files=frozenset()))

    def tensors(self, reference: Reference) -> frozenset[str]:
        return self.known(reference, frozenset({"weight"}))

    def target(self, reference: Reference) -> PushTarget:
        return self.known(reference, PushTarget(name=reference.name, namespace="me"))

    def link(self, _: str) -> Link:
        return Link(status=200)

    def job_prices(self) -> PriceList:
        return table_prices()

    def repo_tree(self, _: Reference) -> RepoTree:
        return RepoTree(files=None)

    def known(self, reference: Reference, found: Found) -> Found:
        self.asked.append(reference.name)
        if reference.name.endswith("lost"):
            raise SourceError("the Hub hides it", where=reference.name, fix="")
        return found
