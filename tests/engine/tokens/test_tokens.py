"""Counting the tokens of rows: what is cut, left out, masked, doubled, too high, and how many steps that makes."""

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from holdfast.cli.text.inspect_pictures import draw_histogram, draw_mask
from holdfast.core.check.facts import Positions
from holdfast.core.check.finding import Finding, MissingFactError
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.plan.epoch_steps import Schedule, count_steps
from holdfast.core.rows.columns import STRING, ListOf, Scalar, Struct, Type
from holdfast.core.rows.scan import Lengths, MaskedRow, RowCount, TokenPiece, Tokens, UnreadablePart
from holdfast.engine.check.rule_runner import run_rules
from holdfast.engine.inspect.inspection import report_tokens
from holdfast.engine.tokens import Recipe, read_recipe, show_row, tokenize_rows
from holdfast.engine.tokens.counting import sample_rows
from holdfast.engine.tokens.packing import pack_lengths
from holdfast.engine.tokens.picture import render_page
from holdfast.engine.tokens.templating import texts_of
from holdfast.ports import Batch
from holdfast.rules import all_rules

BOS, EOS, TURN = 1, 2, 3


class Words:
    """A tokenizer that makes a token of each word: its length, from 10 on; the last letter of a marked word is a capital."""

    eos: str | None = "</s>"
    bos_id: int | None = BOS
    stops: Mapping[int, str] = {EOS: "</s>"}
    special: Mapping[int, str] = {BOS: "<s>", EOS: "</s>", TURN: "<turn>"}
    embedding: int | None = 100
    positions: Positions | None = None

    def __init__(self, *, marks: bool = True) -> None:
        self.marks = marks

    def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
        texts = []
        for turns in conversations:
            if any(turn["role"] == "system" for turn in turns):
                raise ValueError("no system message, please")
            said = " ".join(f"{turn['role']} {turn['content']} <turn>" for turn in turns)
            texts.append(said + (" assistant" if options.get("add_generation_prompt") else ""))
        return texts

    def encode(self, texts: Sequence[str], *, special: bool) -> list[list[int]]:
        return [([BOS] if special else []) + [self._id(word) for word in text.split()] for text in texts]

    def mark(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[tuple[list[int], list[int]]]:
        made = []
        for turns in conversations:
            ids: list[int] = []
            mask: list[int] = []
            for turn in turns:
                (some,) = self.encode(self.render([[turn]], options), special=False)
                ids += some
                mask += [0] + [int(turn["role"] == "assistant")] * (len(some) - 1)
            made.append((ids, mask))
        return made

    def pieces(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        return [(f"{token} ", 1) for token in ids]

    def _id(self, word: str) -> int:
        ids = {"<s>": BOS, "</s>": EOS, "<turn>": TURN}
        endings = word.count("</s>")
        return EOS if endings and word == "</s>" else ids.get(word, 10 + len(word))


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def told(rows: list[dict[str, Any]], recipe: Recipe, tokenizer: Words | None = None, **more: Any) -> Tokens:
    return tokenize_rows(
        [Batch(0, pl.DataFrame(rows))], tokenizer or Words(), recipe, **{"limit": None, "of": None, **more}
    )


def sft(**settings: Any) -> Recipe:
    return Recipe(method=Method.SFT, **settings)


def texts(*lengths: int) -> list[dict[str, Any]]:
    """Rows of so many tokens, the one that begins a text and the one that ends it among them."""
    return [{"text": "word " * (length - 2) + "</s>"} for length in lengths]


def test_lengths_and_what_is_cut() -> None:
    """Quantiles are of whole rows; longer ones than `max_length` are counted as cut."""
    tokens = told(texts(*range(3, 103)), sft(max_length=80))

    assert (tokens.rows, tokens.of) == (100, 100)
    assert (tokens.lengths.p50, tokens.lengths.p95, tokens.lengths.p99, tokens.lengths.max) == (52, 97, 101, 102)
    assert tokens.lengths.histogram == ((16, 14), (32, 16), (64, 32), (128, 38))
    assert tokens.truncated == 22
    assert tokens.without_end == RowCount(0)
    assert tokens.turn_end == "</s>"


def test_rows_without_labels_are_left_out_or_masked() -> None:
    """A prompt that fills `max_length` costs the row; packed, the row stays and has nothing to learn from."""
    rows = [{"prompt": "word " * length, "completion": "yes"} for length in (3, 30, 4)]
    cut, packed = told(rows, sft(max_length=16)), told(rows, sft(max_length=16, packing="bfd"))

    assert cut.dropped == cut.masked == RowCount(1, (1,))
    assert cut.units == 2
    assert (packed.dropped.count, packed.masked) == (0, RowCount(1, (1,)))


def test_pairs_with_long_answers_are_left_out_of_reward_models() -> None:
    """One answer that is too long takes the pair away; nothing is cut."""
    rows = [{"chosen": "yes", "rejected": "no " * length} for length in (1, 40)]
    tokens = told(rows, Recipe(method=Method.REWARD, max_length=16))

    assert tokens.dropped == RowCount(1, (1,))
    assert tokens.truncated == 0
    assert tokens.units == 1


def test_an_end_that_is_never_a_label_is_counted() -> None:
    """Conversations get no EOS; what they end with is named, and rows that are cut are not held against them."""
    rows = [{"messages": [user("a"), assistant("b " * length)]} for length in (1, 2, 30)]
    tokens = told(rows, sft(max_length=16))

    assert tokens.without_end == RowCount(2, (0, 1))
    assert tokens.turn_end == "<turn>"
    assert tokens.stops == ("</s>",)


def test_texts_that_begin_twice_are_counted() -> None:
    """A text that has the first token written out gets another."""
    assert told([{"text": "<s> a"}, {"text": "a"}], sft()).doubled_start == RowCount(1, (0,))


def test_ids_beyond_the_embedding_are_counted() -> None:
    """An id that the model has no embedding for is told, with the highest."""
    tokens = told([{"text": "a"}, {"text": "a" * 95}], sft())

    assert tokens.beyond == RowCount(1, (1,))
    assert (tokens.highest, tokens.embedding) == (109, 100)


def test_rows_without_an_assistant_turn_are_counted() -> None:
    """With `assistant_only`, a row in which the assistant says nothing is told; a template without marks is, too."""
    rows = [{"messages": [user("a"), assistant("b")]}, {"messages": [user("a")]}]

    assert told(rows, sft(assistant_only=True)).unmarked == RowCount(1, (1,))
    assert told(rows, sft(assistant_only=True)).marks_assistant is True
    assert told(rows, sft(assistant_only=True), Words(marks=False)).marks_assistant is False
    assert told(rows, sft()).marks_assistant is None


def test_rows_beyond_the_positions_are_counted_as_far_as_they_are_kept() -> None:
    class Short(Words):
        positions = Positions(20, raises=True)

    assert told(texts(5, 30, 40), sft(), Short()).beyond_positions == RowCount(2, (1, 2))
    assert told(texts(5, 30, 40), sft(max_length=20), Short()).beyond_positions.count == 0
    assert told(texts(5, 30, 40), sft()).beyond_positions.count == 0


class Picky(Words):
    """A tokenizer whose template leaves out messages of other roles, and trims the others."""

    def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
        known = [
            [
                turn | {"content": str(turn["content"]).strip()}
                for turn in turns
                if turn["role"] in ("user", "assistant")
            ]
            for turns in conversations
        ]
        return super().render(known, options)


def test_messages_that_the_template_leaves_out_are_counted() -> None:
    rows = [{"messages": [user(" one "), {"role": role, "content": "two"}]} for role in ("assistant", "gpt", "gpt")]
    found = told(rows, sft(), Picky())
    assert (found.omitted, found.omitted_last) == (RowCount(2, (1, 2)), RowCount(2, (1, 2)))
    assert found.omitted_roles == ("gpt",)
    assert not told(rows, sft()).omitted.count  # of a template that writes any role


def test_a_text_that_the_template_rewrites_is_not_left_out() -> None:
    """Thoughts of earlier turns are taken away by many templates, texts are trimmed by more."""

    class Forgetful(Words):
        def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
            kept = [
                [turn | {"content": turn["content"].split("</think>")[-1]} for turn in turns] for turns in conversations
            ]
            return super().render(kept, options)

    rows = [{"messages": [user("one"), assistant("<think> hm </think> two"), user("three"), assistant("four")]}]
    assert not told(rows, sft(), Forgetful()).omitted.count


@pytest.mark.parametrize(("content", "count"), [([{"type": "text", "text": "two"}], 1), ("two [{'a': 1}]", 0)])
def test_lists_that_the_template_writes_as_python_spells_them_are_counted(content: Any, count: int) -> None:
    rows = [{"messages": [{"role": role, "content": content} for role in ("user", "assistant")]}]
    assert told(rows, sft()).spelled.count == count


def test_parts_that_the_template_writes_as_text_are_not_counted() -> None:
    class Parts(Words):
        def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
            joined = [[turn | {"content": texts_of(turn)[0]} for turn in turns] for turns in conversations]
            return super().render(joined, options)

    rows = [
        {"messages": [{"role": role, "content": [{"type": "text", "text": "one"}]} for role in ("user", "assistant")]}
    ]
    found = told(rows, sft(), Parts())
    assert (found.spelled.count, found.omitted.count) == (0, 0)


@pytest.mark.parametrize(
    ("content", "omitted"),
    [
        (42, True),
        (1.5, True),
        (["two"], True),
        ({"text": "two"}, True),
        ([{"type": "text", "text": "two"}], True),
        ("two", False),
    ],
)
def test_what_a_template_for_texts_writes_nothing_for_is_left_out(content: Any, omitted: bool) -> None:
    """As Qwen3's template does: `if message.content is string`, and else an empty message."""

    class TextsAlone(Words):
        def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
            kept = [
                [turn | {"content": turn["content"] if isinstance(turn["content"], str) else ""} for turn in turns]
                for turns in conversations
            ]
            return super().render(kept, options)

    rows = [{"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": content}]}]
    frame = pl.DataFrame({"messages": pl.Series([row["messages"] for row in rows], dtype=pl.Object)})
    found = tokenize_rows([Batch(0, frame)], TextsAlone(), sft(), of=None, limit=None)
    assert (found.omitted.count, found.omitted_last.count) == (int(omitted), int(omitted))


