"""Schedules of fixed lengths that a script sets beside a number of steps which it computes from its rows: few rows, few steps."""

from typing import Any

from ..events import EventWriter
from ..wrapping import when_imported, wrap
from .part import any_part


def install(events: EventWriter) -> None:
    """Have such schedules fit into the steps that there are."""
    when_imported("peft.tuners.adalora.config", lambda module: _fit_adalora(module.AdaLoraConfig, events))


def _fit_adalora(owner: Any, events: EventWriter) -> None:
    """Have AdaLora warm up and settle in a quarter of its steps each, where these are too few for what it was given."""

    def fit(original: Any, config: Any) -> None:
        steps = config.total_step
        if any_part() and steps and steps > 0 and config.tinit >= steps - config.tfinal:
            before, config.tinit, config.tfinal = (config.tinit, config.tfinal), steps // 4, steps // 4
            events.shrunk("AdaLora's tinit and tfinal", before, (config.tinit, config.tfinal))
        original(config)

    wrap(owner, "__post_init__", fit)
