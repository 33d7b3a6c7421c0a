"""What the libraries take at exact versions, put together from their histories."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from holdfast.catalog.api import Api, made, newest, released
from holdfast.catalog.api.annotations import plain_types
from holdfast.catalog.api.history import History
from holdfast.core.job.api import REQUIRED, Span
from holdfast.core.job.document import Unknown

LIBRARY: Mapping[str, Any] = {
    "@": {"package": "transformers", "made": "2026-11-20", "versions": ["4.36.0", "4.57.6", "5.0.0", "5.23.0"]},
    "m transformers": {
        "r": "0-",
        "n": {
            "0-": "TrainingArguments@transformers.training_args Trainer@transformers.trainer",
            "0-1": "AutoModelForVision2Seq@transformers.models.auto",
        },
    },
    "m transformers.training_args": {"r": "0-", "n": {"0-": "TrainingArguments"}},
    "m transformers.models": {"r": "0-", "n": {}, "star": "0-"},
    "c transformers.training_args.TrainingArguments": {
        "r": "0-",
        "k": [[0, "dataclass"]],
        "o": [[0, "output_dir logging_steps warmup_ratio"], [2, "output_dir logging_steps"]],
        "n": [[0, 3], [2, 2]],
        "p": {
            "output_dir": {"r": "0-", "d": [[0, None], [2, "None"]], "a": [[0, "str"], [2, "str | None"]]},
            "logging_steps": {"r": "0-", "d": [[0, "500"]], "a": [[0, "float"]]},
            "warmup_ratio": {
                "r": "0-1",
                "d": [[0, "0.0"]],
                "a": [[0, "float"]],
                "w": [["1", "use warmup_steps", "warmup_ratio is not None", False]],
            },
        },
        "x": [["2-", "__post_init__", "check"]],
    },
    "c transformers.trainer.Trainer": {
        "r": "0-",
        "k": [[0, "init"]],
        "o": [[0, "model args tokenizer"], [2, "model args processing_class"]],
        "n": [[0, 3]],
        "p": {
            "model": {"r": "0-", "d": [[0, "None"]]},
            "args": {"r": "0-", "d": [[0, "None"]]},
            "tokenizer": {"r": "0-0", "d": [[0, "None"]]},
            "processing_class": {"r": "1-", "d": [[1, "None"]]},
        },
        "shims": [[0, {}], [1, {"tokenizer": "processing_class"}], [2, {}]],
        "m": {
            "train": {"r": "0-", "o": [[0, "resume"]], "n": [[0, 1]], "p": {"resume": {"r": "0-", "d": [[0, "None"]]}}}
        },
    },
}
USER: Mapping[str, Any] = {
    "@": {"package": "trl", "made": "2026-11-21", "versions": ["0.7.0", "0.12.0", "0.20.0", "1.16.0"]},
    "m trl": {
        "r": "0-",
        "n": {
            "0-": "SFTConfig@trl.trainer.sft_config SFTTrainer@trl.trainer.sft_trainer __version__",
            "0-1": "Collator@trl.trainer.utils PPOConfig@trl.ppo_old:OldConfig",
            "2-2": "PPOConfig@trl.trainer.ppo_config",
        },
    },
    "m trl.core": {"r": "0-1", "n": {"0-1": "LengthSampler"}},
    "m trl.trainer": {"r": "0-", "n": {"0-": "SFTConfig@trl.trainer.sft_config"}},
    "m trl.experimental": {"r": "2-", "n": {}},
    "m trl.experimental.ppo": {"r": "3-", "n": {"3-": "PPOConfig@trl.trainer.ppo_config"}},
    "c trl.trainer.sft_config.SFTConfig": {
        "r": "0-",
        "k": [[0, "dataclass"]],
        "b": [[0, ["transformers.TrainingArguments"]]],
        "o": [[0, "logging_steps max_seq_length"], [2, "logging_steps max_length loss_type"]],
        "n": [[0, 2], [2, 3]],
        "p": {
            "logging_steps": {"r": "0-", "d": [[0, "10"]], "a": [[0, "float"]]},
            "max_seq_length": {"r": "0-1", "d": [[0, "None"]], "a": [[0, "Optional[int]"]]},
            "max_length": {"r": "2-", "d": [[2, "1024"]], "a": [[2, "int | None"]], "h": "trl.trainer.base._Base"},
            "loss_type": {"r": "2-", "d": [[2, "default_loss()"]], "c": [[2, ["nll", "dft"]]], "e": [[2, False]]},
        },
        "x": [["0-", "__post_init__", "own"]],
    },
    "c trl.trainer.sft_trainer.SFTTrainer": {
        "r": "0-",
        "k": [[0, "init"]],
        "a": [[2, ["trl.trainer.base_trainer._BaseTrainer"]]],
        "b": [[0, ["transformers.Trainer"]], [3, ["transformers.Trainer", "?torch.Thing"]]],
        "o": [[0, "model args"]],
        "n": [[0, 2]],
        "p": {"model": {"r": "0-", "d": [[0, None]]}, "args": {"r": "0-", "d": [[0, "None"]]}},
    },
    "c trl.trainer.base_trainer._BaseTrainer": {
        "r": "2-",
        "k": [[2, "inherits"]],
        "b": [[2, ["transformers.Trainer"]]],
    },
    "c trl.trainer.utils.Collator": {
        "r": "0-1",
        "k": [[0, "init"]],
        "b": [[0, ["transformers.Trainer"]], [1, ["?torch.Thing"]]],
        "kw": [[0, "forward"]],
        "o": [[0, "template"]],
        "n": [[0, 1]],
        "p": {"template": {"r": "0-1", "d": [[0, None]]}},
        "dep": [[0, None], [1, "use SFTConfig"]],
    },
    "c trl.ppo_old.OldConfig": {"r": "0-1", "k": [[0, "dataclass"]], "p": {"steps": {"r": "0-1", "d": [[0, "1"]]}}},
    "c trl.trainer.ppo_config.PPOConfig": {
        "r": "2-",
        "k": [[2, "dataclass"]],
        "p": {"kl": {"r": "3-", "d": [[3, "1"]]}},
    },
    "c trl.Loop": {"r": "0-", "k": [[0, "inherits"]], "b": [[0, ["trl.Loop"]]]},
    "f trl.Helper": {
        "r": "1-",
        "kw": [[1, "open"]],
        "o": [[1, "x"]],
        "n": [[1, 1]],
        "p": {"x": {"r": "1-", "d": [[1, None]]}},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for entries in (LIBRARY, USER):
        lines = sorted(f"{head}\t{json.dumps(entry)}" for head, entry in entries.items())
        (tmp_path / f"{entries['@']['package']}.history").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def api(folder: Path, trl: str = "1.16.0", transformers: str = "5.23.0") -> Api:
    return Api({"trl": trl, "transformers": transformers}, folder=folder)


def test_a_config_takes_what_the_pair_of_versions_gives_it(folder: Path) -> None:
    """The base's fields first, then its own; its own default overrides the base's and keeps the base's position."""
    found = api(folder, "0.12.0", "4.57.6").signature("trl.SFTConfig")

    assert found is not None
    assert list(found.parameters) == ["output_dir", "logging_steps", "warmup_ratio", "max_seq_length"]
    assert (found.positional, found.open, found.kind) == (4, False, "class")
    assert found.parameters["logging_steps"].default == 10
    assert found.parameters["output_dir"].default is REQUIRED
    assert found.parameters["warmup_ratio"].home == "transformers.training_args.TrainingArguments"


