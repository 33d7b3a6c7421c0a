"""Rules on what the Hub says: asked about job files, scripts and commands that were read, with facts made by hand."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from datasets import Dataset as Table
from datasets.arrow_reader import ReadInstruction

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.edits import place_edits as place_command_edits
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.catalog.data.slices import Slice, overlap, read_slices
from holdfast.catalog.hub.permissions import ABSENT, REFUSED, VALID, refusal
from holdfast.core.check.facts import Dataset, Machine, ModelFacts, Split
from holdfast.core.check.finding import Case, Finding, Rule, Skip
from holdfast.core.check.hub import Account, Link, PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document
from holdfast.core.text.places import apply_text_edits
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.engine.references import references
from holdfast.rules import all_rules

OURS = re.compile(r"HUB1(09|1\d|2[0-3])|DAT1(0[7-9]|1\d)|TRK110|JOB11[78]")
RULES = tuple(rule for rule in all_rules() if OURS.fullmatch(rule.code))
LISTS = ("datasets", "models", "repo_files", "spaces", "targets", "links")
ROLES = {
    "dataset": "datasets",
    "model": "models",
    "adapter": "models",
    "tokenizer": "models",
    "file": "repo_files",
    "space": "spaces",
    "target": "targets",
    "link": "links",
}
ME = Account(token=VALID, name="me", role="write", organizations={"acme": "write", "library": "read"})


@dataclass(frozen=True, kw_only=True)
class World:
    """What there is on the Hub, by name; everything else of its kind is there and as good as it can be.

    Attributes:
        datasets: Those that are told of.
        repos: Repositories of any kind.
        targets: Those that are written to.
        links: Status and kind by address.
        account: Whose token is at hand.
        silent: Names of which nobody can say anything.
    """

    datasets: Mapping[str, Dataset] = field(default_factory=dict[str, Dataset])
    repos: Mapping[str, Repo] = field(default_factory=dict[str, Repo])
    targets: Mapping[str, PushTarget] = field(default_factory=dict[str, PushTarget])
    links: Mapping[str, Link] = field(default_factory=dict[str, Link])
    account: Account = ME
    silent: frozenset[str] = frozenset()

    def facts(self, document: Document) -> dict[str, object]:
        """The facts of a document, as the engine would gather them: those that nobody could tell of come last."""
        found: dict[str, list[Lookup[Any]]] = {name: [] for name in LISTS}
        for reference in references(document):
            quiet = reference.name in self.silent
            found[ROLES[reference.role]].append(Lookup(reference, None if quiet else self._about(reference), "offline"))
        lists = {name: tuple(sorted(each, key=lambda seen: seen.found is None)) for name, each in found.items()}
        others = {"account": self.account, "api": Api(newest()), "machine": Machine(cpus=2, free_disk_bytes=10**11)}
        return {**others, **lists, "processes": 1}

    def _about(self, reference: Reference) -> Any:
        repo = self.repos.get(reference.name, Repo(name=reference.name, kind=reference.repo_kind))
        match reference.role:
            case "dataset":
                known = {"default": {"train": Split(rows=1_000), "test": Split(rows=100)}}
                return replace(self.datasets.get(reference.name, Dataset(configs=known)), repo=repo)
            case "target":
                owner = reference.name.partition("/")[0] if "/" in reference.name else self.account.name
                full = reference.name if "/" in reference.name else f"{owner}/{reference.name}"
                return self.targets.get(reference.name, PushTarget(name=full, namespace=owner, writable="unknown"))
            case "link":
                return self.links.get(reference.name, Link(status=200, media_type="text/plain"))
            case "file" | "space":
                return repo
            case _:
                return ModelFacts(files=frozenset(), repo=repo)


def read(text: str) -> Document:
    """What a reader makes of a text: a job file, a command or a script, by how it begins."""
    if text.startswith("method:"):
        return JobFileReader().read(text, "job.yaml")
    if text.startswith("trl "):
        document = next(command_document(line, text, "run.sh") for line in read_commands(text, "run.sh"))
        assert document
        return document
    return read_script(text, "train.py")[0]


def ask(text: str, world: World) -> list[Finding | Skip]:
    document = read(text)
    return list(run_rules(RULES, document, world.facts(document)))


def findings(text: str, world: World) -> list[tuple[str, str]]:
    """Each finding as its code and the text on its line."""
    lines = text.splitlines()
    found = [each for each in ask(text, world) if isinstance(each, Finding)]
    return [(each.rule.code, lines[(each.place.line or 1) - 1].strip()) for each in found if each.rule and each.place]


def job(dataset: str = "acme/chats", more: str = "") -> str:
    return f"method: sft\nmodel: Qwen/Qwen2.5-0.5B\ndataset: {dataset}\n{more}"


def command(dataset: str = "acme/chats", more: str = "") -> str:
    return f"trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name {dataset} --output_dir out {more}\n"


def script(dataset: str = '"acme/chats", split="train"', more: str = "", config: str = "") -> str:
    return (
        "from datasets import load_dataset\nfrom trl import SFTConfig, SFTTrainer\n\n"
        f"rows = load_dataset({dataset})\n"
        f'args = SFTConfig(output_dir="out"{config})\n'
        f'trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)\n{more}'
    )


def pushing(name: str) -> tuple[str, str, str]:
    return (
        job(more=f"output: {{push_to: {name}}}\n"),
        command(more=f"--push_to_hub --hub_model_id {name}"),
        script(config=f', push_to_hub=True, hub_model_id="{name}"'),
    )


ALL_GOOD = World()


@pytest.mark.parametrize("text", [job(), command(), script(), *pushing("me/capybara"), *pushing("acme/capybara")])
def test_good_jobs_are_left_alone(text: str) -> None:
    """Where everything that a job names is there, nothing is said, and no rule is skipped but those of another kind of data."""
    results = ask(text, ALL_GOOD)

    assert [each for each in results if isinstance(each, Finding)] == []
    # One reads local data, too; the other asks for sizes that this Hub does not tell.
    assert {each.rule.code for each in results if isinstance(each, Skip)} <= {"DAT118", "DAT119"}


def codes(text: str, world: World) -> set[str]:
    return {code for code, _ in findings(text, world)}


@pytest.mark.parametrize(
    ("code", "name", "account"),
    [
        ("HUB110", "me/x", replace(ME, role="read")),
        ("HUB111", "stranger/x", ME),
        ("HUB112", "me/x", replace(ME, role="fineGrained", scopes={"acme": frozenset({"repo.write"})})),
        ("HUB113", "library/x", ME),
    ],
)
def test_a_push_that_the_token_cannot_make_is_found(code: str, name: str, account: Account) -> None:
    """In a job file, a command and a script alike."""
    for text in pushing(name):
        assert codes(text, World(account=account)) == {code}


def test_a_refused_token_is_told_once() -> None:
    """It is one fault, however much the job asks for; the other rules are skipped, and say nothing."""
    silent = World(account=Account(token=REFUSED), silent=frozenset({"acme/chats", "Qwen/Qwen2.5-0.5B", "me/x"}))
    for text in (*pushing("me/x"), job(), command(), script()):
        assert [code for code, _ in findings(text, silent)] == ["HUB109"]


@pytest.mark.parametrize(
    "account", [ME, Account(token=ABSENT), replace(ME, role="fineGrained", scopes={"me": frozenset({"repo.write"})})]
)
def test_a_push_that_may_be_made_is_left_alone(account: Account) -> None:
    """So is one for which no token is at hand, which says nothing of the one where the job runs."""
    for text in pushing("me/x"):
        assert codes(text, World(account=account)) == set()


def test_rights_of_a_token_that_is_not_at_hand_are_skipped() -> None:
    """The rules about them have not passed: nobody knows the token that will push."""
    for text in pushing("me/x"):
        skips = [each for each in ask(text, World(account=Account(token=ABSENT))) if isinstance(each, Skip)]
        unknown = {each.rule.code for each in skips if "no Hub token is at hand" in each.because}
        assert {"HUB110", "HUB111", "HUB112", "HUB113"} <= unknown


ABSENT_DATA = Repo(name="acme/chats", kind="dataset", exists=False, nearest=("acme/chat", "fish/words"))
CLOSED = Repo(name="acme/chats", kind="dataset", gated="auto", readable=False)
MOVED = Repo(name="acme/conversations", kind="dataset")
TWO = {"en": {"train": Split()}, "de": {"train": Split()}}
TESTED = {"default": {"test": Split(rows=100)}}


@pytest.mark.parametrize(
    ("code", "world"),
    [
        ("DAT107", World(repos={"acme/chats": ABSENT_DATA})),
        ("DAT108", World(repos={"acme/chats": CLOSED})),
        ("DAT109", World(datasets={"acme/chats": Dataset(configs=TWO, default_config=None)})),
        ("DAT111", World(datasets={"acme/chats": Dataset(configs=TESTED)})),
        ("DAT112", World(datasets={"acme/chats": Dataset(scripted=True)})),
        ("HUB118", World(repos={"acme/chats": MOVED})),
    ],
)
def test_a_fault_of_the_dataset_is_found(code: str, world: World) -> None:
    """In a job file, a command and a script alike, at the line that names it."""
    for text in (job(), command(), script()):
        assert codes(text, world) == {code}
        assert all("acme/chats" in line for _, line in findings(text, world))


@pytest.mark.parametrize(
    ("code", "texts", "world"),
    [
        (
            "DAT110",
            (job("{path: acme/chats, config: fr}"), command(more="--dataset_config fr"), script('"acme/chats", "fr"')),
            World(datasets={"acme/chats": Dataset(configs=TWO, default_config=None)}),
        ),
        (
            "DAT111",
            (
                job("{path: acme/chats, eval_split: dev}"),
                command(more="--eval_strategy steps --dataset_test_split dev"),
                script('"acme/chats", split="train+dev[:10%]"'),
            ),
            ALL_GOOD,
        ),
        (
            "HUB117",
            (
                job().replace("model: Qwen/Qwen2.5-0.5B", "model: {path: Qwen/Qwen2.5-0.5B, revision: v9}"),
                command(more="--model_revision v9"),
                script(config=', model_init_kwargs={"revision": "v9"}'),
            ),
            World(repos={"Qwen/Qwen2.5-0.5B": Repo(name="Qwen/Qwen2.5-0.5B", commit=None, revisions=("main",))}),
        ),
        (
            "DAT114",
            (
                job('{path: acme/chats, eval_split: "train[:5%]"}'),
                command(more="--eval_strategy steps --dataset_test_split train"),
                script().replace("train_dataset=rows", "train_dataset=rows, eval_dataset=rows"),
            ),
            ALL_GOOD,
        ),
        (
            "DAT115",
            (job('{path: acme/chats, split: "train[2000:]"}'), script('"acme/chats", split="train[2000:]"')),
            ALL_GOOD,
        ),
        (
            "DAT116",
            (job("{path: acme/chats, rows: 2000}"), script(more="few = rows.select(range(2000))\n")),
            ALL_GOOD,
        ),
        ("DAT117", (script(more="parts = rows.train_test_split(test_size=1000)\n"),), ALL_GOOD),
        (
            "TRK110",
            (
                job(more="track: {with: trackio, space: stranger/t}\n"),
                command(more="--report_to trackio --trackio_space_id stranger/t"),
                script(config=', report_to="trackio", trackio_space_id="stranger/t"'),
            ),
            ALL_GOOD,
        ),
    ],
)
def test_a_fault_of_a_setting_is_found(code: str, texts: tuple[str, ...], world: World) -> None:
    """In each kind of document that can have it, and nothing else is said."""
    for text in texts:
        assert codes(text, world) == {code}


def test_what_is_caught_is_no_finding() -> None:
    """A program that is ready for a name that is not there is left alone."""
    caught = 'from datasets import load_dataset\ntry:\n    rows = load_dataset("acme/chats")\nexcept Exception:\n    rows = None\n'

    assert codes(caught, World(repos={"acme/chats": ABSENT_DATA})) == set()


def test_a_token_of_its_own_may_see_more() -> None:
    """What is not there for the token at hand may be there for the program's: a warning, and nothing of access."""
    text = 'from huggingface_hub import login\nlogin("hf_other")\n' + script()
    (absent,) = [each for each in ask(text, World(repos={"acme/chats": ABSENT_DATA})) if isinstance(each, Finding)]

    assert (absent.rule and absent.rule.code, severity_of(absent)) == ("DAT107", "warning")
    assert codes(text, World(repos={"acme/chats": CLOSED})) == set()
    assert codes(text + 'rows.push_to_hub("stranger/x")\n', World()) == set()


