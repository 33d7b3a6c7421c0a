"""What the Hub says of accounts and repositories, as far as a job depends on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

RepoKind = Literal["model", "dataset", "space"]
May = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo:
    """A repository, as this token sees it.

    Attributes:
        name: Its name today: another than was requested where it has moved.
        kind: What it holds.
        exists: Whether this token sees it at all: what is private to others looks as if it were not there.
        private: Whether only its owners see it.
        gated: Whether and how access has to be asked for: `auto` is granted at once, `manual` by a person.
        readable: Whether this token may read its files.
        commit: Of the revision asked for; None if there is no such revision.
        files: Sizes in bytes by path, at that revision; None for an unknown size.
        modified_s: Unix time of the last commit, 0 if it is unknown.
        nearest: Names of repositories that do exist, the nearest first, where this one does not.
        revisions: Branches and tags that do exist, where the one asked for does not.
    """

    name: str
    kind: RepoKind = "model"
    exists: bool = True
    private: bool = False
    gated: Literal["", "auto", "manual"] = ""
    readable: bool = True
    commit: str | None = "0000000"
    files: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    modified_s: float = 0.0
    nearest: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose token is at hand.

    Attributes:
        token: Whether there is one, and whether the Hub takes it.
        name: The user.
        role: `read`, `write` or `fineGrained`; empty if it is not known.
        organizations: Role of the user in each organization by its name: `admin`, `write`, `contributor`, `read`.
        scopes: Of a fine-grained token, its permissions by whom or what they are for: `user/repo`, an organization, the user.
        pays: Whether the account can pay for jobs.
    """

    token: Literal["valid", "refused", "absent"]
    name: str = ""
    role: str = ""
    organizations: Mapping[str, str] = field(default_factory=dict[str, str])
    scopes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    pays: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTarget:
    """A repository that a job would write to.

    Attributes:
        name: With its namespace; a bare name gets the user's.
        namespace: The user or organization that it would belong to.
        repo: The repository, where it exists already and this token sees it.
        writable: Whether this token may write there, or make it.
        because: Why not, in words.
    """

    name: str
    namespace: str
    repo: Repo | None = None
    writable: May = "unknown"
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An address that was requested.

    Attributes:
        status: HTTP status.
        media_type: What it says to be: `text/html` is a page, and no script.
    """

    status: int
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file, in a repository or in a folder.

    Attributes:
        bytes: Its size.
        digests: Hex digests of its content by kind: `sha256` of what the Hub keeps as large files, `git` (SHA-1 of a blob)
            of the others.
    """

    bytes: int
    digests: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoTree:
    """What a repository holds.

    Attributes:
        files: Its files by path; None if there is no such repository.
        modified_s: Unix time of its last commit.
        commit: The commit that was listed; None if the Hub did not say.
    """

    files: Mapping[str, StoredFile] | None
    modified_s: float = 0.0
    commit: str | None = None
