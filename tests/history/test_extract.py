"""From the sources of a release to its API."""

from collections.abc import Mapping

import pytest

from holdfast.history.entries import Callee, ClassEntry, Release
from holdfast.history.release import read_release

METADATA = """Metadata-Version: 2.1
Name: trl
Version: 1.0.0
Requires-Python: >=3.10
Requires-Dist: transformers>=4.56.2
Requires-Dist: accelerate (>=1.4.0)
Requires-Dist: peft>=0.8.0; extra == "peft"
Requires-Dist: liger-kernel>=0.5; sys_platform != "win32" and extra == "liger"
Requires-Dist: pytest; extra == "test"

The description.
"""


def release(files: Mapping[str, str], package: str = "trl") -> Release:
    """Read a package that has these files; `trl/` and `.py` are left out of their names."""
    sources = {f"{package}/{name}.py": text.encode() for name, text in {"__init__": "", **files}.items()}
    return read_release(package, "1.0.0", "2026-01-02", METADATA, sources)


def made(text: str, name: str = "Config", **files: str) -> ClassEntry:
    """Read one class of a module `trl.a`."""
    return release({"a": text, **files}).classes[f"trl.a.{name}"]


def function(text: str, name: str = "f", **files: str) -> Callee:
    """Read one function of a module `trl.core`."""
    return release({"core": text, **files}).functions[f"trl.core.{name}"]


# What a release says of itself


def test_extras_are_told_apart_from_what_is_always_needed() -> None:
    """Also where the extra is one of several conditions; those for developers are left out."""
    found = release({})

    assert found.requires == ["accelerate (>=1.4.0)", "transformers>=4.56.2"]
    assert found.extras == {"liger": ['liger-kernel>=0.5; sys_platform != "win32"'], "peft": ["peft>=0.8.0"]}
    assert found.python == ">=3.10"


# Names


def test_a_re_export_leads_to_its_home() -> None:
    """Through a chain of imports, an alias and a star."""
    found = release(
        {
            "__init__": "from .trainer import *\nfrom .trainer import Config as Old\nfrom transformers import Trainer\nimport os",
            "trainer/__init__": "from .config import Config\n__all__ = ['Config']\nhidden = 1",
            "trainer/config": "class Config: pass",
        }
    )

    names = found.modules["trl"].names
    assert names["Config"] == names["Old"] == "trl.trainer.config.Config"
    assert names["Trainer"] == "transformers.Trainer"
    assert names["os"] == ""
    assert "hidden" not in names
    assert "hidden" in found.modules["trl.trainer"].names


@pytest.mark.parametrize(
    "text",
    [
        "_import_structure = {'config': ['Config'], 'other': []}",
        "_import_structure = {'config': []}\nif True:\n    _import_structure['config'].append('Config')",
        "_import_structure = {}\ntry:\n    pass\nexcept ImportError:\n    pass\nelse:\n    _import_structure['config'] = ['Config']",
        "_import_structure = {'config': []}\n_import_structure['config'].extend(['Config'])",
        "_import_structure = {'config': []}\n_import_structure['config'] += ['Config']",
        "_SUBMOD_ATTRS: dict = {'config': ['Config']}",
    ],
)
def test_lazy_lists_of_names_are_read_however_they_are_filled(text: str) -> None:
    """Source: the `__init__` of transformers, trl and huggingface_hub through their releases."""
    found = release({"__init__": text, "config": "class Config: pass"})

    assert found.modules["trl"].names["Config"] == "trl.config.Config"


def test_names_of_model_files_come_from_their_all() -> None:
    """`define_import_structure` collects the `__all__` of every file under `models`."""
    found = release(
        {
            "__init__": "import_structure = define_import_structure(Path(__file__).parent / 'models', prefix='models')",
            "models/__init__": "",
            "models/llama/__init__": "",
            "models/llama/modeling_llama": "class LlamaModel: pass\nclass Hidden: pass\n__all__ = [\n    'LlamaModel',\n]",
        },
        package="transformers",
    )

    assert "LlamaModel" in found.modules["transformers"].names
    assert "Hidden" not in found.modules["transformers"].names


def test_a_stub_for_a_missing_package_does_not_hide_the_class() -> None:
    """Neither in `except` nor in `else`."""
    text = "class Config:\n    def __init__(self, a): pass\ntry:\n    import x\nexcept ImportError:\n    class Config: pass"

    assert list(made(text).parameters) == ["a"]


