"""Code that makes foreign datasets fit: what it gives, and when there is none."""

import json
from typing import Any

import polars as pl
import pytest

from holdfast.catalog.formats import ColumnSettings, judge, recognise, types_of_rows
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import ListOf, Scalar
from holdfast.core.rows.scan import LackingRows, RowCount
from holdfast.engine.mapping import Proposal, propose
from holdfast.engine.mapping.applying import map_batches, map_rows
from holdfast.engine.mapping.readings import PREFERENCES
from holdfast.engine.mapping.spellings import ROLES as SPOKEN
from tests.helpers.foreign_data import FOREIGN, chat, shared, transcript
from tests.helpers.scanned import FakeRows
from tests.helpers.shapes_of_data import DATA, GOOD, USER

Row = dict[str, Any]


def proposed(method: str, rows: list[Row], settings: ColumnSettings | None = None) -> Proposal:
    columns = types_of_rows(rows)
    settings = settings or ColumnSettings()
    return propose(method, columns, recognise(columns, rows, settings), rows, settings)


def rewritten(method: str, rows: list[Row], settings: ColumnSettings | None = None) -> list[Row]:
    """What the proposed code makes of rows."""
    source = proposed(method, rows, settings).source
    assert source
    module: dict[str, Any] = {}
    exec(source, module)
    return [module["rewrite"](row) for row in rows]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "Be kind."}
RESULTS: dict[tuple[str, str], Row] = {
    ("dpo", "scored lists"): {
        "prompt": [user("Why?")],
        "chosen": [assistant("So it is.")],
        "rejected": [assistant("No.")],
    },
    ("sft", "alpaca"): {"prompt": [user("Add the numbers.\n\n1 and 2")], "completion": [assistant("3")]},
    ("grpo", "alpaca"): {"prompt": [user("Add the numbers.\n\n1 and 2")], "solution": "3"},
    ("sft", "dolly"): {"prompt": [user("Who wrote it?\n\nAnn wrote it.")], "completion": [assistant("Ann.")]},
    ("sft", "openorca"): {
        "prompt": [{"role": "system", "content": "Be short."}, user("Why?")],
        "completion": [assistant("Because.")],
    },
    ("sft", "prompt and response"): {"prompt": [user("Say hello.")], "completion": [assistant("Hello.")]},
    ("grpo", "gsm8k"): {
        "prompt": [user("Ann has 1 and gets 1.")],
        "solution": "2",
        "answer": "She has 1+1=<<1+1=2>>2.\n#### 2",
    },
    ("grpo", "question and number"): {"prompt": [user("1 + 1?")], "solution": "2"},
    ("grpo", "numina"): {"prompt": [user("1 + 1?")], "solution": "It is \\boxed{2}.", "source": "synthetic"},
    ("sft", "sharegpt"): {"messages": [user("Hi."), assistant("Hello."), user("Bye."), assistant("Bye.")]},
    ("sft", "hermes"): {"messages": [SYSTEM, user("Hi."), assistant("Hello.")]},
    ("sft", "capybara"): {"messages": [user("Hi."), assistant("Hello."), user("?"), assistant("!")]},
    ("sft", "conversations by role"): {"messages": chat("Hi.", "Hello.")},
    ("sft", "ultrachat"): {"messages": chat("Hi.", "Hello.")},
    ("sft", "openai as JSON"): {"messages": chat("Hi.", "Hello.")},
    ("sft", "columns of turns"): {"messages": chat("Hi.", "Hello.")},
    ("sft", "messages by speaker"): {"messages": chat("Hi.", "Hello.")},
    ("grpo", "openai"): {"prompt": [SYSTEM, user("Hi.")], "solution": "Hello."},
    ("dpo", "openai preference"): {
        "prompt": chat("Hi."),
        "chosen": [assistant("Hello.")],
        "rejected": [assistant("Go.")],
    },
    ("sft", "hh-rlhf"): {"messages": chat("Hi.", "Hello.", "1 + 1?", "2.")},
    ("dpo", "hh-rlhf"): {
        "chosen": chat("Hi.", "Hello.", "1 + 1?", "2."),
        "rejected": chat("Hi.", "Hello.", "1 + 1?", "3."),
    },
    ("dpo", "ultrafeedback binarized"): {
        "chosen": chat("What is 1 plus 1?", "It is 2."),
        "rejected": chat("What is 1 plus 1?", "It is 3."),
    },
    ("dpo", "ultrafeedback"): {
        "prompt": [user("What is 1 plus 1?")],
        "chosen": [assistant("It is 2.")],
        "rejected": [assistant("It is 3.")],
    },
    ("reward", "shp"): {"prompt": [user("Why?")], "chosen": [assistant("Because.")], "rejected": [assistant("So.")]},
    ("dpo", "safe-rlhf"): {"prompt": [user("Why?")], "chosen": [assistant("Because.")], "rejected": [assistant("So.")]},
    ("dpo", "helpsteer3"): {"prompt": chat("Why?"), "chosen": [assistant("Because.")], "rejected": [assistant("So.")]},
    ("dpo", "arena"): {"chosen": chat("Why?", "Because."), "rejected": chat("Why?", "So.")},
    ("dpo", "orca-dpo"): {
        "prompt": [{"role": "system", "content": "Be short."}, user("Why?")],
        "chosen": [assistant("Because.")],
        "rejected": [assistant("So.")],
    },
    ("dpo", "capybara-dpo"): {
        "chosen": chat("Hi.", "Hello.", "Why?", "Because."),
        "rejected": chat("Hi.", "Hello.", "Why?", "So."),
    },
    ("dpo", "single messages"): {
        "prompt": [user("Why?")],
        "chosen": [assistant("Because.")],
        "rejected": [assistant("So.")],
    },
    ("kto", "thumbs"): {"prompt": [user("Why?")], "completion": [assistant("Because.")], "label": True},
    ("kto", "feedback"): {"prompt": [user("Why?")], "completion": [assistant("Because.")], "label": True},
    ("kto", "label as text"): {"prompt": "Why?", "completion": "Because.", "label": True},
    ("kto", "math-shepherd"): {
        "prompt": [user("1 + 1?")],
        "completion": [assistant("1 is 1.\nSo it is 2.")],
        "label": False,
    },
    ("grpo", "math-shepherd"): {
        "prompt": "1 + 1?",
        "given_completions": ["1 is 1.", "So it is 2."],
        "labels": [True, False],
    },
    ("dpo", "sharegpt preference"): {
        "prompt": [user("Hi.")],
        "chosen": [assistant("Hello.")],
        "rejected": [assistant("Go.")],
    },
    ("sft", "sharegpt preference"): {"prompt": [user("Hi.")], "completion": [assistant("Hello.")]},
    ("dpo", "conversation and two answers"): {
        "prompt": [user("Hi.")],
        "chosen": [assistant("Hello.")],
        "rejected": [assistant("Go.")],
    },
    ("kto", "judged conversations"): {"prompt": [user("Hi.")], "completion": [assistant("Hello.")], "label": True},
    ("sft", "content"): {"text": "A text about sums."},
    ("sft", "code"): {"text": "print(1 + 1)"},
}


