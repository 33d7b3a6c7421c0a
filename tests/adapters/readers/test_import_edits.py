"""A name is imported from where it is now, with every use of it, as a person would have written it."""

import ast
import subprocess
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Edit, Remove, Rename, ReplaceCall, Set, Unknown
from holdfast.core.text.places import apply_text_edits

MOVES = {
    "trl.ORPOConfig": "trl.experimental.orpo.ORPOConfig",
    "trl.ORPOTrainer": "trl.experimental.orpo.ORPOTrainer",
    "trl.CPOTrainer": "trl.experimental.cpo.CPOTrainer",
    "trl.PPOv2Trainer": "trl.PPOTrainer",
    "transformers.Vision": "transformers.Text",
}
TALL = """from trl import (
    # the config, which moved
    ORPOConfig,  # moved
    SFTConfig,  # stays
    ORPOTrainer as Trainer,
)
"""


def edited(text: str, moves: Mapping[str, str] = MOVES) -> str:
    """The text with those of the names moved that it imports, one after the other where they meet."""
    for _ in moves:
        (document, *_) = read_script(text, "train.py")
        there = {f"{each.module}.{each.name}" for each in document.imports}
        edits = [Set(f"imports.{old}", new) for old, new in moves.items() if old in there]
        try:
            made = place_edits(document, edits)
        except UsageError:
            made = place_edits(document, edits[:1])
        if not made:
            break
        text = apply_text_edits(text, made)
    return text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("from trl import ORPOConfig\n", "from trl.experimental.orpo import ORPOConfig\n"),
        ("from trl import ORPOConfig as C", "from trl.experimental.orpo import ORPOConfig as C"),
        ("from trl import (\n    ORPOConfig,\n    ORPOTrainer\n)", "from trl.experimental.orpo import (\n    ORPOConfig,\n    ORPOTrainer\n)"),
        ("from trl import A, ORPOConfig  # all\nx = 1\n", "from trl import A  # all\nfrom trl.experimental.orpo import ORPOConfig\nx = 1\n"),
        ("from trl import ORPOConfig, A\n", "from trl import A\nfrom trl.experimental.orpo import ORPOConfig\n"),
        ("from trl import ORPOConfig, \\\n    A\n", "from trl import A\nfrom trl.experimental.orpo import ORPOConfig\n"),
        ("x = 1\nfrom trl import A, ORPOConfig", "x = 1\nfrom trl import A\nfrom trl.experimental.orpo import ORPOConfig"),
        ("import os; from trl import A, ORPOConfig; x = 1\n", "import os; from trl import A; from trl.experimental.orpo import ORPOConfig; x = 1\n"),
        ("def f():\n\tfrom trl import A, ORPOConfig\n\treturn A\n", "def f():\n\tfrom trl import A\n\tfrom trl.experimental.orpo import ORPOConfig\n\treturn A\n"),
        ("from trl import CPOTrainer, ORPOConfig\n", "from trl.experimental.cpo import CPOTrainer\nfrom trl.experimental.orpo import ORPOConfig\n"),
        (TALL, "from trl import (\n    SFTConfig,  # stays\n)\nfrom trl.experimental.orpo import ORPOConfig, ORPOTrainer as Trainer\n"),
        (
            "from trl import A, ORPOTrainer\nfrom trl.experimental.orpo import ORPOConfig\n",
            "from trl import A\nfrom trl.experimental.orpo import ORPOConfig, ORPOTrainer\n",
        ),
        (
            "from trl.experimental.orpo import (\n    ORPOTrainer,\n)\nfrom trl import ORPOConfig\nx = 1\n",
            "from trl.experimental.orpo import (\n    ORPOConfig,\n    ORPOTrainer,\n)\nx = 1\n",
        ),
        ("from trl import PPOv2Trainer\nPPOv2Trainer()\n", "from trl import PPOTrainer\nPPOTrainer()\n"),
        ("from trl import PPOv2Trainer as P\nP()\n", "from trl import PPOTrainer as P\nP()\n"),
        ("é = 'ü'; from transformers import Vision; Vision.f(Vision)\n", "é = 'ü'; from transformers import Text; Text.f(Text)\n"),
        ("from transformers import Vision\nVision = 1\n", "from transformers import Text as Vision\nVision = 1\n"),
        ("from transformers import Vision\nText = 1\n", "from transformers import Text as Vision\nText = 1\n"),
        ("from transformers import Vision\n__all__ = ['Vision']\n", "from transformers import Text as Vision\n__all__ = ['Vision']\n"),
        ("from transformers import Vision\ndef f(Vision): ...\n", "from transformers import Text as Vision\ndef f(Vision): ...\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_imports_are_written_as_a_person_would(text: str, result: str, newline: str) -> None:
    """Names that stay stay where they are, with their comments; those that go come below, or where others are already."""
    assert edited(text.replace("\n", newline)) == result.replace("\n", newline)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from trl import ORPOConfig\nexcept ImportError:\n    ORPOConfig = None\n",
        "import trl\ntrl.ORPOConfig()\n",
        "from .trl import ORPOConfig\n",
        "from trl import *\n",
    ],
)
def test_what_is_not_imported_so_is_refused(text: str) -> None:
    """An import for whose failure the program is prepared, a module's attribute, and all names at once are left alone."""
    (document, *_) = read_script(text, "train.py")
    edits = [Set("imports.trl.ORPOConfig", MOVES["trl.ORPOConfig"])]

    assert not can_place(document, edits)
    with pytest.raises(UsageError, match="cannot change"):
        place_edits(document, edits)