def test_a_module_with_its_own_getattr_has_names_that_nobody_can_list() -> None:
    """The same of one that Python cannot parse, and of one that takes over another package's names."""
    found = release({"a": "def __getattr__(name): ...", "b": "def (", "c": "from torch import *", "d": "x = 1"})

    assert [found.modules[f"trl.{name}"].dynamic for name in "abcd"] == [True, True, True, False]


def test_a_function_that_is_a_method_of_an_instance_is_described() -> None:
    """`create_repo = api.create_repo`, as huggingface_hub has it; overloads are no definitions."""
    text = (
        "class HfApi:\n    @overload\n    def create_repo(self, x: int = ...): ...\n"
        "    def create_repo(self, repo_id, *, private=None): ...\n"
        "api = HfApi()\ncreate_repo = api.create_repo"
    )
    found = release({"__init__": "from .hf_api import create_repo", "hf_api": text}, package="huggingface_hub")

    callee = found.functions["huggingface_hub.hf_api.create_repo"]
    assert (list(callee.parameters), callee.positional) == (["repo_id", "private"], 1)
    assert found.modules["huggingface_hub"].names["create_repo"] == "huggingface_hub.hf_api.create_repo"


def test_a_class_stays_one_when_it_is_wrapped_or_given_attributes() -> None:
    """`AutoModel = auto_class_update(AutoModel)` and `Tokenizer.push_to_hub = ...`, as transformers has them."""
    found = release({"a": "class A: pass\nA = update(A, doc='x')\nclass B: pass\nB.push_to_hub = copy(B.push_to_hub)"})

    assert set(found.classes) == {"trl.a.A", "trl.a.B"}


def test_cycles_of_imports_end() -> None:
    """Two modules that take each other's names."""
    found = release({"a": "from .b import x\nfrom .b import *", "b": "from .a import x\nfrom .a import *"})

    assert found.modules["trl.a"].names == {"x": ""}


# Classes


def test_a_dataclass_has_its_ancestors_fields_first() -> None:
    """With the home of each; a field that `__init__` does not take, and a class variable, are none."""
    entry = made(
        "from dataclasses import dataclass, field\nfrom typing import ClassVar\nfrom transformers import TrainingArguments\n"
        "@dataclass\nclass Base(TrainingArguments):\n    a: int = 1\n    b: str = 'x'\n    hidden: int = field(init=False)\n"
        "@dataclass\nclass Config(Base):\n    b: str = 'y'\n    c: list = field(default_factory=list)\n    d: ClassVar[int] = 1\n"
    )

    assert (entry.kind, entry.bases, entry.ancestors) == (
        "dataclass",
        ["transformers.TrainingArguments"],
        ["trl.a.Base"],
    )
    assert [(name, each.default, each.home) for name, each in entry.parameters.items()] == [
        ("a", "1", "trl.a.Base"),
        ("b", "'y'", ""),
        ("c", "[]", ""),
    ]
    assert entry.positional == 3


def test_a_field_that_a_subclass_takes_out_is_gone() -> None:
    """By `init=False`."""
    text = "@dataclass\nclass B:\n    a: int = 1\n    b: int = 1\n@dataclass\nclass Config(B):\n    a: int = field(init=False)\n"

    assert list(made(text).parameters) == ["b"]


def test_fields_by_keyword_only_come_last() -> None:
    """`@dataclass(kw_only=True)`."""
    entry = made("@dataclass\nclass B:\n    a: int = 1\n@dataclass(kw_only=True)\nclass Config(B):\n    k: int = 1\n")

    assert (list(entry.parameters), entry.positional) == (["a", "k"], 1)


@pytest.mark.parametrize(
    ("annotated", "default", "written", "annotation"),
    [
        ("Optional[int]", "None", "None", "int | None"),
        ("Union[str, List[int], None]", "field(default=None)", "None", "str | list[int] | None"),
        ("'typing.Optional[bool]'", "True", "True", "bool | None"),
        ("Strategy", "Strategy.NO", "'no'", "Strategy"),
        ("str", "field(default=Strategy.NO.value)", "'no'", "str"),
        ("str", "LIMIT", "5", "str"),
        ("list", "field(default_factory=lambda: ['a'])", "['a']", "list"),
        ("str", "make('x')", "make('x')", "str"),
        ("str", "'" + "x" * 200 + "'", "...", "str"),
        ("int", "field()", None, "int"),
    ],
)
def test_a_default_is_written_by_its_value(annotated: str, default: str, written: str | None, annotation: str) -> None:
    """Members of enums, constants and simple factories too; annotations in the newer spelling."""
    text = (
        "class Strategy(str, Enum):\n    NO = 'no'\nLIMIT = 5\n"
        f"@dataclass\nclass Config:\n    x: {annotated} = {default}\n"
    )
    found = made(text).parameters["x"]

    assert (found.default, found.annotation) == (written, annotation)