@pytest.mark.parametrize(("method", "name"), RESULTS)
def test_first_row(method: str, name: str) -> None:
    """The first row of a well-known shape comes out as its words are meant, and nothing else comes out."""
    assert rewritten(method, FOREIGN[name])[0] == RESULTS[method, name]


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("name", FOREIGN)
def test_proposals_make_ready(method: Method, name: str) -> None:
    """Whatever is proposed makes the method ready without a caveat, for every row; what is not proposed has a reason."""
    rows = FOREIGN[name]
    columns = types_of_rows(rows)
    shape = recognise(columns, rows)
    before = judge(method, columns, shape)
    proposal = propose(method, columns, shape, rows)

    if proposal.source is None:
        assert bool(proposal.because) == (not before.ready or bool(before.caveat))
        assert not proposal.removes
        return
    after = rewritten(method.value, rows)
    told = judge(method, types_of_rows(after), recognise(types_of_rows(after), after))
    assert told.ready
    assert not told.caveat
    assert set(proposal.removes) == columns.keys() - after[0].keys()


def test_functions_become_tools() -> None:
    """OpenAI's functions become tools, and its calls of functions calls of tools with arguments that are no text."""
    (row,) = rewritten("sft", FOREIGN["openai functions"])

    call, answer = row["messages"][1:3]
    assert call["tool_calls"][0]["function"] == {"name": "add", "arguments": {"a": 1, "b": 1}}
    assert (answer["role"], answer["content"]) == ("tool", "2")
    assert row["tools"].startswith('[{"type": "function", "function": {"name": "add"')


def test_empty_context() -> None:
    """A row without a context or a system message gets none."""
    assert rewritten("sft", FOREIGN["alpaca"])[1]["prompt"] == [user("Name a colour.")]
    assert rewritten("sft", FOREIGN["openorca"])[1]["prompt"] == [user("How?")]


@pytest.mark.parametrize(
    ("method", "answers"),
    [
        ("sft", {"completion": "Paris."}),
        ("dpo", {"chosen": "It is Paris.", "rejected": "It is Rome."}),
        ("kto", {"completion": "Paris.", "label": True}),
    ],
)
@pytest.mark.parametrize(("name", "words"), [("system", "Answer in one word."), ("context", "France is a country.")])
def test_mappings_keep_what_belongs_to_the_prompt(method: str, answers: Row, name: str, words: str) -> None:
    """Columns that train as they are, without a system message or a context beside them, get a mapping that includes it."""
    (row,) = rewritten(method, [{name: words, "prompt": "What is the capital of France?", **answers}])

    assert words in str(row["prompt"])