def test_each_release_of_a_pair_counts(folder: Path) -> None:
    """The same trl with a newer transformers takes less."""
    found = api(folder, "1.16.0", "5.23.0").signature("trl.SFTConfig")

    assert found is not None
    assert not found.takes("warmup_ratio")
    assert not found.takes("max_seq_length")
    assert found.takes("max_length")
    assert found.parameters["max_length"].home == "trl.trainer.base._Base"
    assert found.parameters["output_dir"].types == {"str", "null"}


def test_a_base_whose_version_is_unknown_leaves_the_class_open(folder: Path) -> None:
    """Nothing can be said of a name that it may take."""
    found = Api({"trl": "1.16.0", "transformers": "5.99.0"}, folder=folder).signature("trl.SFTConfig")

    assert found is not None
    assert found.open
    assert found.takes("anything")
    assert found.positional is None


def test_a_version_outside_the_history_is_left_out(folder: Path) -> None:
    """It is not taken for the newest."""
    found = Api({"trl": "1.17.0", "Transformers": "5.23", "nobody": "1"}, folder=folder)

    assert found.versions == {"transformers": "5.23.0"}
    assert found.signature("trl.SFTConfig") is None
    assert found.has_module("trl") is None
    assert found.has_name("trl", "SFTConfig") is None