def test_an_import_is_never_renamed() -> None:
    """It comes from elsewhere, or goes; what else could be done to it has no meaning."""
    (document, *_) = read_script("from trl import A\n", "train.py")
    with pytest.raises(UsageError):
        place_edits(document, [Rename("imports.trl.A", "B")])


NAMES = [path.rpartition(".")[2] for path in MOVES if path.startswith("trl.")] + ["SFTConfig", "SFTTrainer"]
GAPS = st.sampled_from(["", " ", "\n", "\n    ", "  # note\n    ", "\n    # above\n    "])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program with imports of any layout, each name once."""
    lines: list[str] = []
    rest = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    while rest:
        count = draw(st.integers(1, len(rest)))
        names = [f"{name} as {name}_" if draw(st.booleans()) else name for name in rest[:count]]
        rest = rest[count:]
        trailing = draw(st.booleans())
        tall = "".join(f"{draw(GAPS)}{name}{draw(GAPS)}," for name in names)
        flat = ", ".join(names)
        lines.append(
            f"from trl import ({tall if trailing else tall[:-1]}{draw(GAPS)})"
            if draw(st.booleans())
            else f"from trl import {flat}"
        )
    ends = st.sampled_from(["  # why\n", "\n", "; x = 1\n"])
    return "".join(f"{line}{draw(ends)}" for line in lines) + "print(1)\n"


@settings(deadline=None)
@given(programs())
def test_whatever_the_layout_the_same_names_are_there(text: str) -> None:
    """Every name is bound as before, to what it was to be, and the rest of the program is the same."""
    result = edited(text)
    before, after = bound(text), bound(result)

    assert after == {
        (name if alias or name == new_name(path) else new_name(path)): MOVES.get(path, path)
        for (name, alias), path in {(key, "_" in key): value for key, value in before.items()}.items()
    }
    assert rest_of(result) == rest_of(text)


def new_name(path: str) -> str:
    return MOVES.get(path, path).rpartition(".")[2]


def bound(text: str) -> dict[str, str]:
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}


def rest_of(text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.parse(text).body if not isinstance(node, ast.ImportFrom)]


def test_nothing_is_imported_to_tell_that_a_fix_can_be_made() -> None:
    """LibCST takes longer to import than a script takes to check, so a person who asks for no edits does not wait for it."""
    program = """
import sys
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.core.job.document import Remove, Set
text = "from trl import A, SFTConfig\\nSFTConfig(a=1)\\n"
(document, *_) = read_script(text, "train.py")
edits = [Set("imports.trl.A", "trl.b.A"), Remove(f"{document.calls[0].key}.a")]
assert can_place(document, edits)
assert "libcst" not in sys.modules
place_edits(document, edits)
assert "libcst" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


RECAST = ReplaceCall("train", "SFTConfig(…)", ("trl.SFTConfig",))
OLD = """from transformers import AutoTokenizer, TrainingArguments
from trl import SFTTrainer

args = TrainingArguments(output_dir="out")
trainer = SFTTrainer("gpt2", args=args)
"""


def recast(text: str, *edits: Edit) -> str:
    (document, *_) = read_script(text, "train.py")
    return apply_text_edits(text, place_edits(document, edits or (RECAST,)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("", ""), ("", "")),
        (("import SFTTrainer", "import (\n    A,  # all\n    SFTTrainer,\n)"), ("import SFTConfig, SFTTrainer", "import (\n    A,  # all\n    SFTConfig,\n    SFTTrainer,\n)")),
        (("import SFTTrainer", "import SFTConfig, SFTTrainer"), ("", "")),
        (("AutoTokenizer, TrainingArguments", "TrainingArguments"), ("from transformers import AutoTokenizer\n", "")),
    ],
    ids=["beside others", "in brackets", "there already", "alone"],
)  # fmt: skip
def test_a_call_is_written_as_another_with_what_it_needs(old: tuple[str, str], new: tuple[str, str]) -> None:
    """The new name is imported beside its like; the old one goes with its last use."""
    expected = """from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out")
trainer = SFTTrainer("gpt2", args=args)
"""

    assert recast(OLD.replace(*old)) == expected.replace(*new)


