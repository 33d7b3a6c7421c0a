"""The loopback Hub keeps buckets as `huggingface_hub` uses them; content travels through Xet."""

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.buckets import Buckets
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`

CONTENTS = {  # one for each way in which Xet packs content
    "empty.txt": b"",
    "folder/repeated.txt": b"hello world " * 3000,
    "folder/sub/floats.bin": b"".join(bytes([n % 7, n % 251, 63, 191]) for n in range(40_000)),
    "folder2/noise.bin": b"".join(((n * n * 2654435761) & 0xFFFFFFFF).to_bytes(4, "little") for n in range(60_000)),
}


@pytest.fixture(autouse=True)
def no_buckets(hub: LoopbackHub) -> None:
    """Begin each test without buckets."""
    hub.buckets.all.clear()


def test_creation(hub: LoopbackHub, ask: Ask) -> None:
    """A bucket is made where the token may write, once; private ones are seen by their owners only."""
    assert ask("api.create_bucket('made', private=True).bucket_id") == "me/made"
    assert hub.buckets["me/made"].private
    assert ask("error_of(api.create_bucket, 'me/made')[0]") == "HfHubHTTPError"
    assert ask("api.create_bucket('me/made', exist_ok=True).bucket_id") == "me/made"
    assert "403 Forbidden" in ask("error_of(as_whom('hf_me_read').create_bucket, 'me/other')")[1]
    assert ask("error_of(as_whom('hf_you').bucket_info, 'me/made')[0]") == "BucketNotFoundError"
    assert ask("error_of(api.bucket_info, 'me/none')[0]") == "BucketNotFoundError"
    ask("api.update_bucket_settings('me/made', private=False); api.move_bucket('me/made', 'me/moved')")
    assert ask("[(one.id, one.private, one.size) for one in api.list_buckets()]") == [["me/moved", False, 0]]
    ask("api.delete_bucket('me/moved')")
    assert ask("error_of(api.delete_bucket, 'me/moved')[0]") == "BucketNotFoundError"
    assert not hub.buckets.all


def test_content_goes_up_and_down_unchanged(hub: LoopbackHub, ask: Ask) -> None:
    """Whatever its size and however it is packed; also what never came through Xet."""
    hub.add_bucket("me/kept")
    hexes = {path: content.hex() for path, content in CONTENTS.items()}
    ask(
        "api.batch_bucket_files('me/kept', add=[(bytes.fromhex(one), path) for path, one in hexes.items()])",
        hexes=hexes,
    )
    assert hub.buckets["me/kept"].contents == CONTENTS
    hub.add_bucket("me/seeded", CONTENTS)
    for name in ("me/kept", "me/seeded"):
        down = ask(
            """
folder = Path(mkdtemp())
api.download_bucket_files(name, [(path, folder / str(k)) for k, path in enumerate(paths)], raise_on_missing_files=True)
[(folder / str(k)).read_bytes().hex() for k in range(len(paths))]
""",
            name=name,
            paths=list(CONTENTS),
        )
        assert down == list(hexes.values())
    assert ask("api.get_bucket_file_metadata('me/kept', 'folder/repeated.txt').size") == 36_000
    missing = "api.download_bucket_files, 'me/kept', [('none', folder / 'none')], raise_on_missing_files=True"
    assert ask(f"error_of({missing})[0]") == "EntryNotFoundError"


def test_what_one_hub_got_is_sent_to_the_next_at_its_address(hub: LoopbackHub, ask: Ask) -> None:
    """hf_xet sends nothing twice to one store; a Hub that starts on the port of one that is gone has none of it."""
    for _ in range(2):
        hub.buckets = Buckets()
        hub.add_bucket("me/kept")
        ask("api.batch_bucket_files('me/kept', add=[(text.encode(), 'a.txt')])", text="sent again " * 900)
        assert hub.buckets["me/kept"].contents == {"a.txt": b"sent again " * 900}


def test_listing(hub: LoopbackHub, ask: Ask) -> None:
    """A prefix is compared as text; folders are in a listing of one level only; sizes and hashes are told; pages are followed."""
    hub.add_bucket("me/kept", CONTENTS)
    hub.page_size = 2
    tree = "sorted((one.type, one.path) for one in api.list_bucket_tree('me/kept'"
    assert ask(f"{tree}))") == [["directory", "folder"], ["directory", "folder2"], ["file", "empty.txt"]]
    assert ask(f"{tree}, recursive=True))") == sorted(["file", path] for path in CONTENTS)
    assert ask(f"{tree}, prefix='folder'))") == [
        ["directory", "folder/sub"],
        ["directory", "folder2"],
        ["file", "folder/repeated.txt"],
    ]
    told = ask("[(one.size, one.xet_hash) for one in api.get_bucket_paths_info('me/kept', ['empty.txt', 'none'])]")
    assert told == [[0, hub.buckets["me/kept"].files["empty.txt"].xet_hash]]
    hub.page_size = 1000


def test_file_system(hub: LoopbackHub, ask: Ask) -> None:
    """`hf://buckets/...` is read, by ranges too, written, copied and removed."""
    hub.add_bucket("me/kept", CONTENTS)
    ask("fs = HfFileSystem(endpoint=api.endpoint, skip_instance_cache=True)")
    assert ask("fs.ls('hf://buckets/me/kept/folder', detail=False)") == [
        "buckets/me/kept/folder/repeated.txt",
        "buckets/me/kept/folder/sub",
    ]
    assert ask("fs.cat_file('hf://buckets/me/kept/folder/repeated.txt', start=6, end=11).decode()") == "world"
    ask(
        "fs.pipe_file('hf://buckets/me/kept/new.txt', b'new'); fs.cp_file('buckets/me/kept/new.txt', 'buckets/me/kept/copy.txt')"
    )
    ask("fs.rm('hf://buckets/me/kept/folder', recursive=True)")
    assert hub.buckets["me/kept"].contents.keys() == {"empty.txt", "folder2/noise.bin", "new.txt", "copy.txt"}
    assert hub.buckets["me/kept"].contents["copy.txt"] == b"new"


