"""Running the rules on a program's documents several times: at other versions, for other numbers of processes.

What is the same each time is found out once: which rules concern a document, and all facts but the API of the versions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdfast.core.check.finding import Finding, Rule, Skip
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_count
from holdfast.engine.check.gather import gather
from holdfast.engine.check.hub_facts import applicable_rules
from holdfast.engine.check.process_counts import check_any_count, check_one_process
from holdfast.engine.check.program_facts import ProgramFacts, VersionContext, api_at, is_launched, trains_on_cpu
from holdfast.engine.check.renamed import check_with_renames, without_known
from holdfast.engine.check.rule_runner import MissingFact, RuleRunner, needed_facts

Results = list[Finding | Skip]
API, PROCESSES = "api", "processes"
ELSEWHERE = "a script does not say where it will run"


class Passes:
    """The passes of one check over the documents of a program.

    Attributes:
        context: What the program is checked against.
    """

    def __init__(self, context: VersionContext) -> None:
        self.context = context
        self._subjects: dict[int, _Subject] = {}

    def run(self, rules: Sequence[Rule], documents: Iterable[Document], at: Mapping[str, str]) -> Results:
        """Return the findings and skips at some versions; those that several documents share are returned once."""
        results: Results = []
        for document in documents:
            found = check_with_renames(document, lambda each: self.run_one(rules, each, at))
            results += list(without_known(results, found))
        return results

    def run_one(self, rules: Sequence[Rule], document: Document, at: Mapping[str, str]) -> Iterator[Finding | Skip]:
        """Yield the findings and skips for one document as it is; for a script without a launcher, those for one process."""
        if id(document) not in self._subjects:
            self._subjects[id(document)] = _Subject(document, self.context)
        return self._subjects[id(document)].run(rules, at)


class _Subject:
    """A document that rules are run on, with what is known of it so far."""

    def __init__(self, document: Document, context: VersionContext) -> None:
        self._runner, self._facts = RuleRunner(document), ProgramFacts(context, document)
        self._known: dict[str, object | MissingFact] = {}

    def run(self, rules: Sequence[Rule], at: Mapping[str, str]) -> Iterator[Finding | Skip]:
        """Yield the findings and skips of some rules at some versions."""
        document = self._runner.document
        counted = is_launched(document) or trains_on_cpu(document)
        concerned = list(applicable_rules(rules, document, self._facts))
        counting = [rule for rule in concerned if PROCESSES in rule.needs]
        uncounted = [] if counted else counting
        known = {**self._gathered(concerned), API: api_at(at)}
        yield from self._runner.run((rule for rule in concerned if rule not in uncounted), known)
        if uncounted:
            yield from check_one_process(lambda count: self._runner.run(uncounted, {**known, PROCESSES: count}))
        elif counting and not is_count(known[PROCESSES]):
            yield from check_any_count(lambda count: self._runner.run(counting, {**known, PROCESSES: count}))

    def _gathered(self, rules: Iterable[Rule]) -> Mapping[str, object | MissingFact]:
        """Return the facts that some rules need, each of which is looked up once."""
        lacking = needed_facts(rules) - {API} - self._known.keys()
        self._known |= gather(lacking, self._facts, otherwise=ELSEWHERE, awaited=self._facts.awaited)
        return self._known
