"""The model card and the file for Ollama say what is known, and nothing else."""

import pytest
from msgspec import convert, structs

from holdfast.core.export import ChatParts, ReferenceAnswer
from holdfast.engine.evaluate.headlines import describe_dataset
from holdfast.engine.export.model_card import CardFacts, render_card
from holdfast.engine.export.modelfile import has_template, render_modelfile
from holdfast.results.evaluate import (
    BaseFigure,
    EvaluateResult,
    EvaluationFigure,
    EvaluationSettings,
    FailedDataset,
    GateResult,
    LeakedDataset,
)
from holdfast.results.export import ExportCheck, ExportedFile
from tests.helpers.evaluations import evaluation

CHECK = ExportCheck(name="token-ids", verdict="pass", value=1.0, because="the ids of 415 of 415 texts are equal")
FILES = [
    ExportedFile(
        path="out", format="safetensors", quantization=None, bytes=2000, memory_bytes=2000, types={}, checks=[]
    ),
    ExportedFile(
        path="out/a-q8_0.gguf",
        format="gguf",
        quantization="q8_0",
        bytes=1000,
        memory_bytes=1500,
        types={},
        checks=[CHECK],
    ),
    ExportedFile(path="", format="gguf", quantization="q2_k", bytes=0, memory_bytes=0, types={}, checks=[]),
]
CHAT = ChatParts(
    begin="<s>",
    roles={"user": ("<u>", "</u>\n"), "assistant": ("<a>", "</a>\n"), "system": ("<y>", "</y>\n")},
    opening="<a>",
)


def facts(**more: object) -> CardFacts:
    known: dict[str, object] = {
        "name": "sums", "base": "", "hub_base": "", "method": "", "dataset": "", "settings": "", "base_licence": "", "data_licence": "",
        "rows": "", "rows_digest": "", "evaluations": [], "files": FILES, "versions": {"torch": "2.13"}, "command": "holdfast export sums --gguf q8_0",
    }  # fmt: skip
    return CardFacts(**{**known, **more})  # type: ignore[arg-type]


def test_what_is_not_known_is_said() -> None:
    """No licence, no data and no figure is made up; a file that was not delivered is not listed."""
    card = render_card(facts())

    assert card.count("not known") == 5
    assert "license:" not in card
    assert "base_model:" not in card
    assert "It was not evaluated" in card
    assert "q2_k" not in card
    assert "415 of 415" in card


def test_what_is_known_is_there() -> None:
    card = render_card(
        facts(
            base="acme/base",
            hub_base="acme/base",
            base_licence="mit",
            method="sft",
            dataset="acme/chats",
            settings="method: sft\n",
        )
    )

    assert card.startswith(
        "---\nbase_model: acme/base\nlicense: mit\nlibrary_name: transformers\ntags: [sft, gguf, holdfast]\n---\n"
    )
    assert "- trained on: acme/chats" in card
    assert "```yaml\nmethod: sft\n```" in card


def test_figures_have_their_intervals() -> None:
    """Only those of whole datasets; beside the base's, with the verdict."""
    base = BaseFigure(
        value=0.2, difference=0.3, low=0.2, high=0.4, p_value=0.01, test="paired", verdict="better", rows_needed=None
    )
    figure = EvaluationFigure(
        dataset="test.jsonl", split="test", rows=1200, metric="f1", value=0.5, low=0.45, high=0.55, interval="bootstrap", rows_needed=None, where=None, base=base,
    )  # fmt: skip
    settings = EvaluationSettings(
        max_new_tokens=1, stop_strings=[], temperature=0, top_p=1, top_k=0, seed=0, batch_size=1, template="", device="cpu", dtype="float32",
    )  # fmt: skip
    part = structs.replace(figure, where={"level": "easy"}, value=0.9)
    result = EvaluateResult(
        verb="evaluate", verdict="pass", model="sums", base="acme/base", results=[figure, part], datasets=[], failed=[], leaked=[], worst=[],
        gates=[], answers=[], metrics=[], settings=settings, versions={}, files=[], samples="",
    )  # fmt: skip
    card = render_card(facts(evaluations=[result]))

    assert "| test.jsonl | f1 | 0.5 | 0.45 to 0.55 | 1,200 | 0.2 | better |" in card
    assert "0.9" not in card


def measured(name: str, *failed: str, gates: tuple[GateResult, ...] = (), value: float | None = 0.5) -> EvaluateResult:
    """An evaluation with a figure of a dataset, unless it has no value, in which other datasets failed."""
    figure = EvaluationFigure(
        dataset=name, split="test", rows=9, metric="f1", value=value, low=None, high=None, interval="", rows_needed=None, where=None, base=None
    )  # fmt: skip
    broken = [FailedDataset(dataset=each, name="", because="it raises ValueError", fix="mend it") for each in failed]
    figures = [figure] if value is not None else []
    return structs.replace(evaluation(name), results=figures, failed=broken, gates=gates)