def test_copies_and_synchronizations(hub: LoopbackHub, ask: Ask) -> None:
    """Files of other buckets and of repositories are copied; a folder is brought up to date."""
    hub.add_bucket("me/kept", {"a/one.txt": "1", "ab/two.txt": "2"})
    hub.add_bucket("me/other")
    hub.add_model("me/model", {"config.json": "{}", "model.safetensors": b"weights"})
    ask("api.copy_files('hf://buckets/me/kept/a', 'hf://buckets/me/other/')")
    ask("api.copy_files('hf://me/model', 'hf://buckets/me/other/model/')")
    assert hub.buckets["me/other"].contents == {
        "a/one.txt": b"1",
        "model/config.json": b"{}",
        "model/model.safetensors": b"weights",
    }
    ask(
        "folder = Path(mkdtemp()); api.sync_bucket('hf://buckets/me/kept/a', str(folder)); (folder / 'new.txt').write_text('n')"
    )
    ask("api.sync_bucket(str(folder), 'hf://buckets/me/kept/a')")
    assert hub.buckets["me/kept"].contents == {"a/new.txt": b"n", "a/one.txt": b"1", "ab/two.txt": b"2"}


def test_full_bucket(hub: LoopbackHub, ask: Ask) -> None:
    """What does not fit is named, and the rest arrives; that all of it failed is another status."""
    hub.add_bucket("me/kept", limit=10)
    add = "error_of(api.batch_bucket_files, 'me/kept', add="
    refused = ask(add + "[(b'small', 'small'), (b'too large for it', 'large')])")
    assert refused[0] == "BucketBatchError"
    assert "1 out of 2" in refused[1]
    assert "large: Storage limit reached" in refused[1]
    assert hub.buckets["me/kept"].contents == {"small": b"small"}
    assert "1 out of 1" in ask(add + "[(b'too large for it', 'large')])")[1]
    assert [one.answered for one in hub.asked("/batch")] == [200, 422]
    assert ask("error_of(as_whom('hf_me_read').batch_bucket_files, 'me/kept', add=[(b'x', 'x')])[0]") != ""
