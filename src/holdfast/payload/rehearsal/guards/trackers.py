"""Trackers are left in peace: wandb is switched off by its own means, what others say goes nowhere.

A tracker that is named and not installed fails as it does in reality. TensorBoard writes files, and stays. What a run is
asked for gives an object that does nothing.
"""

import functools
import os
from collections.abc import Iterator
from typing import Any

from ..events import EventWriter
from ..wrapping import when_imported, wrap

ELSEWHERE = "the tracker itself: a run with its key"
SILENT = {
    "trackio": "init log log_system log_gpu log_cpu log_artifact use_artifact save finish alert show sync freeze delete_project",
    "mlflow": "set_tracking_uri set_experiment start_run end_run active_run last_active_run log_param log_params log_metric "
    "log_metrics log_artifact log_artifacts log_text log_dict log_figure log_input set_tag set_tags autolog register_model",
    "comet_ml": "init login start Experiment OfflineExperiment ExistingExperiment get_running_experiment get_global_experiment",
    "swanlab": "init login log finish",
    "neptune": "init_run init init_project",
    "aim": "Run",
    "dvclive": "Live",
}
"""What modules of trackers offer that begins or feeds a run."""
CALLBACKS = (
    "TrackioCallback CometCallback MLflowCallback DagsHubCallback NeptuneCallback ClearMLCallback FlyteCallback "
    "DVCLiveCallback SwanLabCallback KubeflowCallback AzureMLCallback CodeCarbonCallback"
)
"""Callbacks of transformers that feed trackers; wandb's is left to wandb."""


class Harmless:
    """Whatever is asked of it, it is itself again."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> "Harmless":  # noqa: D102 - it does nothing
        return self

    def __getitem__(self, _: Any) -> "Harmless":
        return self

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __enter__(self) -> "Harmless":  # noqa: PYI034 - Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, _: Any) -> bool:
        return False

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return ""

    def __fspath__(self) -> str:
        return os.devnull


def install(events: EventWriter) -> None:
    """Silence trackers as they are imported."""
    os.environ["WANDB_MODE"] = "disabled"
    os.environ["WANDB_SILENT"] = "true"
    when_imported("wandb", lambda module: _switch_off_wandb(module, events))
    for name, functions in SILENT.items():
        when_imported(name, functools.partial(_silence, functions.split(), events))
    when_imported("clearml", lambda module: _silence(["init", "create", "current_task"], events, module.Task))
    when_imported("transformers.integrations.integration_utils", lambda module: _silence_callbacks(module, events))


def _switch_off_wandb(module: Any, events: EventWriter) -> None:
    def begin(original: Any, *args: Any, **kwargs: Any) -> Any:
        _report_tracker("wandb", events)
        os.environ["WANDB_MODE"] = "disabled"
        return original(*args, **kwargs | {"mode": "disabled"})

    def nothing(*_: Any, **__: Any) -> Harmless:
        _report_tracker("wandb", events)
        return Harmless()

    wrap(module, "init", begin)
    wrap(module, "login", lambda *_, **__: True)
    for name in ("sweep", "agent", "Api", "alert"):
        wrap(module, name, nothing)


def _silence(functions: list[str], events: EventWriter, module: Any) -> None:
    name = getattr(module, "__name__", "a tracker").partition(".")[0]

    def nothing(*_: Any, **__: Any) -> Harmless:
        _report_tracker("clearml" if name == "Task" else name, events)
        return Harmless()

    for each in functions:
        wrap(module, each, nothing)


def _silence_callbacks(module: Any, events: EventWriter) -> None:
    for name in CALLBACKS.split():
        callback = getattr(module, name, None)
        for method in vars(callback) if callback is not None else ():
            if method == "setup" or method.startswith("on_"):
                wrap(callback, method, _ignoring(name.removesuffix("Callback").lower(), events))


def _ignoring(name: str, events: EventWriter) -> Any:
    def ignore(*_: Any, **__: Any) -> None:
        _report_tracker(name, events)

    return ignore


def _report_tracker(name: str, events: EventWriter) -> None:
    events.not_rehearsed(f"tracking with {name}", ELSEWHERE)
