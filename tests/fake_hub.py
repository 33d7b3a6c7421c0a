"""A Hub without a network, in the shape of `ports.Hub`."""

from typing import TypeVar

from holdfast.catalog.permissions import VALID
from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset, Model
from holdfast.core.hub import Account, Link, Repo, Shelf, Target
from holdfast.core.mention import Mention

Found = TypeVar("Found")


class FakeHub:
    """A Hub that knows everything but what is lost, and keeps in mind what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def account(self) -> Account:
        return Account(token=VALID, name="me")

    def repo(self, mention: Mention) -> Repo:
        return self.known(mention, Repo(name=mention.name))

    def dataset(self, mention: Mention) -> Dataset:
        return self.known(mention, Dataset(columns=("text",)))

    def model(self, mention: Mention) -> Model:
        return self.known(mention, Model(files=frozenset()))

    def tensors(self, mention: Mention) -> frozenset[str]:
        return self.known(mention, frozenset({"weight"}))

    def target(self, mention: Mention) -> Target:
        return self.known(mention, Target(name=mention.name, namespace="me"))

    def link(self, _: str) -> Link:
        return Link(status=200)

    def shelf(self, _: Mention) -> Shelf:
        return Shelf(files=None)

    def known(self, mention: Mention, found: Found) -> Found:
        self.asked.append(mention.name)
        if mention.name.endswith("lost"):
            raise SourceError("the Hub hides it", where=mention.name, fix="")
        return found