def test_choices_come_from_metadata_and_from_a_literal() -> None:
    """Only where nothing but None stands beside the Literal."""
    entry = made(
        "@dataclass\nclass Config:\n    a: str = field(default='x', metadata={'choices': ['x', 'y']})\n"
        "    b: Optional[Literal['u', 'v']] = None\n    c: Literal['u'] | str = 'u'\n"
    )

    assert [each.choices for each in entry.parameters.values()] == [["x", "y"], ["u", "v"], None]
    assert not any(each.enforced for each in entry.parameters.values())


def test_a_value_that_an_enum_converts_or_a_check_refuses_is_enforced() -> None:
    """`choices` of the metadata alone are not."""
    entry = made(
        "class Optim(ExplicitEnum):\n    A = 'adam'\n    B = 'sgd'\n"
        "@dataclass\nclass Config:\n    optim: str = 'adam'\n    mode: str = 'u'\n    other: str = 'u'\n"
        "    def __post_init__(self):\n        if self.optim is not None:\n            self.optim = Optim(self.optim)\n"
        "        if self.mode not in ['u', 'v']:\n            raise ValueError('no')\n"
        "        if self.optim:\n            if self.other not in ['u']:\n                raise ValueError('no')\n"
    )

    assert [(each.choices, each.enforced) for each in entry.parameters.values()] == [
        (["adam", "sgd"], True),
        (["u", "v"], True),
        (None, False),
    ]


def test_an_init_that_hands_keywords_on_takes_what_the_next_class_takes() -> None:
    """Its own parameters come first; in the same package it is closed where the next class is."""
    entry = made(
        "class B:\n    def __init__(self, tokenizer, mlm=True): ...\n"
        "class Config(B):\n    def __init__(self, template, *args, mlm=False, **kwargs):\n"
        "        super().__init__(*args, mlm=mlm, **kwargs)\n"
    )

    assert [(name, each.home) for name, each in entry.parameters.items()] == [
        ("template", ""),
        ("mlm", ""),
        ("tokenizer", "trl.a.B"),
    ]
    assert (entry.kind, entry.keywords, entry.positional) == ("init", None, None)


@pytest.mark.parametrize(
    ("body", "keywords"),
    [
        ("super().__init__(**kwargs)", "forward"),
        ("self.rest = kwargs", "open"),
        ("if kwargs:\n            logger.info(f'Unused: {kwargs}')", "swallow"),
        ("pass", "swallow"),
    ],
)
def test_what_becomes_of_other_keywords(body: str, keywords: str) -> None:
    """They go on to another package's class, to nobody knows where, or nowhere."""
    text = f"from transformers import B\nclass Config(B):\n    def __init__(self, a, **kwargs):\n        {body}\n"

    assert made(text).keywords == keywords


def test_a_name_that_is_taken_out_of_the_keywords_is_a_parameter() -> None:
    """But the function stays open."""
    callee = function(
        "def f(path, **kwargs):\n    token = kwargs.pop('token', None)\n    if 'old' in kwargs: use(kwargs)\n"
    )

    assert {name: each.default for name, each in callee.parameters.items()} == {
        "path": None,
        "token": "None",
        "old": "...",
    }
    assert callee.keywords == "open"


def test_a_function_that_takes_some_keywords_out_is_open_even_if_the_rest_goes_nowhere() -> None:
    """Only what takes no keyword at all is known to swallow them."""
    assert function("def f(**kwargs):\n    kwargs.pop('token', None)\n").keywords == "open"


def test_python_decides_which_ancestor_comes_first() -> None:
    """A diamond, as multiple inheritance has it."""
    entry = made("class A: pass\nclass B(A): pass\nclass C(A): pass\nclass Config(B, C): pass")

    assert entry.ancestors == ["trl.a.B", "trl.a.C", "trl.a.A"]


def test_a_base_that_nobody_knows_is_named_so() -> None:
    """A call, a name that is not bound, and a builtin that takes arguments."""
    entry = made("import torch\nclass Config(make(), Missing, torch.nn.Module, dict): pass")

    assert entry.bases == ["?Call", "?Missing", "torch.nn.Module", "builtins.dict"]
    assert entry.kind == "inherits"


# Deprecations