def test_without_a_chat_template() -> None:
    """For a model without a chat template prompts and answers stay texts, parted by an empty line."""
    plain = ColumnSettings(chat_template=False)

    assert rewritten("sft", FOREIGN["alpaca"], plain)[0] == {
        "prompt": "Add the numbers.\n\n1 and 2\n\n",
        "completion": "3",
    }
    assert rewritten("sft", FOREIGN["openorca"], plain)[0]["prompt"] == "Be short.\n\nWhy?\n\n"
    assert proposed("sft", FOREIGN["conversations by role"], plain).source is None


def test_text_field() -> None:
    """The text comes out under the name that the job gives it."""
    assert rewritten("sft", FOREIGN["content"], ColumnSettings(text_field="body")) == [{"body": "A text about sums."}]


def test_rewards_that_read_messages() -> None:
    """TRL's own rewards read messages: a prompt that is text becomes one for them."""
    rows = [{"prompt": "1 + 1?", "solution": "2"}]

    assert proposed("grpo", rows) == Proposal()
    assert rewritten("grpo", rows, ColumnSettings(rewards=("accuracy_reward",))) == [
        {"prompt": [user("1 + 1?")], "solution": "2"}
    ]


UNCERTAIN: dict[str, tuple[str, list[Row], str]] = {
    "two prompts": ("sft", [{"question": "a", "instruction": "b", "output": "c"}], "`instruction` and `question`"),
    "two answers": ("sft", [{"question": "a", "answer": "b", "response": "c"}], "`response` and `answer`"),
    "two texts": ("sft", [{"content": "a", "body": "b"}], "`content` and `body`"),
    "two conversations": ("sft", [{"chat_a": chat("a", "b"), "chat_b": chat("c", "d")}], "`chat_a` and `chat_b`"),
    "a threshold": ("kto", [{"prompt": "a", "response": "b", "score": 0.7}], "yours to say"),
    "two labels": ("kto", [{"prompt": "a", "response": "b", "liked": True, "correct": False}], "`liked` and `correct`"),
    "a tie": ("dpo", [FOREIGN["helpsteer3"][0] | {"overall_preference": 0}], "as good as each other"),
    "equal scores": (
        "dpo",
        [{"instruction": "a", "completions": [{"response": "b", "score": 1}, {"response": "c", "score": 1}]}],
        "the same score",
    ),
    "two scores": (
        "dpo",
        [{"instruction": "a", "completions": [{"response": "b", "score": 1, "rating": 2}]}],
        "not certain",
    ),
    "equal scores in a list": (
        "dpo",
        [{"prompt": "a", "responses": ["b", "c"], "scores": [0.5, 0.5]}],
        "the same score",
    ),
    "rows in a list": ("sft", [{"version": 1, "data": [{"text": "a"}, {"text": "b"}]}], 'field="data"'),
    "conversations in a list of that name": (
        "sft",
        [{"messages": [{"messages": chat("a", "b")}], "version": 1}],
        'field="messages"',
    ),
    "pairs in a list": ("dpo", [{"rows": [{"prompt": "a", "chosen": "b", "rejected": "c"}]}], 'field="rows"'),
    "rows of another kind in a list": ("dpo", [{"data": [{"text": "a"}]}], "no two answers"),
    "a tree": ("sft", FOREIGN["oasst"], "one message of a tree"),
    "steps for sft": ("sft", FOREIGN["math-shepherd"], "bad ones"),
    "bad conversations for sft": ("sft", FOREIGN["judged conversations"], "bad ones"),
    "conversations without an answer": ("sft", [{"conversations": shared(("human", "a"))}], "ends with an answer"),
    "an answer by nobody known": (
        "dpo",
        [{"messages": chat("a"), "chosen": {"from": "x", "value": "b"}, "rejected": {"from": "x", "value": "c"}}],
        "no two answers",
    ),
    "bad answers for sft": ("sft", FOREIGN["thumbs"], "bad ones"),
    "an odd speaker": ("sft", [{"conversations": shared(("human", "a"), ("narrator", "b"))}], "`narrator`"),
    "no second answer": ("dpo", FOREIGN["alpaca"], "no two answers"),
    "no judgement": ("kto", FOREIGN["alpaca"], "nothing says"),
    "no prompt": ("grpo", FOREIGN["content"], "no column"),
    "some conversations without an answer": (
        "grpo",
        [{"messages": chat("a", "b", "c")}, {"messages": chat("a", "b")}],
        "does not end with an answer",
    ),
    "a prompt that is elsewhere": (
        "sft",
        [{"prompt": "x?", "messages": chat("a", "b")}],
        "`prompt` is not in the result",
    ),
    "different conversations": (
        "dpo",
        [{"prompt": "a", "chosen": chat("a", "b"), "rejected": chat("c", "d")}],
        "alike",
    ),
    "half a transcript": ("sft", [{"chosen": transcript("a", "b"), "rejected": "c"}], "no column"),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_no_code_where_it_is_not_certain(name: str) -> None:
    """Where columns can be read in two ways, or a row cannot, there is a reason and no code."""
    method, rows, because = UNCERTAIN[name]

    proposal = proposed(method, rows)

    assert proposal.source is None
    assert because in proposal.because


def test_one_row_that_fails() -> None:
    """Code that fails on any of the sample rows is not given."""
    rows = [*FOREIGN["sharegpt"], {"id": "3", "conversations": shared(("human", "a"), ("crowd", "b"))}]

    assert proposed("sft", rows).source is None


def test_nulls_do_not_hide_a_shape() -> None:
    """Rows that lack what a mapping needs are a fault of theirs; it is tried on the others."""
    rows = [*FOREIGN["alpaca"], {"instruction": "a", "input": None, "output": None}]

    assert proposed("sft", rows).source
    assert proposed("sft", [{"instruction": "a", "input": None, "output": None}]).source is None


def test_ready_needs_none() -> None:
    """Data that a method can train on as they are get no code, and no reason why not."""
    assert proposed("sft", [DATA["messages"]]) == Proposal()
    assert proposed("dpo", [{"prompt": USER, "chosen": GOOD, "rejected": GOOD}]) == Proposal()


def test_no_rows() -> None:
    """Without rows nothing can be tried, and nothing is given."""
    columns = types_of_rows(FOREIGN["alpaca"])

    assert propose("sft", columns, recognise(columns), []).because == "no rows to try a mapping on"


@pytest.mark.parametrize(
    "name", ['it"s', "a'b", "back\\slash", "{brace}", "new\nline", '"""', "${x}", "`tick`; import os"]
)
def test_hostile_names(name: str) -> None:
    """Whatever other columns are called, code that names them runs and keeps what they hold."""
    rows = [{"question": "a", "answer": "b", name: "c"}]

    assert rewritten("grpo", rows) == [{"prompt": [user("a")], "solution": "b", name: "c"}]


@pytest.mark.parametrize("text", ["#### \"quoted\" 'both' {braces} \\n", "\n\nHuman: not a speaker", "😀 \x00 �"])
def test_hostile_texts(text: str) -> None:
    """Whatever a row says comes out as it was."""
    (row,) = rewritten("sft", [{"instruction": text, "output": text}])

    assert row == {"prompt": [user(text)], "completion": [assistant(text)]}


def test_rows_are_left_alone() -> None:
    """Code does not change the row that it is given."""
    rows = [{"system_prompt": "s", "messages": chat("a", "b"), "prompt": "a"}]
    before = [dict(row) for row in rows]

    rewritten("sft", rows)

    assert rows == before


def sums(*answers: float | None) -> list[Row]:
    return [{"question": f"How much is row {at}?", "answer": each} for at, each in enumerate(answers)]


def test_whole_numbers_that_a_table_keeps_as_floats_stay_whole() -> None:
    """A column of a CSV file with one empty cell is a column of floats: `2.0` is not what anybody means to teach."""
    made = rewritten("sft", sums(2.0, 1_000_000.0, 0.5))
    assert [row["completion"] for row in made] == [[assistant(text)] for text in ("2", "1000000", "0.5")]


@pytest.mark.parametrize("answers", [(2.0, None, 3.0), ("two", "three", None), (None, "one", None, "four")])
def test_a_missing_answer_is_not_taught(answers: tuple[float | str | None, ...]) -> None:
    """A row without its answer would become a message without text: the code says which rows to leave out."""
    rows = [{"question": f"How much is row {at}?", "answer": each} for at, each in enumerate(answers)]
    proposal = proposed("sft", rows)
    missing = tuple(at for at, each in enumerate(answers) if each is None)
    assert proposal.drops == {"answer": RowCount(len(missing), missing)}

    made = list(map_rows(rows, proposal.source or ""))
    assert len(made) == len(rows) - len(missing)
    assert all(row["completion"][0]["content"] for row in made)


def test_rows_beyond_the_samples_are_left_out_too() -> None:
    rows = [{"question": "Why?", "answer": "So."}]
    columns, nulls = types_of_rows(rows), {"answer": RowCount(1, (4711,)), "unread": RowCount(2, (1, 2))}

    proposal = propose("sft", columns, recognise(columns, rows), rows, lacking=LackingRows(nulls))

    assert proposal.drops == {"answer": RowCount(1, (4711,))}
    assert 'return row["answer"] is not None' in (proposal.source or "")


@pytest.mark.parametrize("method", ["sft", "grpo"])
@pytest.mark.parametrize("answers", [("two", "", "three"), ("two", " \n", None, "three"), ("", "one", "  ", "two")])
def test_a_blank_answer_is_not_taught(method: str, answers: tuple[str | None, ...]) -> None:
    """Nor an answer that is white space alone: the code leaves out such rows, and they are named."""
    rows = [{"question": f"How much is row {at}?", "answer": each} for at, each in enumerate(answers)]
    proposal = proposed(method, rows)
    missing = tuple(at for at, each in enumerate(answers) if not (each or "").strip())
    assert proposal.drops == {"answer": RowCount(len(missing), missing)}
    assert len(list(map_rows(rows, proposal.source or ""))) == len(rows) - len(missing)


def test_a_blank_request_beside_its_context_is_kept() -> None:
    """Only what is to be learned must not be blank."""
    rows = [{"instruction": each, "input": "1 + 1", "output": "2"} for each in ("Add.", "", "Sum up.")]
    assert not proposed("sft", rows).drops


def test_no_row_is_left_out_for_a_column_that_it_can_do_without() -> None:
    rows = [{"instruction": "Add 1 and 2.", "input": None, "output": "3"}] * 2
    proposal = proposed("sft", rows)
    assert proposal.source
    assert "keep" not in proposal.source
    assert not proposal.drops


def test_solutions_that_are_numbers() -> None:
    """TRL's reward for answers makes nothing of a number: it becomes a text."""
    rows = [{"prompt": [user("1 + 1?")], "solution": 2}]
    settings = ColumnSettings(rewards=("accuracy_reward",))
    columns = types_of_rows(rows)

    assert "a number" in judge("grpo", columns, recognise(columns, rows), settings).caveat
    assert rewritten("grpo", rows, settings) == [{"prompt": [user("1 + 1?")], "solution": "2"}]


@pytest.mark.parametrize("method", ["grpo", "rloo"])
@pytest.mark.parametrize("turns", [[user("Why?")], [SYSTEM, user("1 + 1?")], [user("a"), assistant("b"), user("c")]])
def test_conversations_that_end_with_a_question_are_prompts(method: str, turns: list[dict[str, str]]) -> None:
    rows = [{"messages": turns, "solution": "2"}]
    assert rewritten(method, rows) == [{"prompt": turns, "solution": "2"}]


def test_columns_in_the_way() -> None:
    """Columns that the trainer would take for its own get another name, and those for rewards keep theirs."""
    rows = [{"prompt": "1 + 1?", "prompts": ["more"], "solution": "2", "level": 1}]

    assert rewritten("grpo", rows) == [{"prompt": "1 + 1?", "given_prompts": ["more"], "solution": "2", "level": 1}]


WRAPPED: dict[str, Any] = {
    "version": 1,
    "data": [{"question": f"What is {number}?", "answer": str(number)} for number in range(5)],
}


def test_rows_in_a_list_of_one_object_are_read_by_its_name() -> None:
    """The mapping is for the list's elements, and says which `field` holds them."""
    found = proposed("sft", [WRAPPED])

    assert (found.field, found.removes) == ("data", ("question", "answer"))
    assert found.source == proposed("sft", WRAPPED["data"]).source


def test_rows_in_a_list_that_need_no_mapping_need_their_field() -> None:
    """The same rows under TRL's names."""
    rows = [{"prompt": f"What is {number}?", "completion": str(number)} for number in range(5)]

    found = proposed("sft", [{"data": rows}])

    assert (found.field, found.source) == ("data", None)
    assert 'field="data"' in found.because


@pytest.mark.parametrize(("role", "content"), [("speaker", "text"), ("from", "value"), ("role", "content")])
def test_a_conversation_inside_an_object_is_read_there(role: str, content: str) -> None:
    said = [[{role: "user", content: f"{n} + 1?"}, {role: "assistant", content: f"{n + 1}"}] for n in range(3)]
    rows: list[dict[str, Any]] = [{"id": n, "conversation": {"turns": turns}} for n, turns in enumerate(said)]
    assert rewritten("sft", rows)[1] == {"messages": [user("1 + 1?"), assistant("2")]}

    other = [{**row, "conversation": {**row["conversation"], "summary": f"said {n}"}} for n, row in enumerate(rows)]
    assert proposed("sft", other).source is None  # nobody knows whether that is to be learned


def test_a_list_that_may_hold_the_rows_is_named_where_no_mapping_is_known() -> None:
    rows = [{"version": "1", "data": [{"foo": n, "bar": [n]} for n in range(3)]}]
    for method in Method:
        found = proposed(method.value, rows)
        assert (found.field, found.source) == ("data", None)
        assert found.because.startswith("the rows may be the elements of `data`")


TWO = ("response_a", "response_b")
COMPARED: dict[str, tuple[tuple[str, str], str, tuple[Any, Any]]] = {
    "letters": (TWO, "winner", ("a", "b")),
    "capitals": (("output_A", "output_B"), "preference", ("A", "B")),
    "numbers": (("answer_1", "answer_2"), "winner", (1, 2)),
    "from zero": (("completion_0", "completion_1"), "chosen", (0, 1)),
    "models": (TWO, "winner", ("model_a", "model_b")),
    "columns": (TWO, "preferred", TWO),
    "words": (("summary1", "summary2"), "better", ("Summary 1", "summary 2")),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_column_that_names_the_better_of_two_answers_makes_pairs(name: str) -> None:
    (first, second), by, sides = COMPARED[name]
    rows = [{"prompt": f"{n} + 1?", first: f"one {n}", second: f"two {n}", by: sides[n % 2]} for n in range(4)]

    said = [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rewritten("dpo", rows)]
    assert said == [("one 0", "two 0"), ("two 1", "one 1"), ("one 2", "two 2"), ("two 3", "one 3")]


@pytest.mark.parametrize(
    ("method", "row", "why"),
    [
        ("dpo", {"response_a": "x", "response_b": "y"}, "no column says which is the better one"),
        ("dpo", {"response_a": "x", "response_b": "y", "winner": 1}, "`winner` does not surely name one of them: its values are '1'"),
        ("dpo", {"response_a": "x", "response_b": "y", "winner": "gpt-4"}, "its values are 'gpt-4'"),
        ("dpo", {"response_a": "x", "response_b": "y", "response_c": "z", "winner": "a"}, "there are no two answers to compare"),
        ("dpo", {"option_a": "x", "option_b": "y", "answer": "a"}, "there are no two answers to compare"),
        ("dpo", {"response_a": "x", "response_b": "y", "winner": "tie"}, "does not surely name one"),
        ("kto", {"response": "x", "feedback": "👍 great"}, "`feedback` may say which answers are good, but not surely: its values are '👍 great'"),
    ],
)  # fmt: skip
def test_why_there_is_no_mapping_names_what_was_seen_and_what_is_missing(
    method: str, row: dict[str, Any], why: str
) -> None:
    assert why in proposed(method, [{"prompt": f"{n} + 1?", **row} for n in range(3)]).because


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("thumb", "up", "down"),
        ("label", "Good", "Bad"),
        ("vote", "YES", "no "),
        ("feedback", 1, -1),
        ("label", "1", "0"),
    ],
)
def test_two_words_or_signs_for_good_and_bad_are_labels(column: str, good: Any, bad: Any) -> None:
    rows = [{"prompt": f"{n} + 1?", "response": f"{n}", column: (good, bad)[n % 2]} for n in range(4)]
    assert [row["label"] for row in rewritten("kto", rows)] == [True, False, True, False]


