"""Facts about what a job names: where each is looked for, in what order it is told, and who is asked at all."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from holdfast.adapters.hub import open_hub
from holdfast.adapters.hub.offline import OfflineHub
from holdfast.adapters.local.references import LocalFolders
from holdfast.adapters.readers.script import read_script
from holdfast.core.check.facts import HUB_FACTS, Dataset, ModelFacts
from holdfast.core.check.finding import Finding, Rule, Severity
from holdfast.core.check.hub import Account, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.errors import SourceError
from holdfast.core.rows.columns import STRING
from holdfast.engine.check.gather import gather, run_concurrently
from holdfast.engine.check.hub_facts import HubFacts, ReferenceResolver, usable_dataset, usable_model
from holdfast.engine.check.rule_runner import MissingFact
from tests.helpers.fake_hub import FakeHub, Found

SCRIPT = """
import sys
from datasets import load_dataset
from huggingface_hub import hf_hub_download
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

rows = load_dataset("acme/chats", split="train")
more = load_dataset("acme/lost", split="train")
tokenizer = AutoTokenizer.from_pretrained("acme/tokens")
hf_hub_download("acme/files", "a.json")
if sys.argv[1:]:
    load_dataset("acme/maybe")
SFTTrainer("acme/small", args=SFTConfig(push_to_hub=True, hub_model_id="me/out"), train_dataset=rows)
"""


def facts_of(text: str, hub: FakeHub, *folders: Path) -> HubFacts:
    """Return the facts of a script."""
    (document,) = read_script(text, "train.py")
    return HubFacts(document, ReferenceResolver(LocalFolders(folders, walked=False), lambda: hub, waits=True))


def about_account(account: Account) -> Iterator[Finding]:
    yield Finding("", account.name)


def about_model(model: ModelFacts) -> Iterator[Finding]:
    yield Finding("", str(model))


def about_datasets(datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    yield Finding("", str(datasets))


def rule(check: Callable[..., Iterator[Any]]) -> Rule:
    """Return a rule that asks for what a function takes."""
    return Rule(code="HUB999", name="x", explain="", severity=Severity.ERROR, check=check, source="", bad=(), good=())


def test_each_fact_tells_what_is_found_of_the_mentions_with_its_roles() -> None:
    """Datasets, models and tokenizers, files, targets: each from the Hub's answer to its own question."""
    facts = facts_of(SCRIPT, FakeHub())

    assert [seen.reference.name for seen in facts.models] == ["acme/tokens", "acme/small"]
    assert [seen.fact.name for seen in facts.repo_files] == ["acme/files"]
    assert [seen.fact.namespace for seen in facts.targets] == ["me"]
    assert (list(facts.spaces), list(facts.links)) == ([], [])
    assert facts.account.name == "me"
    assert facts.tensors == {"weight"}


def test_what_nobody_could_say_stands_last_with_its_reason() -> None:
    """So that a rule has spoken of the others when it meets it."""
    facts = facts_of(SCRIPT.replace("acme/chats", "acme/truly-lost"), FakeHub())

    assert [(seen.reference.name, seen.because) for seen in facts.datasets][-2:] == [
        ("acme/truly-lost", "the Hub hides it"),
        ("acme/lost", "the Hub hides it"),
    ]


def test_nobody_is_asked_about_what_may_never_be_reached() -> None:
    """What stands behind a condition that cannot be known is not looked up."""
    hub = FakeHub()
    facts = facts_of(SCRIPT.replace("if sys.argv[1:]:", "import trl\nif trl.__version__ < '0.9':"), hub)
    names = [seen.reference.name for seen in facts.datasets]

    assert "acme/maybe" not in [*names, *hub.asked]
    assert "acme/chats" in names


def test_what_lies_here_is_not_looked_for_on_the_hub(tmp_path: Path) -> None:
    """A folder of that name goes before a repository, as libraries have it."""
    (tmp_path / "acme" / "chats").mkdir(parents=True)
    (tmp_path / "acme" / "chats" / "train.jsonl").write_text('{"messages": []}\n')
    (tmp_path / "acme" / "small").mkdir()
    (tmp_path / "acme" / "small" / "config.json").write_text('{"model_type": "qwen2"}')
    hub = FakeHub()
    facts = facts_of(SCRIPT, hub, tmp_path)

    assert [seen.found.columns for seen in facts.datasets if seen.found] == [("messages",), ("text",)]
    assert [seen.fact.config for seen in facts.models] == [None, {"model_type": "qwen2"}]
    assert not {"acme/chats", "acme/small"} & set(hub.asked)


def test_a_folder_without_a_training_split_is_no_fault_where_none_is_asked_for(tmp_path: Path) -> None:
    """`load_dataset` of such a folder gives what there is."""
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "test.jsonl").write_text('{"text": "a"}\n')
    here = LocalFolders([tmp_path], walked=False)
    asked = Reference(role="dataset", name="rows", key="x", repo_kind="dataset")
    found = here.dataset(asked)

    assert found is not None
    assert (found.problem, found.columns) == ("", ("text",))
    assert here.dataset(Reference(role="dataset", name="nothing", key="x")) is None
    assert here.dataset(Reference(role="dataset", name="no\0name", key="x")) is None


def test_several_models_are_no_base_model() -> None:
    """Which of them is trained nobody guesses."""
    second = 'from transformers import AutoModel\nAutoModel.from_pretrained("acme/other")\n'
    facts = facts_of(SCRIPT + second, FakeHub())

    assert gather(["model", "tensors"], facts) == dict.fromkeys(
        ("model", "tensors"), MissingFact("the job names 2 models")
    )