def test_nobody_could_say_is_a_skip_and_no_pass() -> None:
    """Of two datasets, one of which nobody could tell of, the other's fault is told, and the rule counts as skipped."""
    text = script() + 'load_dataset("acme/other", split="train")\n'
    results = ask(text, World(repos={"acme/chats": ABSENT_DATA}, silent=frozenset({"acme/other"})))

    assert ("DAT107", Finding) in {(each.rule.code, type(each)) for each in results if each.rule}
    (skip,) = [each for each in results if isinstance(each, Skip) and each.rule.code == "DAT107"]
    assert (skip.missing, skip.because) == (("acme/other",), "offline")


def test_a_name_without_owner_may_be_a_folder() -> None:
    """Of one that the Hub does not have, nothing is said, unless it has one of that name with an owner."""
    unknown = Repo(name="rows", kind="dataset", exists=False, nearest=("fish/rows-of-trees",))
    known = Repo(name="alpaca", kind="dataset", exists=False, nearest=("tatsu-lab/alpaca", "fish/alpacas"))

    assert codes(script('"rows", split="train"'), World(repos={"rows": unknown})) == set()
    (told,) = [
        each
        for each in ask(script('"alpaca", split="train"'), World(repos={"alpaca": known}))
        if isinstance(each, Finding)
    ]
    assert severity_of(told) == "warning"


