"""What a service that shares no files says of a run, right or wrong, harms nothing on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holdfast.adapters.storage.retrieved_copies import RetrievedCopies
from holdfast.core.errors import HoldfastError, LogGoneError, UnreachableError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.checkpoint import MANIFEST, NO_MANIFEST, CheckpointProblem
from holdfast.core.run.event import ReportsLost, Started, Starting
from holdfast.core.run.run_state import fold
from holdfast.engine.run.retrieved_output import RetrievedOutput
from holdfast.payload.runtime import mark_event
from holdfast.ports import LogPart, OutputNews, RemoteFile
from tests.helpers.fakes import any_step

WHOLE = {"trainer_state.json": "a", "optimizer.pt": "b", "scheduler.pt": "c", MANIFEST: '{"step": 9, "files": {}}'}


@dataclass
class Service:
    """A service with some files of a run, by their paths."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    fetched: list[str] = field(default_factory=list[str])
    log: bytes | HoldfastError = b""

    def read_log(self, attempt_id: str, offset: int) -> LogPart:  # noqa: ARG002
        if isinstance(self.log, HoldfastError):
            raise self.log
        return LogPart(offset, self.log[offset:])

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:  # noqa: ARG002
        return {name: RemoteFile(len(text), text) for name, text in self.files.items()}

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:  # noqa: ARG002
        self.fetched.append(path)
        Path(to).write_text(self.files[path])


def attempt(number: int = 1) -> AttemptState:
    begun = (Starting(at_s=0, attempt=number, backend="x"), Started(at_s=0, attempt=number, id="id"))
    state = fold(begun).current
    assert state
    return state


def output_of(service: Service, folder: Path) -> RetrievedOutput:
    return RetrievedOutput(service, RetrievedCopies(folder / "runs" / "run"))


@pytest.mark.parametrize(
    "folder",
    [
        "../../x/checkpoint-9",
        "/x/checkpoint-9",
        "c/../../../x/checkpoint-9",
        "..\\x/checkpoint-9",
        "c\0/checkpoint-9",
        "\ud800/checkpoint-9",
        f"{'c' * 256}/checkpoint-9",
        f"checkpoint-{'9' * 5000}",
    ],
)
def test_a_path_that_leads_elsewhere_is_no_file_of_the_run(tmp_path: Path, folder: str) -> None:
    """Neither a checkpoint to resume from nor a file to fetch."""
    service = Service({f"{folder}/{name}": text for name, text in WHOLE.items()})
    output = output_of(service, tmp_path)

    assert output.newest_checkpoint(attempt(), (), any_step) == (None, [])
    output.fetch(attempt())
    assert service.fetched == []


@pytest.mark.parametrize("name", ["./request.json", "attempts/1//stdout.log", "attempts/./1/attempt.py"])
def test_another_spelling_replaces_nothing_that_is_written_here(tmp_path: Path, name: str) -> None:
    """The plan, the log and the program are holdfast's own."""
    service = Service({name: "bad", "model/a": "good"})
    output_of(service, tmp_path).fetch(attempt())

    assert service.fetched == ["model/a"]


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "{",
        "7",
        "[]",
        "{}",
        '{"step": 9, "files": []}',
        '{"step": 9, "files": {"optimizer.pt": 1}}',
        '{"step": 9, "files": {"optimizer.pt": {"bytes": null, "sha256": "d4"}}}',
        '{"step": 9, "files": {"optimizer.pt": {"bytes": Infinity, "sha256": "d4"}}}',
        '{"step": "nine", "files": {}}',
        "[" * 99,
    ],
)
def test_a_checkpoint_with_a_damaged_manifest_is_passed_over(tmp_path: Path, manifest: str) -> None:
    """The older one is whole."""
    files = {f"c/checkpoint-9/{name}": text for name, text in WHOLE.items()}
    damaged = {f"c/checkpoint-18/{name}": text for name, text in {**WHOLE, MANIFEST: manifest}.items()}
    found, (passed_over,) = output_of(Service({**files, **damaged}), tmp_path).newest_checkpoint(
        attempt(), (), any_step
    )

    assert found == str(tmp_path / "runs" / "run" / "c" / "checkpoint-9")
    assert passed_over.problems[0].file == MANIFEST
    assert not manifest or passed_over.problems == (CheckpointProblem(MANIFEST, NO_MANIFEST),)