def test_a_default_that_is_computed_is_unknown(folder: Path) -> None:
    """It is not guessed."""
    found = api(folder).signature("trl.SFTConfig")

    assert found is not None
    assert isinstance(found.parameters["loss_type"].default, Unknown)
    assert found.parameters["loss_type"].choices == ("nll", "dft")
    assert not found.parameters["loss_type"].enforced


def test_a_deprecation_holds_in_its_releases(folder: Path) -> None:
    """With the condition that guards it."""
    old = api(folder, transformers="4.36.0").signature("transformers.TrainingArguments")
    new = api(folder, transformers="4.57.6").signature("transformers.TrainingArguments")

    assert old is not None
    assert new is not None
    assert old.parameters["warmup_ratio"].deprecation is None
    warning = new.parameters["warmup_ratio"].deprecation
    assert warning is not None
    assert (warning.message, warning.condition) == ("use warmup_steps", "warmup_ratio is not None")


def test_a_shim_takes_a_name_that_is_no_parameter(folder: Path) -> None:
    """Only while it lasts."""
    shimmed = api(folder, transformers="4.57.6").signature("transformers.Trainer")
    gone = api(folder).signature("transformers.Trainer")

    assert shimmed is not None
    assert gone is not None
    assert shimmed.shims == {"tokenizer": "processing_class"}
    assert shimmed.takes("tokenizer")
    assert not gone.takes("tokenizer")


def test_an_init_that_hands_on_keywords_takes_its_own_first(folder: Path) -> None:
    """Then the base's."""
    found = api(folder, "0.7.0", "5.23.0").signature("trl.Collator")

    assert found is not None
    assert list(found.parameters) == ["template", "model", "args", "processing_class"]
    assert not found.open
    assert found.deprecated == ""


def test_an_init_that_hands_on_keywords_to_nobody_knows_whom_is_open(folder: Path) -> None:
    """And says what its own library says of it."""
    found = api(folder, "0.12.0").signature("trl.Collator")

    assert found is not None
    assert found.open
    assert found.deprecated == "use SFTConfig"


def test_an_import_path_had_several_homes(folder: Path) -> None:
    """A class of the same name may be another class."""
    assert api(folder, "0.7.0").home("trl.PPOConfig") == "trl.ppo_old.OldConfig"
    assert api(folder, "0.20.0").home("trl.PPOConfig") == "trl.trainer.ppo_config.PPOConfig"
    assert api(folder).home("trl.PPOConfig") is None
    assert api(folder).home("trl.experimental.ppo.PPOConfig") == "trl.trainer.ppo_config.PPOConfig"
    assert api(folder).signature("trl.PPOConfig") is None


def test_what_a_path_took_is_told_over_all_its_homes(folder: Path) -> None:
    """`trl.PPOConfig` lost `steps` when it became another class."""
    assert api(folder).parameter_spans("trl.PPOConfig", "steps") == (Span("trl", "0.7.0", "0.12.0", "0.20.0"),)
    assert api(folder).parameter_spans("trl.experimental.ppo.PPOConfig", "kl") == (Span("trl", "1.16.0"),)