@pytest.mark.parametrize("rows", [[WRAPPED, WRAPPED], [{"turns": WRAPPED["data"]}]])
def test_a_list_that_is_a_conversation_is_no_list_of_rows(rows: list[dict[str, Any]]) -> None:
    """More rows than one, or the name of a conversation, say so."""
    assert proposed("sft", rows).field == ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Frage", "Antwort"), ("pregunta", "respuesta"), ("question", "réponse"), ("问题", "答案"), ("質問", "回答")],
)
def test_questions_and_answers_of_other_languages(question: str, answer: str) -> None:
    """A table is no less one of questions and answers where its head is not English."""
    rows = [{question: f"What is {number}?", answer: f"It is {number}."} for number in range(3)]

    assert rewritten("sft", rows)[1] == {"prompt": [user("What is 1?")], "completion": [assistant("It is 1.")]}


@pytest.mark.parametrize("columns", [("问题", "答案", "回答"), ("Frage", "Quelle")])
def test_what_is_not_surely_the_answer_is_not_taken_for_it(columns: tuple[str, ...]) -> None:
    """Two columns that may each be the answer, and none."""
    rows = [{name: f"{name} {number}" for name in columns} for number in range(3)]

    assert proposed("sft", rows).source is None


def test_mapped_rows_whose_contents_differ_in_type_keep_their_values() -> None:
    """Contents that are text in one row and a list of parts in another, as `datasets` 5 gives them."""
    parts = [{"type": "text", "text": "What is 1?"}]
    rows: list[dict[str, Any]] = [{"prompt": [user("What is 0?")]}, {"prompt": [{"role": "user", "content": parts}]}]
    texts = [[json.dumps(turn) for turn in row["prompt"]] for row in rows]
    given = FakeRows(pl.DataFrame({"prompt": texts}), {"prompt": ListOf(Scalar("json"))})

    (batch,) = map_batches(given, 'def rewrite(row):\n    return {"prompt": row["prompt"]}\n')

    assert batch.frame.get_column("prompt").to_list() == [row["prompt"] for row in rows]


