"""Code that makes a dataset fit a method, tried on its rows before anybody sees it."""

from holdfast.engine.mapping.proposing import Proposal, propose
from holdfast.engine.mapping.usual import strange_rows

__all__ = ["Proposal", "propose", "strange_rows"]