@pytest.mark.parametrize(
    "name", ["model/model.safetensors", "attempts/1/stacks.txt", "model/\udcff.bin", "c/checkpoint-9/" + MANIFEST]
)
def test_a_file_that_was_written_again_is_fetched_again(tmp_path: Path, name: str) -> None:
    """A later attempt's weights have the size of the earlier one's; another supervisor fetches only what is new."""
    copy = tmp_path / "runs" / "run" / name
    for text, fetches in (("old", 1), ("old", 0), ("new", 1), ("new", 0), ("longer", 1)):
        service = Service({name: text, "same": ""}, fetched=[])
        output_of(service, tmp_path).fetch(attempt())

        assert copy.read_text() == text
        assert service.fetched.count(name) == fetches


def test_a_note_that_was_cut_costs_one_more_fetch(tmp_path: Path) -> None:
    """A supervisor was killed, or the disk was full, while it wrote the note."""
    output_of(Service({"a": "1", "b": "2"}), tmp_path).fetch(attempt())
    notes = tmp_path / "runs" / "run" / "retrieved.jsonl"
    notes.write_bytes(notes.read_bytes()[:-4])
    fetched = []
    for _ in range(2):
        service = Service({"a": "1", "b": "2"})
        output_of(service, tmp_path).fetch(attempt())
        fetched.append(service.fetched)

    assert fetched == [["b"], []]


UNREACHABLE = UnreachableError("no route to the host", where="x", fix="it is tried again")
GONE = LogGoneError("its log was deleted after 30 days", where="x", fix="")
END = b"".join(mark_event("ab", 1, '{"event": "end"}'))


def test_a_log_is_awaited_as_long_as_the_service_cannot_be_reached(tmp_path: Path) -> None:
    """A service may be away for a day. What is awaited is said; of a living attempt the poll knows more."""
    service = Service(log=UNREACHABLE)
    output = output_of(service, tmp_path)

    assert output.read(attempt(), 0, ended=False) == OutputNews(complete=False)
    for _ in range(100):
        assert output.read(attempt(), 0, ended=True) == OutputNews(complete=False, because="no route to the host")
    service.log = END
    assert len(output.read(attempt(), 0, ended=True).events) == 1


@pytest.mark.parametrize(("late", "readings"), [(b"", 5), (END, 1)])
def test_a_log_whose_end_is_late_is_read_longer(tmp_path: Path, late: bytes, readings: int) -> None:
    """As long as the last event of the training process is missing, silence says less."""
    (tmp_path / "runs" / "run" / "attempts" / "1").mkdir(parents=True)
    service = Service(log=b"line\n" + late)
    output = output_of(service, tmp_path)
    for _ in range(readings + 1):
        assert not output.read(attempt(), 0, ended=True).complete
    service.log = b"line\nlast line\n" + END if not late else service.log
    while not output.read(attempt(), 0, ended=True).complete:
        pass

    kept = (tmp_path / "runs" / "run" / "attempts" / "1" / "stdout.log").read_bytes()
    assert kept == (b"line\n" if late else b"line\nlast line\n")


@pytest.mark.parametrize("read_before", [b"", b"some text", END])
def test_a_log_that_the_service_does_not_have_any_more_is_given_up(tmp_path: Path, read_before: bytes) -> None:
    """Its events are lost, and that is said, unless the last one has arrived."""
    (tmp_path / "runs" / "run" / "attempts" / "1").mkdir(parents=True)
    service = Service(log=read_before)
    output = output_of(service, tmp_path)
    output.read(attempt(), 0, ended=False)
    service.log = GONE
    lost = ReportsLost(at_s=5, attempt=1, process="", first=1, last=0, because=GONE.what)

    assert output.read(attempt(), 5, ended=False) == OutputNews(complete=False)
    assert output.read(attempt(), 5, ended=True) == OutputNews(events=() if read_before == END else [lost])


@pytest.mark.parametrize(
    ("rest", "kept"),
    [
        (b"mail to me@", True),
        (b"@holdfas", True),
        (b"text @holdfast: is a mark", True),
        (b"@holdfast:no event", True),
        (END[:40], False),
        (END[:14], False),
    ],
)
def test_the_end_of_a_log_is_kept_though_an_event_might_begin_there(tmp_path: Path, rest: bytes, kept: bool) -> None:
    """Once nothing can follow, it is text, unless it is an event that was cut off."""
    folder = tmp_path / "runs" / "run" / "attempts" / "1"
    folder.mkdir(parents=True)
    output = output_of(Service(log=b"line\n" + rest), tmp_path)
    while not output.read(attempt(), 0, ended=True).complete:
        pass

    assert (folder / "stdout.log").read_bytes() == b"line\n" + (rest if kept else b"")
