"""What language models are trained to predict: which token at which position, whether padding too, and what they attend to.

The gradient of the logits shows it, whoever computes the loss: that of cross-entropy is the difference of the probabilities
and the token that a position is trained on. Labels alone do not: most models of transformers move them by one, and some, as
`BartForCausalLM` and `XLNetLMHeadModel`, do not. They are taken only where a loss has no logits.
Source: `ForCausalLMLoss` and the modeling files of transformers 5.23. Covered: loops and trainers, adapters, losses of any
origin. Not covered: models that are given embeddings, rows of which several make one, and losses without logits of a model
that is not the library's.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .events import EventWriter
from .guards import own_lines
from .libraries import torch
from .part_request import PartRequest
from .wrapping import when_imported, wrap

PAYLOAD = str(Path(__file__).absolute().parent.parent)
IGNORED = -100
"""The label of tokens that no loss counts."""
MATRIX = 2
"""Dimensions of rows of tokens."""
CUBE = 3
"""Dimensions of rows of logits."""
CAUSAL = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
"""How classes of models end that guess the next token."""
LABELLING = "ForTokenClassification"
"""How classes of models end that label each token where it stands."""
MANY = 8
"""Tokens that do not agree by chance."""
MOSTLY = 0.9
"""Share of the positions that make a rule: a loss of two parts may hide a few."""
PEAK = 0.25
"""Share of its position's gradient that cross-entropy gives the right token: it is half of it, where nothing is smoothed."""
REST = 0.25
"""Share of a position's gradient that may be another than that of cross-entropy: some losses have two parts, or are smoothed."""
LIBRARIES = ("transformers.", "peft.")
"""How modules begin whose models move labels by one, where a library computes their loss without logits."""
LOOKED_AT = 4
"""Gradients that are looked at: each is as large as the logits."""
NEXT = 1
"""How far a token is from the position that is to predict it."""
ALIGNED = (
    "Pass `labels` to the model and use the loss that it returns, or compare `logits[:, :-1]` with `labels[:, 1:]`."
)
MASKED = "Set the labels of padding to -100: `labels = input_ids.masked_fill(attention_mask == 0, -100)`; a collator has `label_pad_token_id`."
MOVED = "moved"
UNMOVED = "unmoved"
OWN = "own"
"""Who compares labels with logits: a model that moves the labels by one first, a model that does not, the script itself."""
WRONG = {
    (0, MOVED): (
        "each position is trained to predict its own token: the labels are moved by one to the right, and the model moves them back",
        "Pass the tokens themselves as `labels`, with -100 where nothing is to be trained.",
    ),
    (2, MOVED): (
        "each position is trained to predict the token after the next: the labels are moved by one, and the model moves them once more",
        "Pass the tokens themselves as `labels`, with -100 where nothing is to be trained.",
    ),
    (0, UNMOVED): (
        "each position is trained to predict its own token: this model compares labels with the positions that they stand at",
        "Move the labels by one to the left, `labels = input_ids[:, 1:]` for `logits[:, :-1]`, or compute the loss from the logits.",
    ),
    (0, OWN): ("each position is trained to predict its own token, not the next one", ALIGNED),
    (2, OWN): ("each position is trained to predict the token after the next", ALIGNED),
    (-1, OWN): ("each position is trained to predict the token before it", ALIGNED),
}
"""Causes and fixes of labels at the wrong distance, by that and by who compares them."""
SHIFTED, PADDED, INVERTED = "labels-misaligned", "padding-in-loss", "attention-mask-inverted"
INVERTED_LABELS = "Set labels to -100 where `attention_mask` is 0, not where it is 1."
_watches: list["Predictions"] = []


@dataclass(frozen=True)
class ModelInput:
    """What a model was given.

    Attributes:
        tokens: int64, (rows, tokens).
        attended: Which of them are no padding: bool, (rows, tokens).
        at: The file and the line of the script that called the model; None if a library did.
    """

    tokens: Any
    attended: Any
    at: tuple[str, int] | None = None