def test_what_a_base_took_is_told_in_the_base_s_releases(folder: Path) -> None:
    """So that a message can say: gone from transformers 5.0.0 on."""
    assert api(folder).parameter_spans("trl.SFTConfig", "warmup_ratio") == (
        Span("transformers", "4.36.0", "4.57.6", "5.0.0"),
    )
    assert api(folder).parameter_spans("trl.SFTConfig", "nonsense") == ()
    assert [each.package for each in api(folder).parameter_spans("trl.SFTConfig", "logging_steps")] == [
        "trl",
        "transformers",
    ]


def test_a_shim_counts_among_the_releases_that_take_a_name(folder: Path) -> None:
    """A call with it works there."""
    spans = api(folder).parameter_spans("transformers.Trainer", "tokenizer")

    assert spans == (Span("transformers", "4.36.0", "4.57.6", "5.0.0"),)


def test_an_init_of_its_own_hides_what_the_base_takes(folder: Path) -> None:
    """It does not hand it on."""
    assert api(folder).parameter_spans("trl.SFTTrainer", "processing_class") == ()


def test_names_and_modules_come_and_go(folder: Path) -> None:
    """Three answers: yes, no, nobody knows."""
    now, then = api(folder), api(folder, "0.7.0", "4.36.0")

    assert then.has_module("trl.core") is True
    assert now.has_module("trl.core") is False
    assert now.has_module("trl.never_heard_of") is False
    assert now.has_module("trl.tests") is None
    assert now.has_module("transformers.models.llama") is None
    assert now.has_module("torch.nn") is None
    assert then.has_name("trl", "Collator") is True
    assert now.has_name("trl", "Collator") is False
    assert now.has_name("trl.core", "LengthSampler") is False
    assert now.has_name("trl", "experimental") is True
    assert then.has_name("trl", "experimental") is False
    assert now.has_name("transformers.models", "anything") is None
    assert now.has_name("torch", "float16") is None


def test_the_names_of_a_module_are_listed(folder: Path) -> None:
    """At the release in use."""
    assert api(folder).names("trl") == {"SFTConfig", "SFTTrainer", "__version__"}
    assert api(folder).names("nobody") == frozenset()


def test_name_spans_tell_since_when_a_name_is_gone(folder: Path) -> None:
    """A module that can be imported from its parent counts as a name."""
    found = api(folder)

    assert found.name_spans("trl", "Collator") == (Span("trl", "0.7.0", "0.12.0", "0.20.0"),)
    assert found.name_spans("trl", "core") == (Span("trl", "0.7.0", "0.12.0", "0.20.0"),)
    assert found.name_spans("trl", "SFTConfig") == (Span("trl", "0.7.0"),)
    assert found.name_spans("trl", "Nonsense") == ()


def test_a_method_is_inherited_across_packages(folder: Path) -> None:
    """`SFTTrainer.train` is transformers'."""
    found = api(folder, "0.20.0").signature("trl.SFTTrainer.train")

    assert found is not None
    assert (found.home, found.path) == ("transformers.trainer.Trainer.train", "trl.SFTTrainer.train")
    assert list(found.parameters) == ["resume"]
    assert found.kind == "method"
    assert api(folder, "0.20.0").home("trl.SFTTrainer.train") == "transformers.trainer.Trainer.train"


def test_a_base_that_nobody_knows_might_have_the_method(folder: Path) -> None:
    """So nothing is claimed."""
    assert api(folder).signature("trl.SFTTrainer.push") is None


def test_ancestors_go_from_the_nearest_on(folder: Path) -> None:
    """An unknown base appears by its name."""
    assert api(folder).ancestors("trl.SFTTrainer") == (
        "trl.trainer.sft_trainer.SFTTrainer",
        "trl.trainer.base_trainer._BaseTrainer",
        "transformers.trainer.Trainer",
        "torch.Thing",
    )
    assert Api({"trl": "0.7.0"}, folder=folder).ancestors("trl.SFTTrainer")[-1] == "transformers.Trainer"