def test_a_moved_name_is_written_anew_in_a_command() -> None:
    """The safe fix finds the name where the command spells it."""
    text = command()
    document = read(text)
    results = run_rules(RULES, document, World(repos={"acme/chats": MOVED}).facts(document))
    (found,) = [each for each in results if isinstance(each, Finding)]

    assert found.fix
    assert found.fix.safe
    assert apply_text_edits(text, place_command_edits(document, found.fix.edits)) == command("acme/conversations")


def test_each_place_of_a_moved_name_is_told() -> None:
    """A name that stands twice is to be changed twice, and a split beside it is not."""
    text = script() + 'load_dataset(path="acme/chats", split="test")\n'
    assert [line for _, line in findings(text, World(repos={"acme/chats": MOVED}))] == [
        'rows = load_dataset("acme/chats", split="train")',
        'load_dataset(path="acme/chats", split="test")',
    ]
    both = job("{path: acme/chats, eval_split: test}")
    assert len(findings(both, World(repos={"acme/chats": MOVED}))) == 1


def test_a_private_wish_is_that_of_its_own_call() -> None:
    """Another push that asks for privacy says nothing of this one."""
    public = PushTarget(name="me/x", namespace="me", repo=Repo(name="me/x"), writable="yes")
    world = World(targets={"me/x": public, "me/y": replace(public, name="me/y", repo=None)})
    text = script(more='rows.push_to_hub("me/y", private=True)\nrows.push_to_hub("me/x")\n')

    assert codes(text, world) == set()
    assert codes(text.replace('"me/x"', '"me/x", private=True'), world) == {"HUB114"}