def test_a_job_that_names_nothing_asks_nobody() -> None:
    """Neither the account nor the base model is of any concern to it, and rules about them are not asked."""
    hub = FakeHub()
    facts = facts_of("print()\n", hub)

    assert [list(getattr(facts, name)) for name in ("datasets", "models", "targets", "links")] == [[]] * 4
    assert isinstance(gather(["account"], facts)["account"], MissingFact)
    assert not facts.concerns(rule(about_account))
    assert not facts.concerns(rule(about_model))
    assert facts.concerns(rule(about_datasets))
    assert hub.asked == []


def test_facts_are_waited_for_together() -> None:
    """No question waits for another's answer: each of these does until all are asked."""
    meeting = Barrier(3, timeout=10)

    class Meeting(FakeHub):
        def known(self, _: Reference, found: Found) -> Found:
            meeting.wait()
            return found

    facts = facts_of(SCRIPT.replace("hf_hub_download", "print"), Meeting())
    found = gather(["targets", "models"], facts, awaited=HUB_FACTS)

    assert [len(list(each)) for each in found.values()] == [2, 1]  # type: ignore[call-overload]  # JSON
    with pytest.raises(ZeroDivisionError):
        run_concurrently([lambda: 1, lambda: 1 // 0])


def test_a_hub_that_may_not_be_asked_gives_each_its_reason() -> None:
    """Every question has one answer: why not."""
    (document,) = read_script(SCRIPT, "train.py")
    facts = HubFacts(
        document, ReferenceResolver(LocalFolders([], walked=False), lambda: OfflineHub("offline"), waits=True)
    )
    lists = (facts.datasets, facts.models, facts.repo_files, facts.targets)

    assert {seen.because for each in lists for seen in each} == {"offline"}
    assert gather(["account", "tensors"], facts) == dict.fromkeys(("account", "tensors"), MissingFact("offline"))


def test_the_environment_may_forbid_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_HUB_OFFLINE counts for holdfast as for every other client."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(SourceError, match="HF_HUB_OFFLINE is set"):
        open_hub().account()


def test_a_jobs_data_on_the_hub_is_read_by_its_columns() -> None:
    """Rules about columns are asked only where those are known; what is not there is told by others."""
    known = Dataset(columns=("text",), types={"text": STRING}, repo=Repo(name="a/b"))

    assert usable_dataset(known, evaluated=True).eval_columns == ("text",)
    assert usable_dataset(known, evaluated=False).eval_columns is None
    for found in (Dataset(repo=Repo(name="a/b")), Dataset(columns=("text",), repo=Repo(name="a/b", exists=False))):
        with pytest.raises(SourceError):
            usable_dataset(found, evaluated=False)
    with pytest.raises(SourceError):
        usable_model(ModelFacts(files=None, repo=Repo(name="a/b", readable=False)))


HIDDEN = """
import sys
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

rows = load_dataset(sys.argv[1], split="train")
model = AutoModelForCausalLM.from_pretrained("acme/small", revision=sys.argv[2])
args = SFTConfig(push_to_hub=True, hub_model_id=sys.argv[3])
SFTTrainer(model, args=args, train_dataset=rows)
"""


def test_what_is_named_in_secret_is_not_passed_over() -> None:
    """A name that comes from the command line is seen by nobody, and whoever is asked about it is skipped."""
    facts = facts_of(HIDDEN, FakeHub())

    assert [each.reference.key for each in (*facts.datasets, *facts.models, *facts.targets)] == [
        "dataset.0",
        "model.0",
        "train.hub_model_id",
    ]
    assert not any(each.found for each in (*facts.datasets, *facts.models, *facts.targets))
    assert facts.has("account")
    for name in ("dataset", "model", "account", "tensors"):
        with pytest.raises(SourceError, match="command line"):
            getattr(facts, name)


def test_a_folder_is_looked_for_here_alone(tmp_path: Path) -> None:
    """The Hub is not asked about a path; a folder that is not here has no files, and nothing else is known of it."""
    hub, text = FakeHub(), 'from trl import SFTTrainer\nSFTTrainer("./models/small")\n'

    absent = facts_of(text, hub, tmp_path)
    assert [seen.fact.files for seen in absent.models] == [None]
    with pytest.raises(SourceError):
        _ = absent.model
    (tmp_path / "models" / "small").mkdir(parents=True)
    (tmp_path / "models" / "small" / "config.json").write_text("{}")
    found = facts_of(text, hub, tmp_path)
    assert found.model.files == frozenset({"config.json"})
    assert not found.has("account")
    assert hub.asked == []


def test_a_folder_with_the_owner_s_name_is_told(tmp_path: Path) -> None:
    """`acme/chat` may be a repository; where a folder `acme` is here, that may have been meant."""
    text = 'from trl import SFTTrainer\nSFTTrainer("acme/chat")\n'
    (unhinted,) = facts_of(text, FakeHub(), tmp_path).models
    (tmp_path / "acme").mkdir()
    (hinted,) = facts_of(text, FakeHub(), tmp_path).models

    assert (unhinted.hint, hinted.hint) == ("", "; the folder `acme` here has no `chat`")


def test_what_is_shown_is_judged_beside_what_is_not() -> None:
    """One name that is hidden takes no finding away about another."""
    facts = facts_of(HIDDEN + 'load_dataset("acme/chats", split="train")\n', FakeHub())

    assert [each.found is not None for each in facts.datasets] == [True, False]
    assert facts.has("dataset")


def test_files_on_this_machine_hide_no_name() -> None:
    """`json` is no dataset, whatever its files are called."""
    facts = facts_of(
        'import sys\nfrom datasets import load_dataset\nload_dataset("json", data_files=sys.argv[1])\n', FakeHub()
    )

    assert facts.datasets == []
    assert not facts.has("account")