def test_checks_of_the_bases_come_after_its_own(folder: Path) -> None:
    """As `super().__post_init__()` makes them."""
    found = api(folder).checks("trl.SFTConfig")

    assert [(each.home, each.text) for each in found] == [
        ("trl.trainer.sft_config.SFTConfig", "own"),
        ("transformers.training_args.TrainingArguments", "check"),
    ]
    assert len(api(folder, transformers="4.36.0").checks("trl.SFTConfig")) == 1


def test_a_function_is_known_by_its_path(folder: Path) -> None:
    """One with `**kwargs` takes anything."""
    found = api(folder).signature("trl.Helper")

    assert found is not None
    assert (found.kind, found.open, found.parameters["x"].default) == ("function", True, REQUIRED)
    assert api(folder, "0.7.0").signature("trl.Helper") is None


def test_a_class_that_derives_from_itself_does_no_harm(folder: Path) -> None:
    """Whatever the history says."""
    found = api(folder).signature("trl.Loop")

    assert found is not None
    assert found.open
    assert api(folder).ancestors("trl.Loop")


def test_what_a_line_leaves_out_is_put_back(tmp_path: Path) -> None:
    """A value that never changes, a parameter as its base has it, a home for several names, a program in pieces."""
    entries = {
        "@": {"package": "lib", "made": "2026-11-21", "versions": ["1", "2", "3"]},
        "m lib": {"r": "0-", "n": {"0-": "own @lib.a Config Other:Plain", "2-": "Late@lib.a:Config"}},
        "c lib.a.Base": {"r": "0-", "k": "dataclass", "n": 2, "p": {"x": {"a": "int", "d": "1"}, "z": {"d": "3"}}},
        "c lib.a.Config": {
            "r": "1-",
            "a": [[0, ["lib.a.Base"]]],
            "k": "dataclass",
            "n": 3,
            "i": {"lib.a.Base": {"1-": "x", "2-": "z"}},
            "p": {"y": {"d": "2", "w": [["2-", "gone soon", "", False]]}},
            "x": [["1-", "__post_init__", "a()"], ["2-", "__post_init__", "b()\nc()"], ["1-1", "__init__", "d()"]],
            "m": {"go": {"kw": "open", "p": {"far": {"d": None}}}},
            "o": [[0, None], [2, "x y z"]],
        },
    }
    lines = [f"{head}\t{json.dumps(entry)}\n" for head, entry in entries.items()]
    (tmp_path / "lib.history").write_text("".join(lines), encoding="utf-8")
    second, third = Api({"lib": "2"}, folder=tmp_path), Api({"lib": "3.0"}, folder=tmp_path)
    early, late, method = second.signature("lib.Config"), third.signature("lib.Late"), third.signature("lib.Config.go")

    assert early is not None
    assert late is not None
    assert method is not None
    assert {name: (each.default, each.home) for name, each in early.parameters.items()} == {
        "x": (1, "lib.a.Base"),
        "y": (2, "lib.a.Config"),
    }
    assert list(late.parameters) == ["x", "y", "z"]
    assert late.parameters["x"].types == {"int"}
    assert late.parameters["y"].deprecation is not None
    assert (method.open, method.parameters["far"].default) == (True, REQUIRED)
    assert third.home("lib.Other") == "lib.a.Plain"
    assert [(each.method, each.text) for each in second.checks("lib.Config")] == [
        ("__post_init__", "a()"),
        ("__init__", "d()"),
    ]
    assert [each.text for each in third.checks("lib.Config")] == ["a()\nb()\nc()"]
    assert third.parameter_spans("lib.Config", "z") == (Span("lib", "3"),)