ASKED = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]
USUAL: dict[str, tuple[Row, str]] = {
    "ShareGPT": ({"conversations": ASKED}, "conversations"),
    "a dialogue": ({"dialog": ASKED, "id": 3}, "dialog"),
    "alpaca": ({"instruction": "Add.", "input": "1 and 2", "output": "three"}, "output"),
    "an instruction": ({"instruction": "Add.", "input": "", "output": "three"}, "instruction"),
    "a record": ({"question": {"text": "Why?"}, "query": "Why?", "answer": "So."}, "query"),
}
UNUSUAL: dict[str, Any] = {
    "another type": 17,
    "a flag": True,
    "a list of texts": ["a", "b"],
    "an empty list": [],
    "a record": {"answer": "So."},
    "an unknown speaker": [{"from": "narrator", "value": "Once."}, *ASKED],
    "a number for a message": [{"from": "human", "value": 4}, ASKED[1]],
    "a message without content": [{"from": "human", "value": None}, ASKED[1]],
}


@pytest.mark.parametrize("kind", UNUSUAL)
@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("places", [(3,), (0, 9)])
def test_a_few_unusual_rows_are_set_aside_and_named(name: str, kind: str, places: tuple[int, ...]) -> None:
    """They do not take the mapping away from all others: `keep` leaves them out."""
    (usual, column), value = USUAL[name], UNUSUAL[kind]
    rows = [usual | {column: value} if at in places else usual for at in range(20)]

    found = proposed("sft", rows)

    assert found.source, found.because
    if found.drops:  # otherwise the mapping reads these rows as well
        assert found.drops == {column: RowCount(len(places), places)}
    assert list(map_rows(rows, found.source)) == list(
        map_rows([row for row in rows if not found.drops or row is usual], found.source)
    )


