"""Fixing what was found: every fix that can be made at once, and again until none is left."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import structs

from holdfast.adapters.readers.notebook_edits import apply_notebook_edits
from holdfast.adapters.storage.write_back import write_back
from holdfast.adapters.targets import Target, read_text
from holdfast.app.check.target import check_rules, check_target, read_check_target
from holdfast.app.check.target_request import COMMAND_LINE, TargetRequest
from holdfast.core.document import Rename
from holdfast.core.errors import GroupedError, JobError, MisspeltKeyError, UsageError, flatten
from holdfast.core.finding import Finding
from holdfast.core.notebook import is_notebook
from holdfast.core.target_kind import STANDARD_INPUT
from holdfast.core.text import TextEdit, apply_text_edits
from holdfast.engine.check.answers import UNREADABLE
from holdfast.engine.check.fixes import combine_fixes, render_diff
from holdfast.results.check import AppliedFix, TargetResult

UNWRITABLE = {STANDARD_INPUT: "standard input", COMMAND_LINE: "a command line"}
ROUNDS = 10
"""A fix may be in the way of another, or bring to light what another rule objects to; more would be two that quarrel."""


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

    def texts(self, path: str) -> Iterator[tuple[str, str, str]]:
        """Yield each file that changes: its path, its text before and after."""
        yield path, self.before, self.after
        for other, edits in self.beside.items():
            text = read_text(other)
            yield other, text, apply_text_edits(text, edits)


def answer_fixed(request: TargetRequest, *, unsafe: bool, write: bool, alone: bool = False) -> TargetResult:
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
    if write and request.path in UNWRITABLE:
        raise UsageError(f"{UNWRITABLE[request.path]} cannot be written", where=request.path, fix="use `--diff`")
    source = _fixed_source(request, unsafe=unsafe)
    texts = list(source.texts(request.path)) if source and (source.fixed or source.renamed) else []
    for path, _, after in texts if write else ():
        write_back(path, after)
    still_broken = not write and source is not None and bool(source.renamed)
    if source is None:
        return _unfixed(request, alone=alone)
    result = check_target(request, alone=alone and not still_broken).result
    diff = "".join(render_diff(path, before, after) for path, before, after in texts)
    fixed = [*source.renamed, *map(_applied_fix, source.fixed)]
    return structs.replace(result, fixed=fixed, diff=None if write else diff)


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
        text = _applied(request.path, source.after, (edit for edit in made.edits if not edit.path))
        if text == source.after and not made.fixed:
            break
        try:
            target = read_check_target(request, text)
        except (UsageError, ExceptionGroup):  # what cannot be read is no better
            break
        source.after = text
        source.fixed += made.fixed
        for edit in made.edits:
            if edit.path:
                source.beside.setdefault(edit.path, set()).add(edit)
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
    if is_notebook(path):
        return apply_notebook_edits(text, edits)
    return apply_text_edits(text, edits)


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
