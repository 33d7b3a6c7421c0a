"""What decides beside an exception's words: in which phase it was raised, at which step, on whose GPU, by whose frame."""

from functools import cache

import pytest

from holdfast.core.diagnose.diagnosis import Diagnosis
from holdfast.core.diagnose.log import Frame, Hit, Line, Log, Traceback
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.matching import shared_devices
from holdfast.engine.diagnose.phases import phase_of
from holdfast.signatures import all_signatures

FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB."
TRAINER = "/x/site-packages/transformers/trainer.py"
HEAD = "Traceback (most recent call last):\n"
TRAIN = f'  File "{TRAINER}", line 1, in _inner_training_loop\n    tr_loss_step = self.training_step(model, inputs)\n'


@cache
def patterns() -> PatternIndex:
    return PatternIndex(all_signatures())


def diagnosed(text: str) -> Diagnosis:
    return diagnose(read_log([("train.log", [text.encode()])], patterns().sought), patterns())


def frame(function: str, file: str = TRAINER) -> str:
    return f'  File "{file}", line 7, in {function}\n    call(x)\n'


def first(found: Diagnosis) -> str:
    return found.causes[0].signature.name if found.causes else ""


@pytest.mark.parametrize(
    ("functions", "phase"),
    [
        (("_inner_training_loop", "training_step", "backward"), "train"),
        (
            ("_inner_training_loop", "_maybe_log_save_evaluate", "evaluate", "evaluation_loop", "compute_loss"),
            "evaluate",
        ),
        (("main", "validate", "forward"), "evaluate"),
        (("_inner_training_loop", "_save_checkpoint", "_save_optimizer_and_scheduler", "clone"), "save"),
        (("main", "unsloth_generic_save_pretrained_merged", "decorate_context"), "save"),
        (("training_step", "_generate_and_score_completions", "_move_model_to_vllm", "_all_gather"), "sync"),
        (("main", "load_state_dict", "copy_"), None),
        (("main", "__init__", "to"), None),
    ],
)
def test_the_innermost_frame_of_a_phase_decides(functions: tuple[str, ...], phase: str | None) -> None:
    """An evaluation runs inside training; a checkpoint that is loaded is no save."""
    raised = Line(9, FULL)
    frames = tuple(Frame(TRAINER, 7, each) for each in functions)
    assert phase_of(Hit(line=raised, traceback=Traceback(start=Line(1, ""), frames=frames, error=(raised,)))) == phase


def test_code_tells_the_phase_where_no_frame_is_left() -> None:
    raised = Line(9, FULL)
    around = (Line(7, "    self._save(output_dir)"), raised)
    assert phase_of(Hit(line=raised, around=around)) == "save"


@pytest.mark.parametrize(
    ("bar", "phase"),
    [
        ("Validating:  15%|###   | 513/3434 [2:04:33<16:18:51, 20.11s/it]", "evaluate"),
        ("0/10 * Epoch (valid):   3% 1/32 [00:01<00:46,  1.50s/it, loss=1.656]", "evaluate"),
        ("Evaluating: 100%|######| 50/50 [00:20<00:00,  2.50it/s]", None),
        (" 31%|###       | 412/1320 [1:10:22<2:31:09,  9.99s/it]", None),
    ],
)
def test_an_unfinished_bar_of_an_evaluation_tells_its_phase(bar: str, phase: str | None) -> None:
    raised = Line(9, FULL)
    assert phase_of(Hit(line=raised, around=(Line(8, bar), raised))) == phase


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (TRAIN, "cuda-oom-train-step"),
        (TRAIN + frame("evaluate") + frame("compute_loss"), "cuda-oom-eval"),
        (frame("solve", "solver.py") + frame("run_validation", "solver.py"), "cuda-oom-eval"),
        (TRAIN + frame("_save_checkpoint") + frame("get_peft_model_state_dict"), "cuda-oom-at-save"),
        (TRAIN + frame("_move_model_to_vllm", "/x/site-packages/trl/trainer/grpo_trainer.py"), "grpo-colocate-oom"),
    ],
)
def test_one_message_of_memory_is_of_the_class_of_its_phase(frames: str, name: str) -> None:
    assert first(diagnosed(HEAD + frames + FULL + "\n")) == name


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("Epoch: [0]  [1330/3696]  eta: 0:31:38  loss: 5.0905", "cuda-oom-long-sample"),
        ("Epoch: [0]  [   1/3696]  eta: 0:31:38  loss: 5.0905", "cuda-oom-train-step"),
        ("loss: 5.0901 ||: : 8613it [27:42,  5.34it/s]", "cuda-oom-long-sample"),
    ],
)
def test_a_step_that_no_bar_shows_tells_a_long_row_from_the_first(step: str, name: str) -> None:
    text = f"{step}\n{HEAD}{frame('train_one_epoch', 'engine.py')}RuntimeError: CUDA out of memory.\n"
    assert first(diagnosed(text)) == name


