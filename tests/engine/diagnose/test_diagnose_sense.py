"""What an exception that nobody knows is about, by its sentence, its place and its kind."""

import pytest

from holdfast.signatures import all_signatures
from tests.helpers.diagnose_signatures import found

FRAME = """Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    main()
  File "{file}", line 12, in {function}
    {code}
{error}
"""
LIBRARY = "/opt/venv/lib/python3.11/site-packages/"


def first(error: str, file: str = "", function: str = "", code: str = "raise ValueError(") -> tuple[str, float]:
    """Return the class that is told first of an exception, and its confidence; an empty one where none is."""
    text = FRAME.format(file=file, function=function, code=code, error=error) if file else f"{error}\n"
    diagnosis = found(text, *all_signatures())
    if diagnosis.verdict == "unknown":
        return "", 0.0
    return diagnosis.causes[0].signature.name, diagnosis.causes[0].confidence


@pytest.mark.parametrize(
    ("name", "error", "file", "function"),
    [
        ("invalid-config-value", "ValueError: Per-layer GaLore does not support accumulation.", "tuner/optim.py", "create_optimizer"),
        ("invalid-config-value", "NotImplementedError: Only 4-bit weights can be used with `merge_early`.", "tuner/merge.py", "merge"),
        ("invalid-config-value", "AssertionError: depth must be divisible by stages", "tuner/pipeline.py", "build_stages"),
        ("framework-version-incompatible", "RuntimeError: Offloading needs acmeao 0.6.0 or later", "tuner/offload.py", "pack"),
        ("missing-module", "ImportError: s3:// paths require s3fs to be installed", "tuner/files.py", "filesystem_of"),
        ("chat-roles-not-alternating", "ValueError: System prompts are not supported in this format", "tuner/chat.py", "encode"),
        ("dataset-not-found", "ValueError: Path does not exist: rows.", "tuner/data/loading.py", "load"),
        ("dataset-bad-row-values", "ValueError: Expected a list of images, got 3", "tuner/data/images.py", "regularize"),
        ("model-files-missing", "ValueError: Adapter checkpoint file x.pt does not exist.", "tuner/weights.py", "path_of"),
        ("lora-target-modules-not-found", "ValueError: Module qq is not found, choose from a, b", "tuner/freezing.py", "freeze"),
    ],
)  # fmt: skip
def test_a_librarys_sentence_tells_what_it_is_about(name: str, error: str, file: str, function: str) -> None:
    """Of a library that is in no history: by what it refuses, and never for sure."""
    kind = error.partition(":")[0]
    told, confidence = first(error, LIBRARY + file, function, f"raise {kind}(")

    assert told == name
    assert confidence < 0.8


@pytest.mark.parametrize(
    ("error", "file", "function"),
    [
        ("ValueError: value must be positive", LIBRARY + "torch/nn/functional.py", "dropout"),
        ("ValueError: queries must be 4-dimensional", LIBRARY + "tuner/attention.py", "forward"),
        ("RuntimeError: something odd happened", LIBRARY + "tuner/optim.py", "create_optimizer"),
        ("OSError: Failed to load tokenizer.", LIBRARY + "tuner/loading.py", "load"),
    ],
)
def test_what_is_about_numbers_or_about_nothing_is_not_guessed(error: str, file: str, function: str) -> None:
    assert first(error, file, function)[0] in ("", "user-code-error")


def test_what_the_users_own_code_raises_is_the_users() -> None:
    assert first("ValueError: batch must be even", "/job/helpers.py", "split")[0] == "user-code-error"


@pytest.mark.parametrize(
    ("name", "error", "code"),
    [
        ("framework-version-incompatible", "AttributeError: 'Sampler' object has no attribute 'plan'", "self.sampler.plan()"),
        ("framework-version-incompatible", "TypeError: draw() got an unexpected keyword argument 'plan'", "draw(plan=1)"),
        ("framework-version-incompatible", "NameError: name 'PlanConfig' is not defined", "class Plan(PlanConfig):"),
        ("invalid-config-value", "AttributeError: 'PosixPath' object has no attribute 'plan'", "self.sampler.plan()"),
        ("train-dataset-wrong-type", "AttributeError: 'DatasetDict' object has no attribute 'plan'", "self.rows.plan()"),
        ("invalid-config-value", "TypeError: must be real number, not str", "math.ceil(args.epochs * steps)"),
        ("", "TypeError: must be real number, not str", "math.ceil(epochs * steps)"),
        ("", "AttributeError: 'SimpleNamespace' object has no attribute 'plan'", "self.sampler.plan()"),
        ("", "AttributeError: 'NoneType' object has no attribute 'plan'", "self.sampler.plan()"),
        ("", "TypeError: vars() takes no plan and must be used with one", "vars(plan)"),
        ("framework-version-incompatible", "SyntaxError: invalid syntax", 'exec(made)\n  File "<string>", line 3\n    )if 1:'),
    ],
)  # fmt: skip
def test_what_python_stumbles_over_inside_a_library_is_its_meeting_another(name: str, error: str, code: str) -> None:
    assert first(error, LIBRARY + "tuner/drawing.py", "draw_all", code)[0] == name


