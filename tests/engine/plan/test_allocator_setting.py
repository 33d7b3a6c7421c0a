"""Which setting of torch's allocator a plan assumes, and why."""

from typing import Any

import pytest

from holdfast.core.job.document import Document
from holdfast.engine.plan.allocator_setting import allocator_setting

CUDA, GENERIC = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
ON, OFF = "expandable_segments:True", "expandable_segments:False"


def document(kind: str = "job", **values: Any) -> Document:
    return Document(path="a", kind=kind, values={"method": "grpo", "train": {}, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "variables", "expandable", "because"),
    [
        (document(), (), True, "`holdfast run` sets"),
        (document(where={"backend": "hf-jobs"}), (CUDA, "WSL_DISTRO_NAME"), True, "`holdfast run` sets"),
        (document(), (GENERIC,), False, f"{GENERIC} is set here"),
        (document(), ("WSL_DISTRO_NAME",), False, "WSL_DISTRO_NAME is set here"),
        (document(train={"use_vllm": True}), (), False, "vLLM's sleep mode"),
        (document(train={"use_vllm": False}), (), True, "`holdfast run` sets"),
        (document(environment={"variables": {CUDA: OFF}}), (), False, f"{CUDA}={OFF}"),
        (document(environment={"variables": {GENERIC: f"backend:native,{ON}"}}), (CUDA,), True, "expandable segments, as"),
        (document("script"), (), False, "torch's default; `holdfast run` sets"),
        (document("script", environment={"variables": {CUDA: ON}}), (), True, f"{CUDA}={ON}"),
    ],
)  # fmt: skip
def test_a_plan_says_which_allocator_it_assumes(
    job: Document, variables: tuple[str, ...], because: str, *, expandable: bool
) -> None:
    found = allocator_setting(job, variables)
    assert found.expandable is expandable
    assert because in found.because