def test_rows_that_differ_without_a_majority_have_no_mapping() -> None:
    rows: list[Row] = [{"question": "Why?", "answer": "So."}, {"question": "Why?", "answer": {"text": "So."}}] * 5
    assert proposed("sft", rows).source is None


def test_the_context_of_an_instruction_that_is_no_text_is_no_prompt() -> None:
    rows: list[Row] = [{"instruction": ["Add.", "Now."], "input": "", "output": "three"}] * 5
    assert proposed("sft", rows).source is None


@pytest.mark.parametrize("places", [(3,), (0, 9)])
def test_a_message_without_content_is_left_out_unless_it_calls_a_tool(places: tuple[int, ...]) -> None:
    """Templates raise on the one, or teach the model to say nothing; the other says what it says by its call."""
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}
    called, silent = [user("Add."), call], [user("Why?"), {"role": "assistant", "content": None}]
    rows = [{"dialog": silent if at in places else called if at % 2 else chat("a", "b")} for at in range(20)]

    found = proposed("sft", rows)

    assert found.drops == {"dialog": RowCount(len(places), places)}
    assert list(map_rows(rows, found.source or "")) == [
        {"messages": r["dialog"]} for r in rows if r["dialog"] is not silent
    ]


def test_damaged_messages_beyond_the_samples_are_left_out_too() -> None:
    rows = [{"dialog": chat("a", "b")}] * 5
    columns, damaged = types_of_rows(rows), LackingRows(strange={"dialog": RowCount(1, (4711,))})

    found = propose("sft", columns, recognise(columns, rows), rows, lacking=damaged)

    assert found.drops == {"dialog": RowCount(1, (4711,))}
    assert not list(map_rows([{"dialog": [{"role": "user", "content": None}]}], found.source or ""))


