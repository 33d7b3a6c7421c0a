"""The cause and the fix of an answer speak of the package, the request and the evidence of this very log."""

from functools import cache

import pytest

from holdfast.core.diagnose.diagnosis import Cause, Diagnosis
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.signatures import all_signatures

PACKAGES = "/opt/venv/lib/python3.11/site-packages"
SYMBOL = "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv"
COMPANIONS = "torchvision torchaudio --torch-backend=auto"
TIMED_OUT = (
    "[rank{0}]:[E912 03:24:31.114 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9121, OpType=ALLREDUCE, NumelIn=34615296, NumelOut=34615296, Timeout(ms)=600000) ran for 600071 "
    "milliseconds before timing out.\n"
)


@cache
def patterns() -> PatternIndex:
    return PatternIndex(all_signatures())


def found(text: str) -> Diagnosis:
    return diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns())


def first(text: str) -> Cause:
    return found(text).causes[0]


@pytest.mark.parametrize(
    "before", ["ImportError: ", "RuntimeError: Failed to import trl.x because of the following error:\n"]
)
@pytest.mark.parametrize(
    ("file", "name", "fix"),
    [
        ("vllm/_C.abi3.so", "vllm", "--reinstall-package vllm"),
        ("vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", "vllm", "--reinstall-package vllm"),
        ("mamba_ssm/ops/_scan.cpython-311-x86_64-linux-gnu.so", "mamba_ssm", "--no-build-isolation mamba_ssm"),
        ("causal_conv1d_cuda.cpython-311-x86_64-linux-gnu.so", "causal_conv1d", "--no-build-isolation causal_conv1d"),
        ("deepspeed/ops/adam/cpu_adam_op.so", "deepspeed", "--reinstall-package deepspeed"),
        ("torch_scatter/_scatter_cuda.so", "torch_scatter", "--reinstall-package torch_scatter"),
        ("selective_scan_cuda.cpython-311-x86_64-linux-gnu.so", "selective_scan_cuda", "the package that brings"),
        ("xformers/_C.so", "xformers", COMPANIONS),
        ("torchvision/_C.so", "torchvision", COMPANIONS),
        ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "flash-attn", "uninstall flash-attn"),
        ("bitsandbytes/libbitsandbytes_cuda128.so", "bitsandbytes", "bitsandbytes"),
    ],
)
def test_package_that_was_built_for_another_torch_is_the_one_in_the_path(
    before: str, file: str, name: str, fix: str
) -> None:
    cause = first(f"{before}{PACKAGES}/{file}: undefined symbol: {SYMBOL}\n")

    assert name in cause.cause
    assert fix in cause.fix
    assert (COMPANIONS in cause.fix) == (fix == COMPANIONS)


def test_what_torch_compiled_itself_is_deleted_to_be_compiled_again() -> None:
    folder = "/root/.cache/torch_extensions/py311_cu124/fused_adam"
    cause = first(f"ImportError: {folder}/fused_adam.so: undefined symbol: {SYMBOL}\n")

    assert "`fused_adam`" in cause.cause
    assert cause.fix.startswith(f"Delete {folder}: ")


def test_a_library_of_torch_itself_is_no_package_beside_it() -> None:
    cause = first(f"ImportError: {PACKAGES}/torch/lib/libtorch_python.so: undefined symbol: {SYMBOL}\n")

    assert cause.signature.name == "cuda-library-path-conflict"


@pytest.mark.parametrize(
    "error",
    [
        "ImportError: FlashAttention2 cannot be used due to the following error: the package flash_attn seems to be not installed.",
        "ImportError: FlashAttention3 has been toggled on, but the package flash_attn_3 seems to be not installed.",
        "ModuleNotFoundError: No module named 'flash_attn'",
        "ModuleNotFoundError: No module named 'flash_attn.bert_padding'",
        "ImportError: Flash Attention 2 is not available. Please refer to the documentation of https://github.com/Dao-AILab/flash-attention",
    ],
)
def test_missing_flash_attn_comes_with_the_attention_that_needs_none(error: str) -> None:
    cause = first(f"{error}\n")

    assert cause.signature.name == "missing-module"
    assert 'attn_implementation="sdpa"' in cause.fix
    assert "flash-attn" in cause.fix
    assert not [word for word in ("pillow", "cv2", "script's header", "tracker") if word in cause.fix]


def test_another_missing_package_is_declared() -> None:
    fix = first("ModuleNotFoundError: No module named 'peft'\n").fix

    assert "requirements.txt" in fix
    assert "sdpa" not in fix


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        ("Your request to access model a/b is awaiting a review from the repo authors.", "The conditions are accepted"),
        ("Your request to access this repo is awaiting a review.", "The conditions are accepted"),
        ("Your request to access dataset a/b has been rejected by the repo's authors.", "The owners of the repository"),
        ("Access to model a/b is restricted. You must have access to it.", "Log in on the Hub"),
    ],
)
@pytest.mark.parametrize("beside", ["", "OSError: You are trying to access a gated repo.\n"])
def test_a_request_that_was_made_is_not_to_be_made_again(said: str, begins: str, beside: str) -> None:
    cause = first(
        f"{beside}Cannot access gated repo for url https://huggingface.co/a/b/resolve/main/config.json.\n{said}\n"
    )

    assert cause.signature.name == "gated-repo-no-access"
    assert cause.fix.startswith(begins)
    assert ("accept its conditions" in cause.fix) == begins.startswith("Log in")


@pytest.mark.parametrize("ranks", [(0,), (1,), (0, 1), (1, 2, 3)])
@pytest.mark.parametrize(
    "before", ["", "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4 GiB.\n"]
)
def test_a_timeout_alone_does_not_speak_of_a_save(ranks: tuple[int, ...], before: str) -> None:
    text = "".join(map(TIMED_OUT.format, ranks))
    name = "save-inside-main-process-only"

    assert name not in {cause.signature.name for cause in found(before + text).causes}
    assert first(f"INFO:accelerate.accelerator:Saving FSDP model\n{text}").signature.name == name
