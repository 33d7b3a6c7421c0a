"""A program as it is when its command line gives nothing: its options have their defaults, which any command line may override."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.core.check.finding import Finding, Severity, Skip
from holdfast.core.job.document import parse_key, render_key
from holdfast.engine.check.renamed import without_known


def add_by_default(results: Sequence[Finding | Skip], by_default: Sequence[Finding | Skip]) -> Iterator[Finding | Skip]:
    """Yield the results for a program, and those that its defaults bring, as warnings; what the defaults decide is not skipped.

    Args:
        results: The results where any option may have any value.
        by_default: The results where each option has its default.
    """
    found = [each for each in results if isinstance(each, Finding)]
    undecided = {each.rule.code for each in results if isinstance(each, Skip)}
    yield from found
    yield from (each for each in by_default if isinstance(each, Skip) and each.rule.code in undecided)
    later = [each for each in by_default if isinstance(each, Finding)]
    yield from map(_as_warning, without_known(found, later))


def _as_warning(finding: Finding) -> Finding:
    """Return a finding as a warning that says which default it rests on; an option's value is not for a fix to write over."""
    message = f"{finding.message} ({_origin(finding)}, which the command line may override)"
    return replace(finding, severity=Severity.WARNING, message=message, fix=None)


def _origin(finding: Finding) -> str:
    *owner, name = parse_key(finding.key) or ("",)
    call = finding.document.call(render_key(tuple(owner))) if finding.document else None
    option = call.options.get(str(name)) if call else None
    return f"by the default of `{option.name}`" if option else "by the defaults of its options"