@pytest.mark.parametrize("file", ["/job/trainer.py", LIBRARY + "tuner/trainer.py"])
def test_an_attribute_of_another_release_is_told_by_the_releases(file: str) -> None:
    """`num_iterations` came to GRPOConfig with TRL 0.16; no release ever had the other."""
    newer = "AttributeError: 'GRPOConfig' object has no attribute 'num_iterations'"
    never = "AttributeError: 'GRPOConfig' object has no attribute 'number_of_repetitions'"

    assert first(newer, file, "__init__", "self.count = args.num_iterations")[0] == "framework-version-incompatible"
    told = first(never, "/job/trainer.py", "__init__", "self.count = args.number_of_repetitions")
    assert told[0] == "user-code-error"


def test_without_a_traceback_a_sentence_has_to_name_a_setting() -> None:
    assert first("ValueError: `pack_rows` is not supported with streaming.")[0] == "invalid-config-value"
    assert first("ValueError: that is not supported.")[0] == ""


IMPORTED = """Traceback (most recent call last):
  File "/job/train.py", line 2, in <module>
    {code}
  File "{library}tuner/patching.py", line 40, in <module>
    release = releases[1]
{error}
"""


@pytest.mark.parametrize(
    ("code", "error", "name"),
    [
        ("from tuner import FastModel", "IndexError: list index out of range", "framework-version-incompatible"),
        ("import tuner", "TypeError: expected string or bytes-like object", "framework-version-incompatible"),
        ("import tuner", "OSError: something odd happened", ""),
        ("tuner.patch()", "IndexError: list index out of range", ""),
    ],
)
def test_what_python_stumbles_over_while_a_library_is_imported_is_that_libraries_do_not_fit(
    code: str, error: str, name: str
) -> None:
    diagnosis = found(IMPORTED.format(code=code, library=LIBRARY, error=error), *all_signatures())
    told = diagnosis.causes[0].signature.name if diagnosis.verdict == "diagnosed" else ""
    assert told == name


@pytest.mark.parametrize(
    "file", ["/work/verl/verl/protocol.py", "/src/open_r1/grpo.py", "/work/ms-swift/swift/llm/sft.py"]
)
def test_a_framework_that_runs_from_a_checkout_is_none_of_the_users_code(file: str) -> None:
    assert (
        first("AssertionError: only support equal chunk. Got size 2 and chunk 4.", file, "chunk", "assert not left, (")[
            0
        ]
        == "invalid-config-value"
    )


def test_a_compiled_module_is_none_of_the_users_code() -> None:
    assert first("ArrowThing: odd", "pyarrow/error.pxi", "pyarrow.lib.check_status", "raise x")[0] == ""


def test_a_script_that_checks_its_environment_states_the_cause() -> None:
    error = "AssertionError: Frob is now in the main branch.\nPlease reinstall it: pip install git+https://example.org/frob.git"
    name, confidence = first(error, "/job/finetune.py", "<module>", '"Frob" in frob.models')
    assert name == "framework-version-incompatible"
    assert confidence < 0.7
    assert (
        first("AssertionError: at least two rows are needed", "/job/finetune.py", "check", "assert rows")[0]
        == "user-code-error"
    )


def test_a_message_over_several_lines_is_read_where_the_beginning_of_its_traceback_is_cut_off() -> None:
    text = """  File "/job/finetune.py", line 18, in <module>
    "Frob" in frob.models
AssertionError: Frob is now in the main branch.
Please reinstall it: pip install git+https://example.org/frob.git
"""
    assert found(text, *all_signatures()).causes[0].signature.name == "framework-version-incompatible"


LACKS = """Traceback (most recent call last):
  File "/job/train.py", line 9, in <module>
    trainer.train()
  File "{file}", line 78, in parameters_of
    weight = base_layer.weight
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1931, in __getattr__
    raise AttributeError(
AttributeError: 'FrobLinearGEMM' object has no attribute 'weight'
"""


@pytest.mark.parametrize(
    ("file", "name"),
    [(f"{LIBRARY}tuner/kernels.py", "framework-version-incompatible"), ("/job/layers.py", "user-code-error")],
)
def test_who_asks_for_an_attribute_is_told_and_not_torchs_look_up(file: str, name: str) -> None:
    assert found(LACKS.format(file=file), *all_signatures()).causes[0].signature.name == name


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (
            "framework-version-incompatible",
            "AttributeError: 'FrobRecipeDistributed' object has no attribute 'world_size'",
        ),
        (
            "framework-version-incompatible",
            "TypeError: FrobWorkerBase.execute_method() got an unexpected keyword argument 'x'",
        ),
        ("", "AttributeError: 'MyModelWrapper' object has no attribute 'world_size'"),
        ("", "AttributeError: 'Frob' object has no attribute 'world_size'"),
        ("", "AttributeError: 'NoneType' object has no attribute 'world_size'"),
    ],
)
def test_without_a_traceback_a_class_is_a_librarys_if_it_is_named_like_one(name: str, error: str) -> None:
    assert first(error)[0] == name