# ---------------------------------------------------------------------------------------------------------------------
# The examples are what the readers give


def seen_in(case: Case) -> Iterator[Reference]:
    for name in LISTS:
        facts: Any = case.facts.get(name, ())
        yield from (each.reference for each in facts)


def documents(case: Case) -> tuple[Document, ...]:
    if case.kind == "job":
        return (JobFileReader().read(case.job, "job.yaml"),)
    if case.kind == "script":
        return read_script(case.script, "train.py")
    found = (command_document(line, case.command, "run.sh") for line in read_commands(case.command, "run.sh"))
    return tuple(each for each in found if each)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_examples_hold_the_mentions_that_readers_give(rule: Rule) -> None:
    """What a bad example says was found is about what its source names, to the key; only labels and tokens are left out."""

    def about(reference: Reference) -> tuple[Any, ...]:
        return (
            *(reference.role, reference.name, reference.key, reference.repo_kind, reference.revision),
            *(reference.config, reference.split, reference.files),
        )

    for case in rule.bad:
        real = {about(each) for document in documents(case) for each in references(document)}
        assert {about(each) for each in seen_in(case)} <= real, case.source


# ---------------------------------------------------------------------------------------------------------------------
# Slices are what datasets makes of them

BOUNDS = ("", "0", "3", "10", "-2", "-10", "1%", "15%", "50%", "100%", "-20%")
ROWS = 10


