"""Where an attempt is: its job, and its folder in a bucket. The backend's id of an attempt is such an address.

So any process that knows the id finds the log and the files, also when the Hub has forgotten the job.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

ADDRESS: Final = re.compile(r"([^/@\s]+)/([^/@\s]+)@([^/@\s]+/[^/@\s]+)/([^/@\s]+)/attempts/(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAddress:
    """The address of one attempt.

    Attributes:
        namespace: The account that the job belongs to, and that pays for it.
        job: The Hub's id of the job.
        bucket: The bucket of the run: `namespace/name`.
        folder: The run's folder in the bucket.
        attempt: The number of the attempt.

    >>> str(JobAddress(namespace="me", job="687f", bucket="me/holdfast", folder="sft-1a2b", attempt=2))
    'me/687f@me/holdfast/sft-1a2b/attempts/2'
    """

    namespace: str
    job: str
    bucket: str
    folder: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.namespace}/{self.job}@{self.bucket}/{self.folder}/attempts/{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the address that a text is; None if it is none.

        >>> JobAddress.parse("me/687f@me/holdfast/sft-1a2b/attempts/2").folder
        'sft-1a2b'
        >>> JobAddress.parse("687f")
        """
        found = ADDRESS.fullmatch(text)
        if found is None:
            return None
        namespace, job, bucket, folder, attempt = found.groups()
        return cls(namespace=namespace, job=job, bucket=bucket, folder=folder, attempt=int(attempt))