class Predictions:
    """Watches what models are trained to predict.

    Attributes:
        trained: Tokens that were trained on.
        padding: How many of them are padding.
        of_text: How many are tokens of the text.
        foreign: How many of these are trained to predict another token than the padding that follows.
    """

    def __init__(self, events: EventWriter, own: Callable[[FrameType], bool]) -> None:
        self._events, self._own = events, own
        self._gradients = 0
        self.trained = self.padding = self.of_text = self.foreign = 0

    def call(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of a model's call, and look at what it is given and what becomes of it."""
        output = original(model, *args, **kwargs)
        kind, given = _kind_of(model), _by_name(model, args, kwargs)
        if torch.is_grad_enabled() and _are_rows(given.get("input_ids")) and kind:
            self._look_at_call(model, kind, given, output)
        return output

    def _look_at_call(self, model: Any, kind: str, given: dict[str, Any], output: Any) -> None:
        """Look at a call that computes gradients: `kind` is the model's, `given` what it was given by name."""
        tokens: Any = given["input_ids"]
        mask: Any = given.get("attention_mask")
        batch = ModelInput(tokens, _attended(model, tokens, mask), self._own_place(sys._getframe(1)))
        if _is_like(mask, tokens):
            self._look_at_mask(batch)
        if kind != "other":
            is_known = type(_inner(model)).forward.__module__.startswith(LIBRARIES)
            ahead = NEXT if kind == "causal" else 0
            self._watch(batch, _own_labels(given), output, ahead=ahead, is_known=is_known)

    def _own_place(self, frame: FrameType | None) -> tuple[str, int] | None:
        """Return the file and the line of a call, where the script's own lines made it."""
        while frame and frame.f_code.co_filename.startswith(PAYLOAD):
            frame = frame.f_back
        return (frame.f_code.co_filename, frame.f_lineno) if frame and self._own(frame) else None

    def _look_at_mask(self, batch: ModelInput) -> None:
        """Tell of a mask that leaves out all but one token, again and again: that is the padding."""
        left, kept = batch.tokens[~batch.attended], batch.tokens[batch.attended]
        if len(left.unique()) < MANY or len(kept.unique()) > 1:
            return
        what = f"only the padding, token {int(kept[0])}," if len(kept) else "nothing"
        because = f"`attention_mask` is 0 for the {len(left)} tokens of the texts in a batch: the model attends to {what} and not to them"
        fix = (
            "Make `attention_mask` 1 for tokens of the text and 0 for padding, as a tokenizer does with `padding=True`."
        )
        self._events.fault(INVERTED, "tokenize", because, fix=fix, at=batch.at)

    def _watch(self, batch: ModelInput, labels: Any, output: Any, *, ahead: int, is_known: bool) -> None:
        """Have a batch looked at as soon as a loss of it is used.

        Args:
            batch: What the model was given.
            labels: Its labels: int64, (rows, tokens); -100 is ignored; None if it was given none.
            output: What it returned.
            ahead: How far from a position the label is that its loss compares it with.
            is_known: Whether it is a library's, which does so.
        """
        loss: Any = getattr(output, "loss", None)
        logits: Any = getattr(output, "logits", None)
        if _has_gradient(logits) and logits.dim() == CUBE and logits.shape[:2] == batch.tokens.shape:
            # Detached: a hook that holds the tensor itself would keep the whole graph.
            values = logits.detach()
            logits.register_hook(lambda gradient: self._look_at_gradient(batch, labels, values, gradient, ahead))
        elif is_known and labels is not None and _has_gradient(loss):
            targets = _moved(labels, ahead)
            loss.register_hook(
                lambda gradient: (
                    self._look(batch, targets, ahead, MOVED) if gradient is not None and gradient.any() else None
                )
            )

    def _look_at_gradient(self, batch: ModelInput, labels: Any, logits: Any, gradient: Any, ahead: int) -> None:
        """Look at a batch whose loss was computed from the logits.

        Args:
            batch: What the model was given.
            labels: Its labels, or None.
            logits: What it returned: (rows, tokens, classes).
            gradient: The gradient of these, of the same shape.
            ahead: How far from a position the token is that it is to predict.
        """
        if self._gradients == LOOKED_AT:
            return
        self._gradients += 1
        targets = _targets_of(logits, gradient.detach())
        self._look(batch, targets, ahead, _who_compares(labels, targets, ahead))

    def _look(self, batch: ModelInput, targets: Any, ahead: int, compared_by: str) -> None:
        """Look at what each position is trained to predict.

        Args:
            batch: What the model was given.
            targets: int64, (rows, tokens); -100 is ignored.
            ahead: How far the right token is from the position.
            compared_by: Who compares labels with logits.
        """
        trained, width = targets != IGNORED, 2 * ahead + 1
        # What stands beside padding may be the text's end, or predict its beginning.
        near = torch.nn.functional.max_pool1d(batch.attended.float(), width, stride=1, padding=ahead) > 0
        self.trained += int(trained.sum())
        self.padding += int((trained & ~near).sum())
        self.of_text += int((trained & _moved(batch.attended.long(), ahead).eq(1)).sum())
        if ahead:
            wrong = trained[:, :-ahead] & ~near[:, :-ahead] & (targets[:, :-ahead] != batch.tokens[:, ahead:])
            self.foreign += int(wrong.sum())
            distance = _distance(batch, targets)
            if distance is not None and (distance, compared_by) in WRONG:
                because, fix = WRONG[distance, compared_by]
                self._events.fault(SHIFTED, "step", because, fix=fix, at=batch.at)

    def judge(self) -> None:
        """Tell of padding among what was trained on: where it is most of it, little else was learnt."""
        if self._events.has_reported(INVERTED):
            return
        if self.trained >= MANY and not self.of_text:
            because = f"all {self.trained} tokens that are trained on are padding: their labels are not -100, and those of the text are"
            self._events.fault(PADDED, "tokenize", because, fix=INVERTED_LABELS)
            return
        if not self.padding:
            return
        because = (
            f"{self.padding} of the {self.trained} tokens that are trained on are padding: their labels are not -100"
        )
        if self.foreign >= max(MANY, MOSTLY * self.padding):
            because = f"{because}, but another token than the padding itself"
            self._events.fault(PADDED, "tokenize", because, fix=MASKED)
        elif self.padding * 2 > self.trained:
            self._events.fault(PADDED, "tokenize", because, fix=MASKED)
        else:
            self._events.warning(PADDED, "tokenize", because)


def _inner(model: Any) -> Any:
    """Return the model under an adapter, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _by_name(model: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return what a model is given, by the names that its `forward` has."""
    _, *names = inspect.signature(type(_inner(model)).forward).parameters
    given: dict[str, Any] = dict(zip(names, args, strict=False)) | kwargs
    return given


def _kind_of(model: Any) -> str:
    """Return `causal`, `labelling` or `other` of a model with a head; nothing of one without."""
    inner = _inner(model)
    name = type(inner).__name__
    if getattr(inner.config, "is_encoder_decoder", False) or ("For" not in name and not name.endswith(CAUSAL)):
        return ""
    return "causal" if name.endswith(CAUSAL) else "labelling" if name.endswith(LABELLING) else "other"


def _are_rows(tokens: Any) -> bool:
    """True of rows of whole numbers."""
    return torch.is_tensor(tokens) and tokens.dim() == MATRIX and not tokens.is_floating_point()


def _is_like(other: Any, tokens: Any) -> bool:
    return torch.is_tensor(other) and bool(other.shape == tokens.shape)


def _attended(model: Any, tokens: Any, mask: Any) -> Any:
    """Return which tokens are no padding: bool, (rows, tokens)."""
    if mask is None:
        return ~_padded(tokens, _paddings(model))
    return mask != 0 if _is_like(mask, tokens) else torch.ones_like(tokens, dtype=torch.bool)


def _own_labels(given: dict[str, Any]) -> Any:
    """Return the labels of a model's own tokens; None if it was given none, or others too."""
    labels: Any = given.get("labels")
    own = _are_rows(labels) and _is_like(labels, given["input_ids"]) and given.get("shift_labels") is None
    return labels if own else None


def _paddings(model: Any) -> set[int]:
    """Return the tokens that a model's rows may be padded with, as far as its configuration tells."""
    config: Any = _inner(model).config
    values = [
        getattr(each, name, None)
        for each in (config, getattr(config, "text_config", config))
        for name in ("pad_token_id", "eos_token_id")
    ]
    listed = [each for value in values for each in (value if isinstance(value, list | tuple) else [value])]
    return {each for each in listed if isinstance(each, int)}


def _padded(tokens: Any, paddings: set[int]) -> Any:
    """Return which tokens are padding in rows that came without a mask: bool, (rows, tokens).

    Long runs of a padding token at an end of a row are; a text may end with one or two.
    """
    padded = torch.zeros_like(tokens, dtype=torch.bool)
    for padding in paddings:
        same = (tokens == padding).long()
        for run in (same.cumprod(dim=1), same.flip(1).cumprod(dim=1).flip(1)):
            length = run.sum(dim=1, keepdim=True)
            padded |= (run > 0) & (length >= MANY) & (length < tokens.shape[1])
    return padded


def _moved(labels: Any, ahead: int) -> Any:
    """Return labels at the positions that are to predict them: int64, (rows, tokens); -100 is ignored."""
    targets = torch.full_like(labels, IGNORED)
    targets[:, : labels.shape[1] - ahead] = labels[:, ahead:]
    return targets


def _targets_of(logits: Any, gradient: Any) -> Any:
    """Return which class each position is trained to have; -100 where its gradient is none of cross-entropy.

    With probabilities p that is w · (p - 1) at the right class and w · p at each other, for some weight w.
    """
    sizes = gradient.float().abs()
    total, (peaks, classes) = sizes.sum(dim=-1), sizes.max(dim=-1)
    at_peak, one = classes.unsqueeze(-1), torch.ones_like(peaks).unsqueeze(-1)
    expected = logits.float().softmax(dim=-1).scatter_add_(-1, at_peak, -one).abs()
    weight = peaks.unsqueeze(-1) / expected.gather(-1, at_peak).clamp(min=torch.finfo(torch.float32).tiny)
    rest = (sizes - weight * expected).abs().sum(dim=-1)
    is_clear = (peaks > PEAK * total) & (rest <= REST * total)
    return torch.where(is_clear, classes, IGNORED)


def _who_compares(labels: Any, targets: Any, ahead: int) -> str:
    """Return who compares labels with logits, from what a model was given and what its positions are trained on."""
    trained = targets != IGNORED
    if labels is None or not trained.any():
        return OWN
    shares = {
        who: float((_moved(labels, far)[trained] == targets[trained]).float().mean())
        for who, far in ((MOVED, ahead), (UNMOVED, 0))
    }
    who = max(shares, key=lambda each: shares[each])
    return who if shares[who] >= MOSTLY else OWN


def _has_gradient(tensor: Any) -> bool:
    return torch.is_tensor(tensor) and bool(tensor.requires_grad)


def _distance(batch: ModelInput, targets: Any) -> int | None:
    """Return the distance from the tokens to the positions that are trained to predict them; None if it is not the same for most.

    Told from positions whose own token and the next two are different: text that repeats itself says nothing.
    """
    tokens, attended = batch.tokens, batch.attended
    if tokens.shape[1] < MANY:
        return None
    here, after, third = tokens[:, 1:-2], tokens[:, 2:-1], tokens[:, 3:]
    scored = (targets[:, 1:-2] != IGNORED) & attended[:, 1:-2] & attended[:, 2:-1] & attended[:, 3:]
    scored &= (here != after) & (after != third) & (here != third) & (tokens[:, :-3] != after)
    count, wanted = int(scored.sum()), targets[:, 1:-2][scored]
    if count < MANY:
        return None
    near = {-1: tokens[:, :-3], 0: here, NEXT: after, 2: third}
    shares = {distance: float((each[scored] == wanted).float().mean()) for distance, each in near.items()}
    distance = max(shares, key=lambda each: shares[each])
    return distance if shares[distance] >= MOSTLY else None


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Watch the calls of models."""
    watch = Predictions(events, own_lines(part_request))
    _watches[:] = [watch]
    when_imported("transformers.modeling_utils", lambda module: wrap(module.PreTrainedModel, "__call__", watch.call))
    when_imported("peft.peft_model", lambda module: wrap(module.PeftModel, "__call__", watch.call))


def judge() -> None:
    """Judge what the models of a script that has come to its end were trained to predict."""
    for watch in _watches:
        watch.judge()