def test_no_position_is_claimed_that_the_history_does_not_keep() -> None:
    """Fields that a dataclass adds to another package's are in no order; those of the base are."""
    api = Api(newest())
    config, base, adapter = map(api.signature, ("trl.SFTConfig", "transformers.TrainingArguments", "peft.LoraConfig"))

    assert config is not None
    assert base is not None
    assert adapter is not None
    assert config.positional == base.positional
    assert list(config.parameters)[: config.positional] == list(base.parameters)
    assert adapter.positional is None


def test_releases_and_dates_are_told(folder: Path) -> None:
    """By either spelling of a package's name."""
    assert released("trl", folder=folder) == ("0.7.0", "0.12.0", "0.20.0", "1.16.0")
    assert released("huggingface-hub", folder=folder) == ()
    assert newest(folder=folder) == {"trl": "1.16.0", "transformers": "5.23.0"}
    assert made(folder=folder) == "2026-11-21"


def test_ranges_are_inclusive_and_may_be_open() -> None:
    """One number stands for one release."""
    history = History("p", '\n@\t{"versions": ["1", "2", "3", "4", "5", "6"]}')

    assert [bin(history.releases(ranges)) for ranges in ("0-1,4-", "3", "")] == ["0b110011", "0b1000", "0b0"]
    assert list(history.spans(history.releases("0-1,4-"))) == [Span("p", "1", "2", "3"), Span("p", "5")]


@pytest.mark.parametrize(
    ("annotation", "types"),
    [
        ("int | None", "int null"),
        ("'int | None'", "int null"),
        ("typing.Optional[bool]", "bool null"),
        ("Union[str, list[str], None]", "str list null"),
        ('Literal["a", 2, True, None]', "str int bool null"),
        ("dict[str, Any]", "dict"),
        ("Optional[Union[dict, str]]", "dict str null"),
        ("Annotated[float, 'x']", "float"),
        ("torch.dtype | str", ""),
        ("Any", ""),
        ("Callable[[int], str]", ""),
        ("tuple[int, int]", ""),
        ("int |", ""),
        ("'''", ""),
        ("", ""),
    ],
)
def test_only_plain_types_are_understood(annotation: str, types: str) -> None:
    """Anything else admits anything."""
    assert plain_types(annotation) == frozenset(types.split())


# With the history that comes with holdfast


@pytest.mark.parametrize(
    ("versions", "takes", "refuses"),
    [
        (
            {"trl": "1.16.0", "transformers": "5.23.0"},
            {"max_length", "warmup_steps"},
            {"max_seq_length", "warmup_ratio"},
        ),
        ({"trl": "1.16.0", "transformers": "5.14.1"}, {"warmup_ratio", "logging_dir"}, {"group_by_length"}),
        (
            {"trl": "0.19.1", "transformers": "4.53.3"},
            {"max_seq_length", "max_length", "no_cuda"},
            {"evaluation_strategy"},
        ),
        (
            {"trl": "0.12.2", "transformers": "4.46.3"},
            {"max_seq_length", "evaluation_strategy"},
            {"max_length", "pad_token"},
        ),
        ({"trl": "0.16.1", "transformers": "4.50.3"}, {"pad_token"}, set()),
        (
            {"trl": "0.16.0", "transformers": "4.46.1"},
            {"include_for_metrics"},
            {"pad_token", "average_tokens_across_devices"},
        ),
        ({"trl": "0.16.0", "transformers": "4.46.2"}, {"average_tokens_across_devices"}, set()),
    ],
)
def test_sft_config_takes_what_it_took(versions: dict[str, str], takes: set[str], refuses: set[str]) -> None:
    """Patch releases matter; so does the pair."""
    found = Api(versions).signature("trl.SFTConfig")

    assert found is not None
    assert not found.open
    assert {name for name in takes if not found.takes(name)} == set()
    assert {name for name in refuses if found.takes(name)} == set()


