"""Hugging Face Jobs: an attempt is a job, and its run has a folder in a bucket of the user's.

    backend.py      the methods of `ports.Backend` and `ports.Retrieval`
    settings.py     what a plan says about its job
    preflight.py    what the Hub would refuse, found before
    requests.py     what is sent: command, variables, secrets, labels
    addresses.py    where an attempt is
    states.py       what the Hub says of a job
    hub.py          the calls of huggingface_hub, each with a limit
    refusals.py     what its errors mean
    bucket.py       the folder of a run
    log_stream.py   the log, over any number of connections
    log_lines.py    its lines, each once and in order
    schedules.py    jobs that the Hub starts by itself, and the list of all that holdfast has there

The job sees the folder at `/holdfast`, read and write, and works there: so what it has closed outlives the machine. Writes arrive
late, and a lost machine loses what waits; a checkpoint counts only if all that its manifest names has arrived.

Source: huggingface_hub 2.4.0 (`hf_api.py`, `_jobs_api.py`); hf-mount, read, which mounts the bucket: files can be written from their
start on, renamed and deleted, but an existing one is not appended to; what comes from elsewhere appears within 30 seconds. Tried
against the loopback Hub of the tests alone.
"""

from holdfast.adapters.backends.hf_jobs.backend import HfJobsBackend as HfJobsBackend
