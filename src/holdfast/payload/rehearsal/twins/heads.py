"""Heads that are new: a model that is loaded to classify, from files of one that does not, has one that no file holds.

PEFT trains and saves such a head only if it is set to, by `task_type` or `modules_to_save`; else it stays random, and is
another one wherever the adapter is loaded. Source: transformers 5.23, which draws what a file lacks; PEFT 0.21, whose
`get_peft_model_state_dict` leaves out what is in no `modules_to_save`.
"""

import re
from typing import Any

from ..events import EventWriter

NEW = "_holdfast_new_heads"
CLASSIFIES = re.compile(r"For(?:Sequence|Token|Image|Audio)Classification$|ForQuestionAnswering$|ForMultipleChoice$")


def note(model: Any) -> None:
    """Take down which parts of a loaded model are in no file."""
    saved = [str(each) for each in getattr(model.config, "architectures", None) or ()]
    body = getattr(model, "base_model_prefix", "")
    if (
        saved
        and CLASSIFIES.search(type(model).__name__)
        and not any(map(CLASSIFIES.search, saved))
        and hasattr(model, body)
    ):
        vars(model)[NEW] = [
            name for name, each in model.named_children() if name != body and next(each.parameters(), None) is not None
        ]


def look(adapted: Any, events: EventWriter) -> None:
    """Report an adapter that is about to be saved beside a new head that nothing trains."""
    base = adapted.get_base_model()
    new: list[str] = vars(base).get(NEW, [])
    lost = [name for name in new if not any(each.requires_grad for each in getattr(base, name).parameters())]
    if not lost:
        return
    because = (
        f"`{lost[0]}` of {type(base).__name__} is new, and in no file: it is neither trained nor saved with the adapter, "
        "and random wherever that is loaded"
    )
    fix = f'Write `modules_to_save=["{lost[0]}"]` in LoraConfig, or give it the `task_type` of the model: "SEQ_CLS" or "TOKEN_CLS".'
    if lost == new:
        events.fault("lora-wrong-target-modules", "step", because, fix=fix)
    else:
        events.warning("lora-wrong-target-modules", "step", f"{because}. {fix}")