def test_a_number_among_texts_is_given_to_the_template_as_the_trainer_gives_it() -> None:
    """Half of the templates add texts to it, and raise."""

    class Adding(Words):
        def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
            return super().render(
                [[turn | {"content": turn["content"] + ""} for turn in turns] for turns in conversations], options
            )

    said = ListOf(Struct({"role": STRING, "content": Scalar("json")}))
    opened = Opened([1])
    opened.columns = {"messages": said}
    frame = pl.DataFrame({"messages": [[user("one"), assistant("42")], [user("one"), assistant("[sic]")]]})
    opened.batches = lambda: iter([Batch(0, frame)])  # type: ignore[method-assign]  # a fake
    tokens = tokenize_rows(opened, Adding(), sft(), of=None, limit=None)

    assert tokens.failed == RowCount(1, (0,))
    assert "row 0: TypeError" in tokens.problem


def test_only_rows_that_raise_are_lost() -> None:
    """A template that refuses one row costs that row; the first reason is told with its number."""
    rows: list[dict[str, Any]] = [
        {"messages": [user("a")]},
        {"messages": [{"role": "system", "content": "b"}]},
        {"messages": []},
    ]
    tokens = told(rows, sft())

    assert tokens.failed == RowCount(2, (1, 2))
    assert tokens.lengths.max == 3
    assert "row 1: ValueError: no system message, please" in tokens.problem or "row 2" in tokens.problem
    assert tokens.steps is None


