"""Protocols of the adapters: what the engine may need from outside."""

from holdfast.ports.runs import (
    AttemptOutput,
    Backend,
    Clock,
    LogPart,
    Order,
    Orders,
    OutputNews,
    PollResult,
    RemoteFile,
    Retrieval,
    Schedules,
    Store,
)
from holdfast.ports.sources import (
    Batch,
    Datasets,
    Hub,
    LocalReferences,
    Machines,
    Models,
    Rows,
    Tokenizer,
)

__all__ = [
    "AttemptOutput",
    "Backend",
    "Batch",
    "Clock",
    "Datasets",
    "Hub",
    "LocalReferences",
    "LogPart",
    "Machines",
    "Models",
    "Order",
    "Orders",
    "OutputNews",
    "PollResult",
    "RemoteFile",
    "Retrieval",
    "Rows",
    "Schedules",
    "Store",
    "Tokenizer",
]