def warned(text: str) -> list[tuple[str, str, bool]]:
    """Return the warnings of a config's field `x` whose `__post_init__` says something."""
    source = (
        "_MISSING = object()\nWORDS = ['a']\n@dataclass\nclass Config:\n    x: int = None\n    y: int = 1\n    z: int = _MISSING\n"
        f"    def __post_init__(self):\n{text}"
    )
    entry = made(source)
    return [*entry.parameters["x"].warnings, *entry.parameters["z"].warnings]


def test_a_warning_is_kept_with_the_condition_over_bare_names() -> None:
    """All conditions on the way to it, with constants by their values."""
    found = warned(
        "        if self.y:\n            if self.x in WORDS and self.x is not None:\n"
        "                warnings.warn('`x` is deprecated. ' f'Use {this}.')\n"
    )

    assert found == [("`x` is deprecated. Use {this}.", "y and (x in ['a'] and x is not None)", False)]


def test_a_removed_argument_that_raises_says_so() -> None:
    """A marker for "not given" holds for whatever value is given."""
    found = warned("        if self.z is not _MISSING:\n            raise ValueError('`z` has been removed')\n")

    assert found == [("`z` has been removed", "", True)]


@pytest.mark.parametrize(
    "text",
    [
        "        if isinstance(self.x, str):\n            warnings.warn('`x` as a str is deprecated')\n",
        "        if self.x:\n            warnings.warn('`x` is large')\n",
        "        if self.y:\n            warnings.warn('`zzz` is deprecated, use `y`')\n",
    ],
)
def test_what_is_no_deprecation_of_an_argument_is_left_out(text: str) -> None:
    """A type of its value, something else, another name."""
    assert warned(text) == []


def test_decorators_that_accept_old_names_are_shims() -> None:
    """`deprecate_kwarg` with a new name; without one it warns of the argument."""
    callee = function(
        "@deprecate_kwarg('tokenizer', version='5.0', new_name='processing_class')\n@deprecate_kwarg('old', version='5')\n"
        "def f(processing_class=None, old=None): ..."
    )

    assert callee.shims == {"tokenizer": "processing_class"}
    assert callee.parameters["old"].warnings == [("`old` is deprecated", "", False)]


def test_older_hubs_take_another_name_for_the_token() -> None:
    """By the decorator of every function that takes a token; newer ones do not."""
    files = {"hf_api": "@validate_hf_hub_args\ndef f(repo_id, token=None): ...", "utils/__init__": ""}
    old = {**files, "utils/_validators": "kwargs = smoothly_deprecate_use_auth_token(kwargs=kwargs)"}
    found = [release(each, "huggingface_hub").functions["huggingface_hub.hf_api.f"].shims for each in (old, files)]

    assert found == [{"use_auth_token": "token"}, {}]


def test_a_class_that_always_warns_is_deprecated() -> None:
    """Also if an environment variable can silence it."""
    entry = made(
        "class Trainer:\n    def __init__(self, a):\n        if not os.environ.get('SILENT'):\n"
        "            warnings.warn('This trainer will be removed and is now located in x')\n",
        "Trainer",
    )

    assert entry.deprecated == "This trainer will be removed and is now located in x"


# The rest


def test_a_sub_command_has_the_fields_of_its_dataclasses() -> None:
    """Those of a parser that a function makes after importing them; older releases name what they allow."""
    script = "def make_parser():\n    from trl import A\n    dataclass_types = (A, B)\n@dataclass\nclass B: pass\n"
    new = release({"__init__": "from .a import A", "a": "class A: pass", "scripts/vllm_serve": script})
    old = release(
        {
            "commands/cli": "SUPPORTED_COMMANDS = ['sft']",
            "commands/scripts/sft": "from transformers import T\nparser = TrlParser((T,))",
            "commands/scripts/ddpo": "parser = TrlParser((T,))",
        }
    )

    assert new.commands == {"vllm-serve": ["trl.a.A", "trl.scripts.vllm_serve.B"]}
    assert old.commands == {"sft": ["transformers.T"]}


def test_only_methods_that_a_script_may_call_are_described() -> None:
    """No properties, nothing hidden, no overloads."""
    entry = made(
        "class Trainer:\n    def train(self, x=1): ...\n    def _hidden(self): ...\n    @property\n    def p(self): ...\n"
        "    @staticmethod\n    def s(a): ...\n    @classmethod\n    def c(cls, a): ...\n    def __call__(self, y): ...\n",
        "Trainer",
    )

    assert {name: list(each.parameters) for name, each in entry.methods.items()} == {
        "train": ["x"],
        "s": ["a"],
        "c": ["a"],
        "__call__": ["y"],
    }