@pytest.mark.parametrize(
    ("evaluations", "shown", "told"),
    [
        ([measured("new"), measured("old")], "new", ""),
        ([measured("new", "bad", "torn"), measured("old")], "old", "bad: it raises ValueError; torn: it raises"),
        (
            [measured("new", "bad", value=None), measured("prompts", value=None), measured("old")],
            "old",
            "bad: it raises",
        ),
        ([measured("new", "bad"), measured("old", "torn")], "new", "bad failed: it raises ValueError"),
        ([measured("prompts", value=None)], "", ""),
        ([measured("new", "bad", value=None)], "", "an evaluation that failed is left out: bad: it raises ValueError"),
    ],
)
def test_the_card_has_the_newest_evaluation_that_did_not_fail(
    evaluations: list[EvaluateResult], shown: str, told: str
) -> None:
    """It says what it leaves out; if all failed, it says what failed in the one that it shows."""
    card = render_card(facts(evaluations=evaluations))

    assert [name for name in ("new", "old", "prompts") if f"| {name} | f1 |" in card] == [shown][: bool(shown)]
    assert told in card
    assert ("failed" in card) == bool(told)
    assert "It was not evaluated" not in card
    assert ("No evaluation of it gave figures." in card) == (not shown)


def test_a_condition_that_does_not_hold_is_no_failed_evaluation() -> None:
    """An older evaluation would hide it."""
    gate = GateResult(gate="f1=0.9", dataset="new", passed=False, because="f1 is 0.5")

    card = render_card(facts(evaluations=[measured("new", gates=(gate,)), measured("old")]))

    assert "| new | f1 |" in card
    assert "`f1=0.9` does not hold: f1 is 0.5" in card


LEAKED = LeakedDataset(dataset="test.jsonl", rows=56, fraction=56 / 60, exact=[0], near=[], without=[])


def test_the_card_says_which_rows_were_trained_on() -> None:
    """Once for a dataset that was measured for two tasks; nothing of a dataset without such rows."""
    clean = structs.replace(LEAKED, dataset="clean.jsonl", rows=0, fraction=0.0)
    leaking = structs.replace(measured("test.jsonl"), leaked=[LEAKED, LEAKED, clean])
    unknown = structs.replace(measured("test.jsonl"), leaks_unknown="its data is not known")

    card = render_card(facts(evaluations=[leaking]))

    assert card.count("- test.jsonl: 56 rows (93.3%) in the training data") == 1
    assert "clean.jsonl" not in card
    assert "not compared with the training data: its data is not known" in render_card(facts(evaluations=[unknown]))


@pytest.mark.parametrize("verdict", ["better", "worse", "undecided", None])
def test_a_verdict_has_the_rows_in_the_training_data_beside_it(verdict: str | None) -> None:
    base = {"value": 0.2, "difference": 0.1, "low": 0.0, "high": 0.2, "p_value": None, "test": "", "verdict": verdict}
    figure = {
        "dataset": "test.jsonl", "split": "test", "rows": 60, "metric": "loss", "value": 1.05, "low": 1.0, "high": 1.1, "interval": "",
        "rows_needed": None, "where": None, "base": base | {"rows_needed": None} if verdict else None,
    }  # fmt: skip
    one = structs.replace(evaluation("test.jsonl"), results=[convert(figure, EvaluationFigure)])

    (dataset,) = one.datasets
    said = describe_dataset(structs.replace(one, leaked=[LEAKED]), dataset)

    assert said == f"{describe_dataset(one, dataset)}; 56 rows (93.3%) in the training data"


def original(chat: ChatParts | None) -> ReferenceAnswer:
    return ReferenceAnswer(
        perplexity=2.0,
        tokens=10,
        generated=3,
        ended=True,
        chat=chat,
        begins="<s>",
        stops=["</a>"],
        sampling={"top_k": 20},
    )


def test_the_template_for_ollama() -> None:
    """What Ollama adds itself, the token that begins a text, is left out."""
    told = render_modelfile("a-q8_0.gguf", original(CHAT))

    assert told.splitlines()[0] == "FROM ./a-q8_0.gguf"
    assert (
        'TEMPLATE """{{ range .Messages }}{{ if eq .Role "user" }}<u>{{ .Content }}</u>\n{{ else if eq .Role "assistant" }}'
        in told
    )
    assert told.endswith('{{ end }}{{ end }}<a>"""\nPARAMETER stop "</a>"\nPARAMETER top_k 20\n')


def test_a_template_that_cannot_be_written_is_left_out() -> None:
    odd = ChatParts(begin="", roles={"user": ('"""', "")}, opening="")

    assert not has_template(original(odd))
    assert "TEMPLATE" not in render_modelfile("a.gguf", original(None)) + render_modelfile("a.gguf", original(odd))
