"""Everything that this Hub knows, and how a test fills it. No networking here."""

from dataclasses import dataclass
from threading import Event, RLock
from typing import Any

from tests.helpers.hub.accounts import SINCE_S, Accounts, Organization, OrganizationRole, Scope, Token, TokenRole, User
from tests.helpers.hub.buckets.store import Bucket, Buckets
from tests.helpers.hub.clock import Clock
from tests.helpers.hub.exchange import HubError, MovedError, Request, unseen
from tests.helpers.hub.jobs.control import Jobs
from tests.helpers.hub.repositories import NOTHING, Commit, File, Files, Kind, Repository

MONTH_S = 30 * 86400.0


@dataclass(slots=True, kw_only=True)
class Page:
    """What stands at an address that is not of the Hub."""

    content: bytes
    media_type: str
    status: int


class World:
    """Accounts, repositories and what happened to them.

    Attributes:
        address: Of the Hub, `http://127.0.0.1:PORT`.
        outside: Of the other host, which keeps large files, shows datasets and any page of a test.
        accounts: Users, organizations, tokens.
        repositories: By kind and name.
        moved: New names by kind and old name.
        large: Content of large files by SHA-256, also of those that no commit names yet.
        requests: All that was asked, in order.
        commits: Those that clients made, in order; neither those of a test nor the first of a new repository.
        created: Bodies of the requests that made a repository.
        page_size: Entries of a list in one answer; the rest is behind a link.
        shown: What the dataset viewer has worked out already, by commit.
        part_bytes: Large files of more than this are uploaded in parts of this size.
        clock: The Hub's time, which a test may move.
        buckets: By name.
        jobs: What runs, is scheduled, and how.
        home: Folder for whatever needs one: caches of clients, disks of jobs.
        closing: Set when the test ends.
        hardware: Answer of `/api/jobs/hardware`; None for what hardware.py says.
    """

    def __init__(self) -> None:
        self.address = ""
        self.outside = ""
        self.accounts = Accounts()
        self.repositories: dict[tuple[Kind, str], Repository] = {}
        self.moved: dict[tuple[Kind, str], str] = {}
        self.large: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.pages: dict[str, Page] = {}
        self.shown: dict[tuple[str, ...], Any] = {}
        self.requests: list[Request] = []
        self.commits: list[Commit] = []
        self.created: list[dict[str, Any]] = []
        self.lost: tuple[str, ...] = ()
        self.page_size = 1000
        self.part_bytes = 20_000_000
        self.hardware: Any = None
        self.lock = RLock()
        self.home = ""
        self.closing = Event()
        self.clock = Clock()
        self.buckets = Buckets()
        self.jobs = Jobs()

    def add_user(self, name: str, *, pays: bool = True, pro: bool = False) -> User:
        """Make a user, who has no token yet."""
        user = self.accounts.users[name] = User(name=name, pays=pays, pro=pro)
        return user

    def add_organization(self, name: str, members: dict[str, OrganizationRole] | None = None) -> Organization:
        """Make an organization; `members` are roles by user."""
        organization = self.accounts.organizations[name] = Organization(name=name, members=dict(members or {}))
        return organization

    def add_token(
        self,
        text: str,
        *,
        user: str = "me",
        role: TokenRole = "write",
        scopes: tuple[Scope, ...] = (),
        reads_gated: bool = True,
    ) -> Token:
        """Make a token.

        Args:
            text: What is sent.
            user: Whose it is.
            role: `read`, `write` or `fineGrained`.
            scopes: Of a fine-grained one: what it may do with what.
            reads_gated: Whether a fine-grained one reads public gated repositories that its user has access to.
        """
        owner = self.accounts.users[user]
        token = Token(text=text, user=owner, role=role, scopes=scopes, reads_gated=reads_gated, label=f"{user}-{role}")
        self.accounts.tokens[text] = token
        return token

    def add_model(self, name: str, files: Files = NOTHING, **settings: Any) -> Repository:
        """Make a model; `settings` are attributes of `Repository`."""
        return self.add("model", name, files, **settings)

    def add_dataset(self, name: str, files: Files = NOTHING, **settings: Any) -> Repository:
        """Make a dataset; `settings` are attributes of `Repository`."""
        return self.add("dataset", name, files, **settings)

    def add_space(self, name: str, files: Files = NOTHING, **settings: Any) -> Repository:
        """Make a Space; `settings` are attributes of `Repository`."""
        return self.add("space", name, files, **settings)

    def add(self, kind: Kind, name: str, files: Files = NOTHING, **settings: Any) -> Repository:
        """Make a repository with one commit. Its namespace need not be somebody's."""
        with self.lock:
            made_s = SINCE_S + MONTH_S + 3600 * len(self.repositories)
            given: dict[str, Any] = {"name": name, "kind": kind, "made_s": made_s}
            repo = Repository(**given | settings)
            repo.commit(files, message="initial commit")
            self.repositories[kind, name] = repo
            self.moved.pop((kind, name), None)
            return repo

    def add_bucket(self, name: str, files: Files = NOTHING, **settings: Any) -> Bucket:
        """Make a bucket; `settings` are attributes of `Bucket`."""
        with self.lock:
            return self.buckets.add(name, files, **settings)

    def add_page(self, path: str, content: str, *, media_type: str = "text/html", status: int = 200) -> str:
        """Put a page on the other host and return its address."""
        self.pages[path] = Page(content=content.encode(), media_type=media_type, status=status)
        return self.outside + path

    def rename(self, kind: Kind, old: str, new: str) -> None:
        """Give a repository another name; the old one leads there. An old one without a namespace need not be a repository."""
        with self.lock:
            repo = self.repositories.pop((kind, old), None)
            if repo is not None:
                repo.name = new
                self.repositories[kind, new] = repo
            self.moved[kind, old] = new
            self.moved.pop((kind, new), None)

    def model(self, name: str) -> Repository:
        """Return a model."""
        return self.repositories["model", name]

    def dataset(self, name: str) -> Repository:
        """Return a dataset."""
        return self.repositories["dataset", name]

    def space(self, name: str) -> Repository:
        """Return a Space."""
        return self.repositories["space", name]

    def find(self, kind: Kind, name: str, token: Token | None) -> Repository:
        """Return a repository that a token sees.

        Raises:
            MovedError: It has another name, or this one in other letters (the Hub does not tell capitals apart).
            HubError: There is none as far as this token can tell.
        """
        if (kind, name) in self.moved:
            raise MovedError(self.moved[kind, name])
        repo = self.repositories.get((kind, name)) or self._in_other_letters(kind, name)
        if repo is None or not self.accounts.sees(token, repo):
            raise unseen(known=token is not None)
        if repo.name != name:
            raise MovedError(repo.name)
        return repo

    def page_of(self, repo: Repository) -> str:
        """Return the address where people see a repository."""
        return f"{self.address}/{PREFIXES[repo.kind]}{repo.name}"

    def content(self, oid: str) -> bytes | None:
        """Return the content of a large file by its SHA-256, wherever it is."""
        if oid in self.large:
            return self.large[oid]
        for repo in self.repositories.values():
            for file in files_of(repo):
                if file.large and file.sha256 == oid:
                    return file.content
        return None

    def _in_other_letters(self, kind: Kind, name: str) -> Repository | None:
        alike = (repo for (k, n), repo in self.repositories.items() if k == kind and n.lower() == name.lower())
        return next(alike, None)


