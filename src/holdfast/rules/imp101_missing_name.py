"""Import of a name that the module no longer has.

## What it does
Checks each name that the program imports against the names in the module, in the versions that the job will use.
Names the last release that had it, and its replacement.

## Why is this bad
The program ends with `ImportError: cannot import name …` in its first lines, after the environment is installed.

## Fix safety
The fix is safe where the same object has a new name, as for `AutoModelForVision2Seq`: it changes the import and all
uses. It is unsafe where only the name survives elsewhere, as for `AdamW`, which PyTorch has with another weight
decay; arguments that the new one does not take, such as `correct_bias`, are removed from its calls. It is unsafe
where another call is similar, as `clone_chat_template` is to `setup_chat_format`: it rewrites the call. Removing an
unused import is safe. All other cases have no fix.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.imports import Absence, absences
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each name that the module no longer has."""
    for each in absences(job, api, Absence.GONE):
        yield Finding("imports", each.message, each.fix, place=each.place)


SCRIPT = """
from transformers import AdamW
from trl import SFTConfig, SFTTrainer, setup_chat_format
"""
VISION = """
from transformers import (
    AutoModelForVision2Seq,  # any that sees
    AutoProcessor,
)

model = AutoModelForVision2Seq.from_pretrained("HuggingFaceTB/SmolVLM-256M-Instruct")
processor = AutoProcessor.from_pretrained("HuggingFaceTB/SmolVLM-256M-Instruct")
"""
OPTIMIZER = """
from torch.optim import AdamW
from trl import SFTConfig, SFTTrainer
"""
CORRECTED = """
from transformers import AdamW, AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M")
optimizer = AdamW(model.parameters(), lr=1e-4, correct_bias=False)
"""
CORRECTED_FIXED = """
from transformers import AutoModelForCausalLM
from torch.optim import AdamW

model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M")
optimizer = AdamW(model.parameters(), lr=1e-4)
"""
GUARDED = """
try:
    from trl import DataCollatorForCompletionOnlyLM
except ImportError:
    DataCollatorForCompletionOnlyLM = None
"""
UNUSED = SCRIPT.replace("AdamW", "AutoTokenizer")
CHAT = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTTrainer, setup_chat_format

model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M")
tokenizer = AutoTokenizer.from_pretrained("HuggingFaceTB/SmolLM2-135M")
model, tokenizer = setup_chat_format(model, tokenizer, format="chatml")
"""
CHAT_FIXED = CHAT.replace("import SFTTrainer, setup_chat_format", "import SFTTrainer, clone_chat_template").replace(
    'setup_chat_format(model, tokenizer, format="chatml")',
    'clone_chat_template(model, tokenizer, source_tokenizer_path="Qwen/Qwen3-0.6B")[:2]',
)
KBIT = """
from transformers import AutoModelForCausalLM
from trl import get_kbit_device_map

model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M", device_map=get_kbit_device_map())
"""
KBIT_FIXED = KBIT.replace("from trl import get_kbit_device_map", "from accelerate import PartialState").replace(
    "get_kbit_device_map()", '{"": PartialState().local_process_index}'
)
MODULE = """
import trl

config = trl.PPOConfig(learning_rate=1e-5)
"""

RULE = Rule(
    code="IMP101",
    name="missing-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The names that each module had in each release, in the history in `catalog/api`, and `catalog/tables/renames.toml`. The "
        "examples were run with trl 1.16 and transformers 5.23; those for older versions were read in the wheels."
    ),
    bad=(
        Case(script=SCRIPT.replace(", setup_chat_format", ""), at="imports", fixed=OPTIMIZER),
        Case(script=CORRECTED, at="imports", fixed=CORRECTED_FIXED),
        Case(script=UNUSED, at="imports", fixed=UNUSED.replace(", setup_chat_format", "")),
        Case(script=CHAT, at="imports", fixed=CHAT_FIXED),
        Case(script=KBIT, at="imports", fixed=KBIT_FIXED),
        Case(
            script=VISION,
            at="imports",
            fixed=VISION.replace("Vision2Seq", "ImageTextToText"),
        ),
        Case(script=GUARDED.replace("ImportError", "ValueError"), at="imports"),
        Case(script=MODULE, at="imports"),
    ),
    good=(
        Case(script=SCRIPT, versions={"trl": "0.19.1", "transformers": "4.49.0"}),
        Case(script=SCRIPT.replace(", setup_chat_format", "").replace("AdamW", "AutoTokenizer")),
        Case(script=GUARDED),
    ),
    kinds=PROGRAMS,
)
