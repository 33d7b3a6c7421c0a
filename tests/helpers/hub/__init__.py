r"""A Hugging Face Hub on loopback, for tests: what the real clients ask, answered as the real Hub does.

    from tests.helpers.hub import loopback_hub

    with loopback_hub() as hub:
        hub.add_dataset("acme/chats", {"data/train.jsonl": '{"text": "a"}\n'})
        subprocess.run([...], env=quiet_environment(**hub.variables))
    assert hub.commits == []

Jobs run here, in processes of their own; a test gives the images, moves the clock and lets things go wrong:

    hub.add_bucket("me/kept")
    hub.jobs.images["acme/trainer"] = Image(python=sys.executable)
    hub.jobs.mishap("machine_gone", "run=r1", at_file="*/model.safetensors")
    hub.jobs.trap_logs(cut_after=3, times=100)
    hub.clock.advance(1800)

`huggingface_hub`, `datasets` and `transformers` read `HF_ENDPOINT` when they are imported, so a test that uses them starts a process of
its own with `hub.variables`; `huggingface_hub.HfApi(endpoint=hub.address, token=hub.token)` works in this one.

server.py        `LoopbackHub` with all that a test seeds and reads
listening.py     the listening, and how replies go out
faults.py        what a test lets go wrong
exchange.py      one request and one reply, errors spelled as the Hub spells them
accounts.py      users, organizations, tokens, who may do what
repositories.py  repositories with their commits, branches and tags
routes.py        which function answers which address
identity.py      whoami, auth-check, small change
metadata.py      what the Hub works out of a repository's files
reading.py       info, tree, paths, refs, history, files
searching.py     search and paging
writing.py       create, delete, move, settings, branches, tags
uploading.py     preupload, LFS, commit
storage.py       the host that large files are redirected to
viewer.py        the dataset viewer; tables.py reads the files for it
hardware.py      flavors of Jobs
clock.py         the Hub's time, which a test moves
buckets/         buckets, and Xet, through which their content travels
jobs/            jobs that really run, their logs and metrics, jobs at times, and what goes wrong with them
client.py        a process of a real client, for tests to share; fixtures.py: a Hub and such a client for the tests of a file
weights.py       safetensors files without a model

Source: the requests of huggingface_hub 2.4.0, datasets 5.2.0, transformers 5.23.0 and trl 1.16.0, and the fields that they read of the answers;
texts and headers of errors as people quote them in public issues. Nothing here was compared with the real Hub itself.

Not covered: Xet of repositories (`HF_HUB_DISABLE_XET=1`; their files have no `X-Xet-Hash`), the event feed of buckets, discussions, collections, webhooks;
of Jobs: exposed ports, SSH and networks are told and do not work.
"""

from tests.helpers.hub.accounts import Scope as Scope
from tests.helpers.hub.server import LoopbackHub as LoopbackHub
from tests.helpers.hub.server import loopback_hub as loopback_hub