def slices() -> Iterator[str]:
    for start in BOUNDS:
        for end in BOUNDS:
            if ("%" in start + end) <= all("%" in each or not each for each in (start, end)):
                yield f"train[{start}:{end}]"


def taken(split: str) -> range:
    """The rows that datasets itself takes of a slice."""
    (found,) = ReadInstruction.from_spec(split).to_absolute({"train": ROWS})
    return range(found.from_, found.to)


def test_slices_take_the_rows_that_datasets_takes() -> None:
    """Every start and every end, in rows and in percent."""
    every = list(slices())

    assert len(every) > 50
    for split in every:
        (part,) = read_slices(split)
        assert part.rows(ROWS) == taken(split), split


def test_overlaps_are_real() -> None:
    """Of slices that are said to share rows, datasets takes some rows for both, as long as there are enough of them."""
    every = [split for split in slices() if taken(split)]
    said = [(one, other) for one in every for other in every if overlap(read_slices(one)[0], read_slices(other)[0])]

    assert len(said) > 300
    assert all(set(taken(one)) & set(taken(other)) for one, other in said)
    assert not overlap(Slice("train"), Slice("test"))


@pytest.mark.parametrize("split", ["train[:5k]", "train [:5]", "train[:50%](pct1_dropremainder)", ""])
def test_what_is_no_plain_slice_is_not_read(split: str) -> None:
    """Nothing is claimed of it."""
    assert read_slices(split) == ()


@pytest.mark.parametrize("rows", [1, 2, 9, 10, 11])
@pytest.mark.parametrize("size", [0.05, 0.1, 0.5, 0.9, 0.95, 1, 2, 10])
def test_splits_fail_where_datasets_says_so(rows: int, size: float) -> None:
    """`train_test_split` of so many rows, with such a size, raises exactly where the rule says so."""
    table = Table.from_dict({"a": list(range(rows))})

    def raises(do: Callable[[], object]) -> bool:
        try:
            do()
        except ValueError:
            return True
        return False

    known = Dataset(configs={"default": {"train": Split(rows=rows)}})
    found = codes(
        script(more=f"parts = rows.train_test_split(test_size={size})\n"), World(datasets={"acme/chats": known})
    )
    assert (found == {"DAT117"}) == raises(lambda: table.train_test_split(test_size=size))


def test_who_may_write_where() -> None:
    """The owner, an organization, a scope: names are compared as the Hub does, whatever their capitals."""
    fine = replace(
        ME,
        role="fineGrained",
        scopes={"acme/one": frozenset({"repo.write"}), "global": frozenset({"discussion.write"})},
    )

    assert refusal(ME, "ME/x") is None
    assert refusal(ME, "Acme/x") is None
    assert refusal(ME, "x") is None
    assert refusal(fine, "acme/one") is None
    assert (found := refusal(fine, "acme/two"))
    assert found.obstacle == "scope"
    assert refusal(Account(token=ABSENT), "stranger/x") is None