@pytest.mark.parametrize("method", ["grpo", "rloo", "kto"])
@pytest.mark.parametrize(("system", "empty"), [(False, False), (True, False), (False, True)])
def test_a_few_conversations_without_an_answer_are_left_out(method: str, system: bool, empty: bool) -> None:
    """One such row does not take the mapping from all others."""
    rows: list[Row] = [{"conversation": ASKED, "label": at % 2 == 0} for at in range(20)]
    rows[7]["conversation"] = ASKED[:1]
    if empty:
        rows[2]["conversation"] = []
    if system:
        rows = [row | {"system": "Be kind."} for row in rows]

    found = proposed(method, rows)

    gone = (2, 7) if empty else (7,)
    assert found.drops == {"conversation": RowCount(len(gone), gone)}
    assert len(list(map_rows(rows, found.source or ""))) == len(rows) - len(gone)


def test_why_a_mapping_fails_is_told_by_row_and_without_its_code() -> None:
    rows: list[Row] = [{"conversation": ASKED[: 1 + at % 2]} for at in range(8)]
    assert proposed("kto", [row | {"label": True} for row in rows]).because == (
        "row 0 cannot be read: the conversation does not end with an answer"
    )


@pytest.mark.parametrize(("question", "answer"), [("Question ", "ANSWER"), (" question", "answer\t")])
def test_spaces_around_the_name_of_a_column_change_nothing(question: str, answer: str) -> None:
    made = rewritten("sft", [{question: "Why?", answer: "So."}])
    assert made == [{"prompt": [user("Why?")], "completion": [assistant("So.")]}]