@pytest.mark.parametrize(
    ("path", "name", "span"),
    [
        ("trl.SFTConfig", "max_seq_length", Span("trl", "0.9.2", "0.19.1", "0.20.0")),
        ("trl.SFTTrainer", "tokenizer", Span("trl", "0.7.0", "0.15.2", "0.16.0")),
        ("trl.GRPOConfig", "warmup_ratio", Span("transformers", "4.36.0", "5.14.1", "5.15.0")),
        ("trl.PPOConfig", "steps", Span("trl", "0.7.0", "0.11.4", "0.12.0")),
        ("transformers.Trainer", "tokenizer", Span("transformers", "4.36.0", "4.57.6", "5.0.0")),
        ("transformers.TrainingArguments", "evaluation_strategy", Span("transformers", "4.36.0", "4.50.3", "4.51.0")),
        ("trl.ModelConfig", "torch_dtype", Span("trl", "0.7.11", "0.26.2", "0.27.0")),
    ],
)
def test_the_last_release_that_took_an_argument_is_known(path: str, name: str, span: Span) -> None:
    """The library's own messages name others."""
    assert Api(newest()).parameter_spans(path, name) == (span,)


@pytest.mark.parametrize(
    ("module", "name", "last"),
    [
        ("trl", "DataCollatorForCompletionOnlyLM", "0.19.1"),
        ("trl", "setup_chat_format", "0.25.1"),
        ("trl", "get_kbit_device_map", "1.7.1"),
        ("trl", "PPOTrainer", "0.28.0"),
        ("trl.experimental.ppo", "PPOTrainer", "1.12.0"),
        ("trl", "core", "0.24.0"),
        ("trl.core", "LengthSampler", "0.24.0"),
        ("transformers", "AdamW", "4.49.0"),
        ("transformers", "AutoModelForVision2Seq", "4.57.6"),
        ("trl", "SFTTrainer", None),
    ],
)
def test_the_last_release_that_had_a_name_is_known(module: str, name: str, last: str | None) -> None:
    """And at the newest it is there or not accordingly."""
    api = Api(newest())

    assert api.name_spans(module, name)[-1].last == last
    assert api.has_name(module, name) is (last is None)


def test_a_class_of_the_same_name_may_be_another() -> None:
    """`trl.PPOConfig` changed its whole API in 0.12."""
    old, new = Api({"trl": "0.11.4"}), Api({"trl": "0.12.0", "transformers": "4.46.3"})
    before, after = old.signature("trl.PPOConfig"), new.signature("trl.PPOConfig")

    assert before is not None
    assert after is not None
    assert before.takes("ppo_epochs")
    assert not before.takes("num_ppo_epochs")
    assert after.takes("num_ppo_epochs")
    assert not after.takes("ppo_epochs")


def test_a_moved_name_has_its_home_where_the_release_has_it() -> None:
    """KTO came back from experimental."""
    homes = {version: Api({"trl": version}).home("trl.KTOTrainer") for version in ("0.12.2", "1.16.0")}

    assert homes == dict.fromkeys(homes, "trl.trainer.kto_trainer.KTOTrainer")
    assert Api({"trl": "1.16.0"}).has_name("trl.experimental.orpo", "ORPOTrainer") is True


def test_unknown_keywords_may_be_swallowed() -> None:
    """A line in the log is no error."""
    found = Api(newest()).signature("transformers.BitsAndBytesConfig")

    assert found is not None
    assert found.swallows
    assert found.takes("nonsense")


@pytest.mark.train
@pytest.mark.parametrize("module", ["trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub"])
def test_no_module_that_can_be_imported_is_denied(module: str) -> None:
    """Every module of the installed libraries, though none is run."""
    versions = newest()
    if version(module) != versions[module]:
        pytest.skip(f"{module} {version(module)} is installed, the history ends at {versions[module]}")
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    root = Path(spec.submodule_search_locations[0])
    api = Api(versions)
    paths = [file.relative_to(root.parent).with_suffix("") for file in root.rglob("*.py")]
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths}

    assert {name for name in names if api.has_module(name) is False} == set()
