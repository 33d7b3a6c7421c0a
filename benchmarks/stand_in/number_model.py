"""A model that is a list of numbers."""

import random
from collections.abc import Iterator

WEIGHTS = 64


class Parameter:
    """The weights, as far as anybody asks."""

    requires_grad = True

    def numel(self) -> int:
        """Their number."""
        return WEIGHTS


class Model:
    """Numbers that training changes, and the generator of the randomness in it."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - no secret
        self.weights = [self.dice.gauss(0, 1) for _ in range(WEIGHTS)]
        self.momentum = [0.0] * WEIGHTS

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        yield Parameter()

    def step(self) -> float:
        """Change the weights, and return a loss."""
        for index in range(WEIGHTS):
            self.momentum[index] = 0.9 * self.momentum[index] + self.dice.gauss(0, 0.01)
            self.weights[index] -= self.momentum[index]
        return sum(each * each for each in self.weights)
