"""Streams of steps that are made up, and so can be counted by hand."""

from holdfast.payload.tracing.request import TAGS, TraceAnswer, TraceMark

WEIGHT, GRADIENT, STATE, HIDDEN = (TAGS.index(name) for name in ("weights", "gradients", "optimizer", "activations"))


def made_stream(layers: int, *, kept: int = 1024, state: int = 4096) -> TraceAnswer:
    """Return a step of layers with a weight each, that keep something and have a gradient each; the optimizer keeps a state of each."""
    sizes: list[int] = []
    tags: list[int] = []
    events: list[int] = []
    marks = [TraceMark(0, "load", -1)]

    def born(size: int, tag: int) -> int:
        sizes.append(size)
        tags.append(tag)
        events.append(len(sizes))
        return len(sizes)

    for _ in range(layers):
        born(2048, WEIGHT)
    hidden = []
    for layer in range(layers):
        marks.append(TraceMark(len(events), "forward", layer))
        hidden.append(born(kept, HIDDEN))
    marks.append(TraceMark(len(events), "loss", -1))
    gradients = []
    for layer in reversed(range(layers)):
        marks.append(TraceMark(len(events), "backward", layer))
        gradients.append(born(2048, GRADIENT))
        events.append(-hidden[layer])
    marks.append(TraceMark(len(events), "optimizer", -1))
    for _ in range(layers):
        born(state, STATE)
    events.extend(-each for each in gradients)
    return TraceAnswer(layers=layers, sizes=tuple(sizes), tags=tuple(tags), events=tuple(events), marks=tuple(marks))
