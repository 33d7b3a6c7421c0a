"""What an error of huggingface_hub means: a refusal, or an outcome that is not known.

A refusal is certain: nothing was done, and asking again changes nothing. Whatever else happens, what was asked may have been done.
Source: huggingface_hub 2.4.0 (`utils/_http.py`, `errors.py`). No message has a token; those of the Hub are redacted all the same.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from holdfast.core.errors import BackendError, HoldfastError, UnreachableError
from holdfast.core.text.redact import redact

if TYPE_CHECKING:
    from huggingface_hub.errors import BucketBatchError, HfHubHTTPError

AGAIN: Final = "it is tried again"
FIXES: Final[Mapping[int, tuple[str, str]]] = {
    400: ("the Hub refuses it", "correct `where.hardware` and `where.options`; `hf jobs hardware` lists the flavors"),
    401: ("the Hub refuses the token", "`hf auth login`, or set HF_TOKEN to a valid token"),
    402: (
        "no credit is left (402 Payment Required)",
        "add credit under https://huggingface.co/settings/billing, or name another account in `where.options.namespace`",
    ),
    403: (
        "the token has no right to this",
        "use a token that may write, with `job.write` if it is fine-grained, to an account that you belong to",
    ),
    404: ("the Hub does not have it", "correct `where.options.namespace` and `where.options.bucket`"),
    409: ("the Hub has something else of that name", "name another one in `where.options`"),
    413: ("it is too large for the Hub", "make the script or its arguments smaller"),
    422: ("the Hub refuses it", "correct `where.hardware` and `where.options`"),
}
"""What a status means, and how to fix it. Any other status is no refusal: 408, 425, 429, those of a broken server."""


def explain(error: Exception, doing: str) -> HoldfastError:
    """Return a BackendError for a refusal, an UnreachableError for any other error of the client.

    Args:
        error: What the client raised.
        doing: What was asked: `start the job`.
    """
    from huggingface_hub.errors import BucketBatchError, HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, BucketBatchError):
        return _batch_failure(error, doing)
    if isinstance(error, HfHubHTTPError):
        return _refusal(error, doing)
    if isinstance(error, OfflineModeIsEnabled):
        return BackendError(f"cannot {doing}: HF_HUB_OFFLINE is set", where="the environment", fix="unset it")
    # Its text may hold an address that is signed.
    what = f"cannot {doing}: the Hub did not answer, or not in the known form ({type(error).__name__})"
    return UnreachableError(what, where="the Hub", fix=AGAIN)


def as_unreachable(error: HoldfastError) -> UnreachableError:
    """Return an error of a running attempt: it may go on, so that not even a refusal is an end. A token can be renewed."""
    return (
        error if isinstance(error, UnreachableError) else UnreachableError(error.what, where=error.where, fix=error.fix)
    )


def _refusal(error: "HfHubHTTPError", doing: str) -> HoldfastError:
    status, message = error.response.status_code, _line(error.server_message or "")
    where = f"the Hub, status {status}"
    if status not in FIXES:
        what = f"cannot {doing}: the Hub answered {status}" + (f": {message}" if message else "")
        return UnreachableError(what, where=where, fix=AGAIN)
    because, fix = FIXES[status]
    return BackendError(f"cannot {doing}: {because}" + (f": {message}" if message else ""), where=where, fix=fix)


def _batch_failure(error: "BucketBatchError", doing: str) -> HoldfastError:
    """Return the error for files that a bucket did not take."""
    message = _line("; ".join(sorted({each.get("error", "") for each in error.failures})))
    fix = "delete runs from the bucket that are no longer needed, or name another one in `where.options.bucket`"
    return BackendError(f"cannot {doing}: the bucket does not take it: {message}", where="the bucket", fix=fix)


def _line(text: str) -> str:
    return redact(" ".join(text.split()))[:500]