@pytest.mark.parametrize("names", PREFERENCES)
def test_well_known_names_of_two_answers(names: tuple[str, str]) -> None:
    """The first of the two is the better one."""
    rows = [{"question": f"Why {at}?", names[0]: f"Since {at}.", names[1]: "No idea."} for at in range(4)]

    source = proposed("dpo", rows).source

    assert source
    first, *_ = map_rows(rows, source)
    assert first
    assert "Since 0." in str(first["chosen"])
    assert "No idea." in str(first["rejected"])


@pytest.mark.parametrize("odd", ["seven", ""])
@pytest.mark.parametrize("places", [(3,), (0, 9), tuple(range(0, 20, 2))])
def test_texts_among_numbers_are_answers_too(places: tuple[int, ...], odd: str) -> None:
    """Only what is blank is left out."""
    rows = [{"question": "How many?", "answer": odd if at in places else at} for at in range(20)]

    found = proposed("sft", rows)

    assert found.source, found.because
    written = [str(row["completion"][0]["content"]) if row else "" for row in map_rows(rows, found.source)]
    kept = [str(row["answer"]) for row in rows if row["answer"] != ""]
    assert [text for text in written if text] == kept


@pytest.mark.parametrize("role", ["user", "prompter", "tool", "observation", "assistant", "model"])
def test_a_role_that_no_sample_has_is_renamed(role: str) -> None:
    """A mapping is read from some rows, and applied to all."""
    source = proposed("sft", [{"conversations": ASKED}] * 5).source
    later = {"conversations": [*ASKED, {"from": role, "value": "More."}]}

    assert source
    (mapped,) = map_rows([later], source)
    assert mapped
    assert mapped["messages"][2] == {"role": SPOKEN[role], "content": "More."}


@pytest.mark.parametrize("speaker", ["Human", "HUMAN", "User", "Prompter"])
def test_speakers_are_known_whatever_their_capitals(speaker: str) -> None:
    """A row is not left out for a capital letter, nor does the code stop at one."""
    rows = [{"conversations": shared(("human" if at else speaker, f"{at}?"), ("gpt", "Yes."))} for at in range(6)]

    assert "keep" not in (proposed("sft", rows).source or "")
    assert {row["messages"][0]["role"] for row in rewritten("sft", rows)} == {"user"}


def test_a_speaker_beyond_the_samples_is_named_with_the_turns() -> None:
    """Rows that nobody looked at may have one: the code says which it is, and what to do."""
    rows = [{"conversations": shared(("human", f"{at}?"), ("gpt", "Yes."))} for at in range(6)]
    module: dict[str, Any] = {}
    exec(proposed("sft", rows).source or "", module)

    with pytest.raises(
        ValueError, match=r"no role is known for 'narrator': add it to ROLES; the turns are .*Once upon"
    ):
        module["rewrite"]({"conversations": shared(("narrator", "Once upon a time."))})


def test_a_system_message_beside_a_prompt_of_messages_becomes_its_first() -> None:
    """In kto, which keeps the label; sft would learn the bad answers as well."""
    row = {"prompt": [user("Why not?")], "completion": [assistant("So.")], "label": False, "system": "You are kind."}
    rows: list[Row] = [row, row | {"label": True, "system": None}]

    first, second = rewritten("kto", rows)

    assert first["prompt"] == [{"role": "system", "content": "You are kind."}, user("Why not?")]
    assert (first["label"], second["prompt"], second["label"]) == (False, [user("Why not?")], True)
    assert "bad ones" in proposed("sft", rows).because


def test_no_mapping_leaves_out_the_text_that_is_trained_on() -> None:
    """A question and an answer beside it are other data, though the model is not shown them."""
    rows: list[Row] = [
        {"text": f"Passage {at} of the book.", "question": "What is it?", "answer": "So."} for at in "abc"
    ]

    assert proposed("sft", rows).source is None
    assert proposed("sft", [{name: row[name] for name in ("question", "answer")} for row in rows]).source
