"""Write what the installed transformers and peft know of each model type, for `holdfast.catalog.models.model_types`.

    .venv/bin/python tools/model_types.py 2026-11-22

Reads the tables of `transformers.models.auto`, `transformers.conversion_mapping` and `peft.utils.constants`; loads no model.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import peft
import transformers
from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as TARGETS
from transformers.conversion_mapping import _build_checkpoint_conversion_mapping
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES as CONFIGS
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as SEQUENCE

TABLE = Path(__file__).parent.parent / "src" / "holdfast" / "catalog" / "tables" / "model_types.toml"
HEAD = """# Model types: the class of each one's config, and what may be done with it. Written by tools/model_types.py on {date}.
# causal, sequence: AutoModelForCausalLM, AutoModelForSequenceClassification take it; renamed: its modules are not called as
# in its checkpoints; targets: peft knows which modules a LoRA adapter goes to where nobody says.

transformers = "{transformers}"
peft = "{peft}"

[types]
"""


def rows() -> Iterator[str]:
    """Yield a line for each model type, in alphabetical order."""
    causal, sequence = ({CONFIGS[name] for name in names if name in CONFIGS} for names in (CAUSAL, SEQUENCE))
    converted = set(_build_checkpoint_conversion_mapping())
    for name, config in sorted(CONFIGS.items()):
        stem = config.removesuffix("Config")
        marks = {
            "causal": config in causal,
            "sequence": config in sequence,
            "renamed": name in converted
            or any(re.fullmatch(rf"{stem}(Model|For[A-Z]\w+)", each) for each in converted),
            "targets": name in TARGETS,
        }
        words = [config, *(mark for mark, holds in marks.items() if holds)]
        key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
        yield f'{key} = "{" ".join(words)}"'


if __name__ == "__main__":
    head = HEAD.format(date=sys.argv[1], transformers=transformers.__version__, peft=peft.__version__)
    TABLE.write_text(head + "\n".join(rows()) + "\n", encoding="utf-8")
