"""Code that makes a dataset fit a method, tried on its rows before anybody sees it."""

from holdfast.engine.mapping.proposing import Proposal, propose

__all__ = ["Proposal", "propose"]
