"""A sentence that was cut off before the words that a mark asks for."""

import pytest

from holdfast.core.diagnose.diagnosis import Pattern
from tests.helpers.diagnose_signatures import first, found, signature

WRAP = signature(
    "wrap",
    Pattern(line=r"Could not find the transformer layer class to wrap in the model", weight=0.95),
    seen=("[rank0]: Exception: Could not find the transformer layer class to wrap in the model.",),
)
MISSING = signature(
    "missing",
    Pattern(line=r"got an unexpected keyword argument 'tokenizer'", weight=0.95),
    seen=("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'",),
)
RENAMED = signature(
    "renamed",
    Pattern(line=r"got an unexpected keyword argument 'tokens'", weight=0.95),
    seen=("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokens'",),
)
HEAD = """Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    main()
"""


@pytest.mark.parametrize("end", ["", "...", "…", " to", " to wr..."])
@pytest.mark.parametrize("head", ["", HEAD, "{'loss': '1.3', 'grad_norm': '1.0', 'epoch': '0.1'}\n"])
def test_the_beginning_of_a_known_sentence_tells_its_class(head: str, end: str) -> None:
    """Less surely than the whole."""
    cut = found(f"{head}Exception: Could not find the transformer layer class{end}", WRAP)
    whole = found(f"{head}Exception: Could not find the transformer layer class to wrap in the model.\n", WRAP)

    assert [cause.signature.name for cause in cut.causes] == ["wrap"]
    assert cut.causes[0].confidence < whole.causes[0].confidence


@pytest.mark.parametrize(
    "text",
    [
        "Exception: Could not find",
        "Exception: Could not find the transformer layer class to eat",
        "Could not find the transformer layer class to\nTraining goes on.\n",
        "Exception: Could not find the transformer layer class to wrap\n{'train_runtime': '8.4', 'train_loss': '1.0'}\n",
    ],
    ids=["too short", "goes on otherwise", "not the end", "training came to its end"],
)
def test_what_may_be_anything_is_not_told(text: str) -> None:
    assert first(text, WRAP) in ("unknown", "healthy")


def test_what_two_classes_begin_with_tells_neither() -> None:
    text = "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'to"
    assert first(text, MISSING, RENAMED) == "unknown"
    assert first(text, MISSING) == "missing"