def test_an_import_stays_while_something_uses_it() -> None:
    text = OLD + "\ndef build(args: TrainingArguments):\n    return args\n"

    changed = recast(text)

    assert "import AutoTokenizer, TrainingArguments\n" in changed
    assert 'args = SFTConfig(output_dir="out")' in changed


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("args = ", "import transformers\nargs = transformers."),
        OLD + "SFTConfig = dict\n",
        OLD.replace("from transformers import AutoTokenizer, TrainingArguments", "from transformers import *"),
    ],
    ids=["of a module", "bound otherwise", "all names"],
)
def test_what_cannot_be_told_is_not_called_otherwise(text: str) -> None:
    with pytest.raises(UsageError, match="make the change by hand"):
        recast(text)


def test_arguments_and_what_is_taken_of_the_result_change_together() -> None:
    """And what is called can be another expression altogether."""
    text = "from trl import setup_chat_format, device_map\n\nmodel, tokenizer = setup_chat_format(\n    model,\n    tokenizer,\n    format='chatml',  # ours\n)\nm = f(device_map())\n"
    made = ReplaceCall("calls.0", "clone_chat_template(…)[:2]", ("trl.clone_chat_template",))

    changed = recast(text, made, Remove("calls.0.format"), Set("calls.0.source_tokenizer_path", "Qwen/Qwen3-0.6B"))
    assert changed.endswith(
        'clone_chat_template(\n    model,\n    tokenizer,\n    source_tokenizer_path="Qwen/Qwen3-0.6B",\n)[:2]\nm = f(device_map())\n'
    )

    changed = recast(
        text, ReplaceCall("calls.1", '{"": PartialState().local_process_index}', ("accelerate.PartialState",))
    )
    assert changed.startswith("from trl import setup_chat_format\nfrom accelerate import PartialState\n")
    assert changed.endswith('m = f({"": PartialState().local_process_index})\n')


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("from trl import A, gone\nA\n", "from trl import A\nA\n"),
        ("from trl import gone\nx = 1\n", "x = 1\n"),
        ("from trl import gone\ngone()\n", None),
        ("from trl import gone\n__all__ = ['gone']\n", None),
        ("def f():\n    from trl import gone\n", None),
    ],
)
def test_an_import_that_nothing_uses_can_be_taken_out(text: str, result: str | None) -> None:
    """One that is used, is told to others, or is all that its block holds, is left."""
    (document, *_) = read_script(text, "train.py")
    if result is None:
        assert not can_place(document, [Remove("imports.trl.gone")])
    else:
        assert apply_text_edits(text, place_edits(document, [Remove("imports.trl.gone")])) == result


MOVED = """from trl import SFTConfig, SFTTrainer
{before}
args = SFTConfig(output_dir="out")
{between}
trainer = SFTTrainer("gpt2", args=args, max_seq_length={value})
"""


@pytest.mark.parametrize(
    ("value", "before", "between", "moves"),
    [
        ("options.length", "options = parse()", "", True),
        ("cfg['length']", "cfg = parse()", "cfg2 = 1", True),
        ("options.length", "options, rest = parse()", "", True),
        ("options.length", "from settings import options", "", True),
        ("length", "length = 2 ** 10", "", True),
        ("options.length", "", "options = parse()", False),
        ("options.length", "options = parse()", "options.length = 3", False),
        ("cfg['length']", "cfg = parse()", "cfg['length'] = 3", False),
        ("options.length", "options = parse()", "options = parse()", False),
        ("args.length", "", "", False),
        ("measure(rows)", "rows = parse()", "", False),
    ],
)
def test_a_computed_value_moves_as_it_is_written(value: str, before: str, between: str, *, moves: bool) -> None:
    """As long as it says the same where it goes: its names have one value, from before, that nothing changes."""
    text = MOVED.format(value=value, before=before, between=between)
    (document, *_) = read_script(text, "train.py")
    given = document.get("trainer.max_seq_length")
    edits: list[Edit] = [Remove("trainer.max_seq_length"), Set("train.max_length", given, of="trainer.max_seq_length")]

    if moves:
        assert f'SFTConfig(output_dir="out", max_length={value})' in apply_text_edits(
            text, place_edits(document, edits)
        )
    else:
        assert not can_place(document, edits)


@pytest.mark.parametrize(("inside", "moves"), [(True, True), (False, False)])
def test_a_value_does_not_move_out_of_its_function(*, inside: bool, moves: bool) -> None:
    config = '{}args = SFTConfig(output_dir="out")\n'
    head = "from trl import SFTConfig, SFTTrainer\n\n" + ("" if inside else config.format(""))
    body = "def main(options):\n" + (config.format("    ") if inside else "")
    text = f'{head}{body}    trainer = SFTTrainer("gpt2", args=args, max_seq_length=options.length)\n    trainer.train()\n\nmain(o)\n'
    (document, *_) = read_script(text, "train.py")

    edits: list[Edit] = [
        Remove("trainer.max_seq_length"),
        Set("train.max_length", Unknown(), of="trainer.max_seq_length"),
    ]

    assert can_place(document, edits) is moves
