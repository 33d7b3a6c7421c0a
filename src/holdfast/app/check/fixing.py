"""Fixing what was found: every fix that can be made at once, and again until none is left."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import structs

from holdfast.adapters.readers.notebook_edits import apply_notebook_edits
from holdfast.adapters.storage.write_back import write_back
from holdfast.adapters.targets import Target, read_text
from holdfast.app.check.target import check_rules, check_target, read_check_target
from holdfast.app.check.target_request import COMMAND_LINE, TargetRequest
from holdfast.core.check.finding import Finding
from holdfast.core.errors import GroupedError, JobError, MisspeltKeyError, UsageError, flatten
from holdfast.core.job.document import Rename
from holdfast.core.job.notebook import is_notebook
from holdfast.core.job.target_kind import STANDARD_INPUT
from holdfast.core.text.places import TextEdit, apply_text_edits
from holdfast.engine.check.answers import UNREADABLE
from holdfast.engine.check.fixes import FixResult, combine_fixes, render_diff
from holdfast.results.check import AppliedFix, TargetResult

UNWRITABLE = {STANDARD_INPUT: "standard input", COMMAND_LINE: "a command line"}
ROUNDS = 10
"""The most rounds: a fix may prevent another one, or cause a finding of another rule; after so many, two rules contradict each other."""


@dataclass(slots=True)
class FixedSource:
    """What becomes of a target's text.

    Attributes:
        before: The text.
        after: The text with the fixes in it.
        fixed: What they fix.
        renamed: The misspelt keys of a job file that had to get their right names before it could be checked.
        beside: The edits of modules beside it, by path. Those are read from the disk each time, and change at the end.
    """

    before: str
    after: str
    fixed: list[Finding] = field(default_factory=list[Finding])
    renamed: list[AppliedFix] = field(default_factory=list[AppliedFix])
    beside: dict[str, set[TextEdit]] = field(default_factory=dict[str, set[TextEdit]])

    def add(self, made: FixResult, text: str) -> None:
        """Note a round of fixes, and the text with them; edits of modules beside it are collected."""
        self.after = text
        self.fixed += made.fixed
        for edit in made.edits:
            if edit.path:
                self.beside.setdefault(edit.path, set()).add(edit)

    def texts(self, path: str) -> Iterator[tuple[str, str, str]]:
        """Yield each file that changes: its path, its text before and after."""
        if not (self.fixed or self.renamed):
            return
        yield path, self.before, self.after
        for other, edits in self.beside.items():
            text = read_text(other)
            yield other, text, apply_text_edits(text, edits)


def answer_fixed(request: TargetRequest, *, unsafe: bool, write: bool, alone: bool) -> TargetResult:
    """Return the result of a target after its fixes were made; where they are not written, before.

    Args:
        request: The question.
        unsafe: Whether to make fixes too that may change what the user meant.
        write: Whether to write the file; else the answer holds what would change.
        alone: As for `check_target`.

    Raises:
        UsageError: As for `check_target`; standard input or a command line is to be written.
        SourceError: The file cannot be written.
    """
    if write:
        _require_writable(request.path)
    source = _fixed_source(request, unsafe=unsafe)
    if source is None:
        return _unfixed(request, alone=alone)
    diff = _write_or_diff(list(source.texts(request.path)), write=write)
    breaks_schema = bool(source.renamed) and not write
    result = check_target(request, alone=alone and not breaks_schema).result
    return structs.replace(result, fixed=[*source.renamed, *map(_applied_fix, source.fixed)], diff=diff)


def _write_or_diff(texts: Iterable[tuple[str, str, str]], *, write: bool) -> str | None:
    """Write the files that change; or else return the diff, with its paths."""
    if not write:
        return "".join(render_diff(path, before, after) for path, before, after in texts)
    for path, _, after in texts:
        write_back(path, after)
    return None


def _require_writable(path: str) -> None:
    if path in UNWRITABLE:
        raise UsageError(f"{UNWRITABLE[path]} cannot be written", where=path, fix="use `--diff`")


def _unfixed(request: TargetRequest, *, alone: bool) -> TargetResult:
    """Return the result of a target that cannot be read, or raise its errors and that nothing was fixed."""
    try:
        return check_target(request, alone=alone).result
    except (UsageError, ExceptionGroup) as error:
        errors = flatten(error)
        if not any(isinstance(each, JobError) for each in errors):
            raise
        what = "no fix was made, because the job file breaks its schema"
        note = UsageError(what, where=request.path, fix="correct what the errors above name, and repeat the command")
        raise GroupedError(f"{error}\n{note}", [*errors, note]) from None


def _fixed_source(request: TargetRequest, *, unsafe: bool) -> FixedSource | None:
    """Return the fixed text of a target; None if it cannot be read. Files that it runs are left alone."""
    opened = _opened(request, unsafe=unsafe)
    if opened is None:
        return None
    source, target = opened
    for _ in range(ROUNDS):
        found = check_rules(target, request).findings
        made = combine_fixes(_open(found, request.path, source.fixed), target.place_edits, unsafe=unsafe)
        text = _applied(request.path, source.after, made.edits)
        if text == source.after and not made.fixed:
            break
        try:
            target = read_check_target(request, text)
        except (UsageError, ExceptionGroup):  # what cannot be read is no better
            break
        source.add(made, text)
    return source


def _opened(request: TargetRequest, *, unsafe: bool) -> tuple[FixedSource, Target] | None:
    """Return a target and its text; of a job file with misspelt keys, with the right ones. None if it cannot be read."""
    try:
        target = read_check_target(request)
    except (UsageError, ExceptionGroup) as error:
        misspelt = [each for each in flatten(error) if isinstance(each, MisspeltKeyError)]
        return _with_right_keys(request, misspelt) if unsafe and misspelt else None
    return FixedSource(target.document.text, target.document.text), target


def _with_right_keys(request: TargetRequest, misspelt: Iterable[MisspeltKeyError]) -> tuple[FixedSource, Target] | None:
    """Return a job file whose misspelt keys were renamed; None if it is broken otherwise, too."""
    from holdfast.adapters.readers.job_file import JobFileReader  # a YAML parser, which no script needs

    text, reader = read_text(request.path), JobFileReader()
    try:
        edits = reader.place_edits(reader.read(text, request.path), [Rename(each.key, each.meant) for each in misspelt])
        after = apply_text_edits(text, edits)
        target = read_check_target(request, after)
    except (UsageError, ExceptionGroup):
        return None
    renamed = [
        AppliedFix(
            code=UNREADABLE,
            message=each.what,
            title=f"rename `{each.key}` to `{each.meant}`",
            safe=False,
            line=each.spot.line,
            cell=None,
        )
        for each in misspelt
    ]
    return FixedSource(text, after, renamed=renamed), target


def _open(findings: Iterable[Finding], path: str, fixed: Iterable[Finding]) -> list[Finding]:
    """Return a file's own findings, without those in modules beside it that are fixed already."""
    done = {each.place for each in fixed if each.place and each.place.path != path}
    own = (each for each in findings if each.document is not None and each.document.path == path)
    return [each for each in own if each.place not in done]


def _applied(path: str, text: str, edits: Iterable[TextEdit]) -> str:
    """Return a file's text with its own edits, without those of modules beside it."""
    own = [edit for edit in edits if not edit.path]
    return apply_notebook_edits(text, own) if is_notebook(path) else apply_text_edits(text, own)


def _applied_fix(finding: Finding) -> AppliedFix:
    place, fix = finding.place, finding.fix
    return AppliedFix(
        code=finding.rule.code if finding.rule else "",
        message=finding.message,
        title=fix.title if fix else "",
        safe=fix.safe if fix else True,
        line=place.line if place else None,
        cell=(place.cell if place else None) or None,
    )
