"""A requirement comes, goes or changes in a script's header, and every other character of it stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.script.header_edits import edit_requirements
from holdfast.core.environment.script_header import read_header
from holdfast.core.text.places import apply_text_edits

FLAT = '# /// script\n# dependencies = ["trl==1.16.0", "torch"]\n# ///\nimport trl\n'
TALL = """#!/usr/bin/env -S uv run
# /// script
# requires-python = ">=3.11"
# dependencies = [
#     # the trainer
#     'trl==1.16.0',  # tried "with" this
#     'torch'  # any
# ]
# [tool.uv]
# exclude-newer = "2026-11-20T00:00:00Z"
# ///
import trl
"""
BARE = '# /// script\n# requires-python = ">=3.11"\n# ///\nimport trl\n'


def edited(script: str, wanted: list[str]) -> str | None:
    edits = edit_requirements(script, wanted)
    return None if edits is None else apply_text_edits(script, edits)


@pytest.mark.parametrize(
    ("script", "wanted", "result"),
    [
        (FLAT, ["trl==1.16.0", "torch", "peft"], FLAT.replace('"torch"', '"torch", "peft"')),
        (FLAT, ["trl==1.16.0", "peft", "torch"], FLAT.replace('"torch"', '"peft", "torch"')),
        (FLAT, ["trl==1.16.0"], FLAT.replace(', "torch"', "")),
        (FLAT, ["torch"], FLAT.replace('"trl==1.16.0", ', "")),
        (FLAT, [], FLAT.replace('"trl==1.16.0", "torch"', "")),
        (FLAT, ["trl==1.16.0", "torch==2.13.0"], FLAT.replace('"torch"', '"torch==2.13.0"')),
        (FLAT.replace('"torch"', '"torch",'), ["trl==1.16.0", "torch", "a"], FLAT.replace('"torch"', '"torch", "a",')),
        (TALL, ["trl==1.16.0", "torch", "peft"], TALL.replace("'torch'  # any\n", "'torch',  # any\n#     'peft'\n")),
        (TALL, ["trl==1.16.0"], TALL.replace("#     'torch'  # any\n", "")),
        (TALL, ["torch"], TALL.replace("#     'trl==1.16.0',  # tried \"with\" this\n", "")),
        (TALL, ["trl==1.15.0", "torch"], TALL.replace("1.16.0", "1.15.0")),
        (TALL, ["trl==1.16.0", "peft", "torch"], TALL.replace("#     'torch'", "#     'peft',\n#     'torch'")),
        (TALL, ["trl==1.16.0", "torch; sys_platform=='linux'"], TALL.replace("'torch'", '"torch; sys_platform==\'linux\'"')),
        (BARE, ["trl"], BARE.replace('3.11"\n', '3.11"\n# dependencies = ["trl"]\n')),
        ("# /// script\n# ///\n", ["trl"], None),
        ("# /// script\n# [tool.uv]\n# ///\n", ["trl"], '# /// script\n# dependencies = ["trl"]\n# [tool.uv]\n# ///\n'),
        (FLAT.replace('"torch"]', '"torch"'), ["trl"], None),
        (FLAT.replace('"torch"]', "{}]"), ["trl"], None),
        ("import trl\n", ["trl"], None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_requirements_come_and_go_in_the_layout_of_the_header(
    script: str, wanted: list[str], result: str | None, newline: str
) -> None:
    """Quotes, commas, comments and ends of lines are as a person would have written them; what is odd is refused."""
    windows = None if result is None else result.replace("\n", newline)
    assert edited(script.replace("\n", newline), wanted) == windows


NAMES = st.lists(st.sampled_from(["trl", "torch>=2", "peft[a,b]", "a @ git+https://b/c#d", "x; y == 'z'"]), unique=True)
GAPS = st.sampled_from(["", " ", "\n", "\n    ", '\n    # note, with ] and "\n    ', "  # behind\n"])


@st.composite
def headers(draw: st.DrawFn) -> str:
    """A header with some requirements, laid out anyhow."""
    names = draw(NAMES)
    quoted = [f"'{name}'" if "'" not in name and draw(st.booleans()) else f'"{name}"' for name in names]
    trailing = draw(st.booleans()) or not names
    written = "".join(f"{draw(GAPS)}{name}{draw(GAPS)}," for name in quoted)
    toml = f"dependencies = [{written if trailing else written[:-1]}{draw(GAPS)}]" if names else "dependencies = []"
    above, below = draw(st.sampled_from([("", ""), ('name = "]"\n', "\n[tool.uv]\nindex = ['a']")]))
    return "".join(
        f"# {line}".rstrip(" ") + "\n" for line in ["/// script", *f"{above}{toml}{below}".split("\n"), "///"]
    )


@given(headers(), NAMES)
def test_whatever_the_layout_the_header_says_what_was_meant(header: str, wanted: list[str]) -> None:
    """It asks for what it was to ask for, or is refused as a whole; all else that it says is the same."""
    script = f"{header}x = 1\n"
    before = read_header(script, "a.py")
    result = edited(script, wanted)

    if result is None:
        assert "# note" in header or "# behind" in header
        return
    assert read_header(result, "a.py") == {**before, "dependencies": wanted}
    assert result.endswith("# ///\nx = 1\n")