PREFIXES: dict[Kind, str] = {"model": "", "dataset": "datasets/", "space": "spaces/"}


def files_of(repo: Repository) -> list[File]:
    """Return every file of every commit that a branch, tag or other reference reaches."""
    tips = [*repo.branches.values(), *repo.labels.values(), *repo.hidden.values()]
    return [file for tip in tips for commit in tip.history() for file in commit.files.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request on its way to the function that answers it.

    Attributes:
        world: What this Hub knows.
        request: What was asked.
        token: Whose token came with it, if one did; it is valid.
        rest: Segments of the path that the route leaves over, unquoted: a revision, a path.
        found: The repository, on routes of one.
    """

    world: World
    request: Request
    token: Token | None
    rest: tuple[str, ...] = ()
    found: Repository | None = None
    kind: Kind = "model"

    @property
    def now_s(self) -> float:
        """The Hub's time."""
        return self.world.clock.now_s

    @property
    def repo(self) -> Repository:
        """The repository."""
        if self.found is None:
            raise LookupError(self.request.path)
        return self.found

    @property
    def revision(self) -> str:
        """The first segment that is left over; `main` if there is none."""
        return self.rest[0] if self.rest else "main"

    @property
    def below(self) -> str:
        """The rest of them: a path in the repository. A client may quote its slashes, or leave them."""
        return "/".join(self.rest[1:]).strip("/")

    def check_reads(self) -> None:
        """Raise a HubError if the repository's files are not for this token, or for nobody any more."""
        if self.repo.disabled:
            raise HubError(403, "Access to this resource is disabled.")
        self.world.accounts.check_reads(self.token, self.repo, self.world.page_of(self.repo))

    def signed_in(self) -> Token:
        """Return the token. Raises HubError if there is none."""
        if self.token is None:
            raise HubError(401, "Invalid username or password.")
        return self.token

    def check_writes(self, refused: str = "Authorization error.") -> Token:
        """Return the token if it may change the repository. Raises HubError if not."""
        token = self.signed_in()
        if not self.world.accounts.writes(token, self.repo):
            raise HubError(403, refused)
        return token
