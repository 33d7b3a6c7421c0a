"""What is left of a text when the trainer has cut it, and whether the trainer takes it at all.

Source: the trainers of TRL 1.16. The one for supervised fine-tuning leaves out a row without labels, those for pairs and
for single judged answers one whose prompt fills `max_length`, and that of reward models a pair that is too long.
"""

from collections.abc import Sequence

from holdfast.core.job.methods import Method
from holdfast.engine.tokens.preparing import Sequenced
from holdfast.engine.tokens.recipe import Recipe


def kept_span(sequence: Sequenced, recipe: Recipe) -> tuple[int, int]:
    """Return between which places the ids of a text are kept."""
    size, limit = len(sequence.ids), recipe.max_length
    if limit is None or not recipe.cuts:
        return 0, size
    if recipe.keep_end and not recipe.packing:
        return max(0, size - limit), size
    return 0, min(size, limit)


def is_left_out(sequences: Sequence[Sequenced], recipe: Recipe) -> bool:
    """True if the trainer takes no notice of a row, or of one answer where answers stand alone."""
    limit = recipe.max_length
    if limit is None or recipe.packing or recipe.method.generates:
        return False
    return any(_leaves_out(each, recipe, limit) for each in sequences)


def _leaves_out(sequence: Sequenced, recipe: Recipe, limit: int) -> bool:
    """True if a trainer takes no row that has such a text."""
    if recipe.method is Method.SFT:
        return not sequence.labels(*kept_span(sequence, recipe))
    if recipe.method is Method.REWARD:
        return len(sequence.ids) > limit
    return not recipe.keep_end and sequence.prompt >= limit