HELD = "RuntimeError: CUDA out of memory. Tried to allocate 1.67 GiB (GPU 0; 3.95 GiB total capacity; {}; 770.62 MiB free; {} reserved in total by PyTorch)"


@pytest.mark.parametrize(
    ("allocated", "reserved", "name"),
    [
        ("246.26 MiB already allocated", "1.91 GiB", "cuda-oom-fragmentation"),
        ("1.80 GiB already allocated", "1.91 GiB", "cuda-oom-other-process"),
    ],
)
def test_memory_that_is_held_and_unused_is_fragmented_whoever_else_holds_some(
    allocated: str, reserved: str, name: str
) -> None:
    assert first(diagnosed(HELD.format(allocated, reserved) + "\n")) == name


def shared(*pairs: tuple[int, int, str]) -> Log:
    said = "NCCL WARN Duplicate GPU detected : rank {} and rank {} both on CUDA device {}"
    return Log(hits=tuple(Hit(line=Line(at, said.format(*pair))) for at, pair in enumerate(pairs)))


def test_which_ranks_share_a_gpu_is_told_of_the_whole_log() -> None:
    assert shared_devices(shared()) == {}
    assert shared_devices(shared((2, 0, "1000"), (1, 0, "1000"))) == {"shared_gpus": "1", "neighbours_share": "1"}
    assert shared_devices(shared((2, 0, "4000"), (1, 3, "a000"))) == {"shared_gpus": "2", "neighbours_share": "0"}


@pytest.mark.parametrize(
    ("error", "frames", "name"),
    [
        (
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            frame("_env_rendezvous_handler", "/x/site-packages/torch/distributed/rendezvous.py"),
            "rendezvous-timeout",
        ),
        (
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            frame("getaddrinfo", "/usr/lib/python3.11/socket.py"),
            "no-network-on-node",
        ),
        (
            "ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library serialization file",
            frame("__init__", "/x/site-packages/transformers/models/bloom/tokenization_bloom_fast.py"),
            "model-files-missing",
        ),
        (
            "ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library serialization file",
            frame("__init__", "/x/site-packages/transformers/models/llama/tokenization_llama_fast.py"),
            "tokenizer-backend-dependency-missing",
        ),
        (
            "RuntimeError: Socket Timeout",
            frame("main_process_first", "/x/site-packages/transformers/training_args.py"),
            "nccl-timeout-rank0-solo-work",
        ),
    ],
)
def test_whose_frame_it_is_decides_on_one_message(error: str, frames: str, name: str) -> None:
    assert first(diagnosed(f"{HEAD}{frame('<module>', 'train.py')}{frames}{error}\n")) == name


@pytest.mark.parametrize(
    "before", ["Time to load cpu_adam op: 3.3 seconds", "[INFO] Before initializing optimizer states"]
)
def test_a_kill_in_a_phase_that_fills_the_memory_is_one_for_memory(before: str) -> None:
    killed = "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 1 (pid: 1021) of binary: python"
    told = diagnosed(f"{before}\n{killed}\n").causes[0]
    assert told.signature.name == "cpu-ram-oom-kill"
    assert told.confidence > diagnosed(f"{killed}\n").causes[0].confidence
