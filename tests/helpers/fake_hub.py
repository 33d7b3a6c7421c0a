"""A Hub without a network, in the shape of `ports.Hub`."""

from typing import TypeVar

from holdfast.catalog.hub.permissions import VALID
from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset, ModelFacts
from holdfast.core.hub import Account, Link, PushTarget, Repo, RepoTree
from holdfast.core.mention import Reference

Found = TypeVar("Found")


class FakeHub:
    """A Hub that knows everything but what is lost, and keeps in mind what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def account(self) -> Account:
        return Account(token=VALID, name="me")

    def repo(self, mention: Reference) -> Repo:
        return self.known(mention, Repo(name=mention.name))

    def dataset(self, mention: Reference) -> Dataset:
        return self.known(mention, Dataset(columns=("text",)))

    def model(self, mention: Reference) -> ModelFacts:
        return self.known(mention, ModelFacts(files=frozenset()))

    def tensors(self, mention: Reference) -> frozenset[str]:
        return self.known(mention, frozenset({"weight"}))

    def target(self, mention: Reference) -> PushTarget:
        return self.known(mention, PushTarget(name=mention.name, namespace="me"))

    def link(self, _: str) -> Link:
        return Link(status=200)

    def repo_tree(self, _: Reference) -> RepoTree:
        return RepoTree(files=None)

    def known(self, mention: Reference, found: Found) -> Found:
        self.asked.append(mention.name)
        if mention.name.endswith("lost"):
            raise SourceError("the Hub hides it", where=mention.name, fix="")
        return found