@pytest.mark.parametrize(
    ("row", "why"),
    [({"text": None}, "AttributeError"), ({"body": "a", "text": 3}, "AttributeError"), ({"messages": "a"}, "KeyError")],
)
def test_a_value_of_the_wrong_kind_is_told_as_the_trainer_would(row: dict[str, Any], why: str) -> None:
    """What TRL raises on a value is what is told of it."""
    assert why in told([row], sft()).problem


def test_no_eos_is_a_problem_of_texts_alone() -> None:
    """The trainer appends EOS to texts, and cannot where there is none."""
    tokenizer = Words()
    tokenizer.eos = None

    assert "TypeError" in told([{"text": "a"}], sft(), tokenizer).problem
    assert not told([{"messages": [user("a")]}], sft(), tokenizer).problem


def test_rows_of_other_columns_and_images_are_not_tokenized() -> None:
    """Where the trainer finds no column, or a processor would be needed, that is said."""
    with pytest.raises(SourceError, match="finds none of its columns"):
        told([{"body": "a"}], sft())
    with pytest.raises(SourceError, match="processor"):
        told([{"text": "a", "image": "x.png"}], sft())
    with pytest.raises(SourceError, match="no rows"):
        tokenize_rows([], Words(), sft(), of=None, limit=None)


class Opened:
    """Rows as a reader hands them over."""

    columns: Mapping[str, Type] = {"text": Scalar("string")}
    broken: Sequence[UnreadablePart] = ()

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes, self.read = sizes, 0

    def batches(self) -> Any:
        start = 0
        for size in self.sizes:
            self.read += 1
            yield Batch(start, pl.DataFrame({"text": [str(start + place) for place in range(size)]}))
            start += size


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(1, 12))
def test_a_sample_is_drawn_over_the_whole_set(sizes: list[int], limit: int) -> None:
    """Every k-th row, each with its own number, and no more than asked for."""
    total = sum(sizes)
    taken = [pair for some in sample_rows(Opened(sizes), sft(), limit=limit, of=total) for pair in some]
    stride = -(-total // limit)

    assert [int(row["text"]) for _, row in taken] == [number for number, _ in taken]
    assert [number for number, _ in taken] == list(range(0, total, stride))


def test_messages_that_a_frame_holds_as_json_are_messages() -> None:
    """Messages of unlike keys come as JSON texts, and are what the trainer gets nevertheless."""
    opened = Opened([1])
    opened.columns = {"messages": ListOf(Scalar("json"))}
    frame = pl.DataFrame({"messages": [['{"role": "user", "content": "a"}', '{"role": "assistant", "content": "b"}']]})
    opened.batches = lambda: iter([Batch(0, frame)])  # type: ignore[method-assign]  # a fake
    tokens = tokenize_rows(opened, Words(), sft(), of=None, limit=None)

    assert tokens.problem == ""
    assert tokens.lengths.max == 6


def test_a_sample_of_an_uncounted_set_is_its_beginning() -> None:
    """Where nobody knows how many rows there are, reading stops as soon as there are enough."""
    opened = Opened([5] * 100)
    tokens = tokenize_rows(opened, Words(), sft(), limit=8, of=None)

    assert (tokens.rows, tokens.of, tokens.steps) == (8, None, None)
    assert opened.read == 2


def test_steps_are_of_all_rows() -> None:
    """Of a sample, the steps are those of the whole set, less what the trainer leaves out."""
    rows = [{"prompt": "word " * (30 if place % 4 == 0 else 2), "completion": "yes"} for place in range(40)]
    schedule = Schedule(epochs=2, batch=4, accumulation=2)
    tokens = told(rows, sft(max_length=16, schedule=schedule), of=400)

    assert tokens.units == 300
    assert tokens.steps == 2 * 38


@pytest.mark.parametrize(
    ("schedule", "units", "steps"),
    [
        (Schedule(epochs=1, batch=4, processes=2), 17, 3),
        (Schedule(epochs=1, batch=4, processes=2, drop_last=True), 17, 2),
        (Schedule(epochs=0.5, batch=1, accumulation=3), 10, 2),
        (Schedule(max_steps=9), 17, 9),
        (Schedule(max_steps=9, streamed=True), None, 9),
        (Schedule(streamed=True), 17, None),
        (Schedule(drop_last=True, max_steps=9), 7, 0),
        (Schedule(generations=8, generation_batch=64, processes=2, accumulation=4, epochs=1), 100, 12),
        (Schedule(generations=8, generation_batch=64, processes=2, accumulation=4), 7, 0),
    ],
)
def test_steps(schedule: Schedule, units: int | None, steps: int | None) -> None:
    """Batches are counted as the trainer counts them."""
    assert count_steps(schedule, units) == steps


@given(st.lists(st.integers(0, 60), max_size=50), st.integers(1, 32), st.sampled_from(["bfd", "bfd_split", "wrapped"]))
def test_packs_hold_what_they_are_given(lengths: list[int], size: int, strategy: Any) -> None:
    """No pack is more than full, and there are no more packs than parts."""
    packs, full = pack_lengths(lengths, size, strategy)
    tokens = sum(min(each, size) if strategy == "bfd" else each for each in lengths)

    assert packs * size >= tokens
    assert full == pytest.approx(tokens / (packs * size) if packs else 0.0)
    assert packs <= sum(-(-each // size) for each in lengths)


def job(method: str, **train: Any) -> Document:
    return Document(path="job.yaml", kind="job", values={"method": method, "train": train})


def test_the_recipe_is_the_jobs() -> None:
    """What the job does not say is the default of the method's config class."""
    recipe = read_recipe(job("sft", max_length=512, packing=True, num_train_epochs=2), processes=4)

    assert (recipe.max_length, recipe.packing, recipe.completion_only) == (512, "bfd", None)
    assert (recipe.schedule.epochs, recipe.schedule.batch, recipe.schedule.processes) == (2.0, 8, 4)
    assert read_recipe(job("reward")).max_length == 1024
    assert read_recipe(job("grpo")).max_length is None
    assert read_recipe(job("grpo", steps_per_generation=3), processes=2).schedule.generation_batch == 48
    assert read_recipe(job("sft", max_length=None)).max_length is None


@pytest.mark.parametrize(
    "train",
    [
        {"max_length": Unknown()},
        {"max_length": "512"},
        {"packing": 1},
        {"packing": True, "packing_strategy": "tetris"},
        {"dataset_kwargs": {"skip_prepare_dataset": True}},
    ],
)
def test_the_recipe_guesses_nothing(train: dict[str, Any]) -> None:
    """Where a setting is hidden, or is nothing of its kind, nothing is said of tokens."""
    with pytest.raises(MissingFactError):
        read_recipe(job("sft", **train))
    with pytest.raises(MissingFactError):
        read_recipe(Document(path="rows", kind="data", values={"dataset": {"path": "rows"}}))


def test_a_row_is_shown_with_what_is_learned_from() -> None:
    """The prompt is context, the answer is learned from, and what is beyond `max_length` is cut."""
    (shown,) = show_row(4, {"prompt": "a", "completion": " b b b"}, Words(), sft(max_length=4))

    assert (shown.row, shown.part) == (4, "completion")
    assert [(piece.learned, piece.kept) for piece in shown.pieces] == [
        (False, True),
        (False, True),
        (True, True),
        (True, True),
        (True, False),
    ]
    pair = show_row(0, {"prompt": "a", "chosen": " b", "rejected": " c"}, Words(), Recipe(method=Method.DPO))
    assert [each.part for each in pair] == ["chosen", "rejected"]
    with pytest.raises(SourceError, match="KeyError"):
        show_row(0, {"prompt": "a"}, Words(), sft())


SHOWN = MaskedRow(
    7,
    "completion",
    (
        TokenPiece("Who?\n", learned=False),
        TokenPiece("<b>I</b>", learned=True),
        TokenPiece("\x1b[31m", learned=True, kept=False),
    ),
)
COUNTED = Tokens(
    rows=30,
    lengths=Lengths(p50=20, p95=60, max=70, mean=22.5, histogram=((16, 10), (32, 19), (64, 0), (128, 1))),
    max_length=32,
    truncated=1,
)


class Page(HTMLParser):
    """The tags of a page, and the text of those that are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.within: list[str] = []
        self.texts: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base class says so
        self.tags.append(tag)
        self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag = self.within[-1] if self.within else ""
        self.texts[tag] = self.texts.get(tag, "") + data


def test_the_page_stands_alone_and_escapes_everything() -> None:
    """The HTML page shows lengths and masks, loads nothing, runs nothing, and takes no markup from the data."""
    text = render_page("a <dataset>", report_tokens(COUNTED), [SHOWN])
    page = Page()
    page.feed(text)

    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "http" not in text
    assert page.texts["mark"] == "<b>I</b>"
    assert page.texts["h1"] == "a <dataset>"
    assert page.tags.count("tr") == 5
    assert text.count('class="over"') == 2
    assert "prefers-color-scheme: dark" in text


def test_the_terminal_shows_the_same() -> None:
    """The histogram has a line for each bar, and the mask can be read without colours; nothing in it is obeyed."""
    console = Console(width=100, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(draw_histogram(report_tokens(COUNTED)))
        console.print(draw_mask(SHOWN))
    lines = captured.get().splitlines()

    assert re.fullmatch(r" *17-32 19 █{40}", lines[1])
    assert re.fullmatch(r" *33-64 +0 *", lines[2])
    assert lines[4] == "1 of 30 rows are cut at max_length 32"
    assert "«<b>I</b>»⟨cut: \\x1b[31m⟩" in lines[-1]


def test_a_length_is_named_once() -> None:
    """Where 95 and 99 in 100 rows are of one length, and where the longest is of it too."""

    def told(longest: int) -> str:
        lengths = Lengths(p50=900, p95=1300, p99=1300, max=longest, mean=950.0)
        tokens = Tokens(rows=100, lengths=lengths, max_length=1024, truncated=6)
        job = Document(path="job.yaml", kind="job", values={"train": {"max_length": 1024}})
        rules = [rule for rule in all_rules() if rule.code == "DAT231"]
        (found,) = run_rules(rules, job, {"tokens": tokens})
        assert isinstance(found, Finding)
        return found.message

    assert told(8000).endswith("; 1300 would keep 99 in 100 whole, the longest has 8000")
    assert told(1300).endswith("; the longest has 1300")
