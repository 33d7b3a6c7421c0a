"""What language models are trained to predict: which token at which position, whether padding too, and what they attend to.

Where the loss is the model's own, its labels say so, and the model moves them by one itself. Where the script computes a loss
from the logits, their gradient says so: that of cross-entropy is the largest at the token that a position is trained on.
Source: `ForCausalLMLoss` of transformers 5.23. Covered: loops and trainers, adapters, losses of any origin. Not covered: models
that are given embeddings, rows of which several make one, and losses that neither come with the output nor from its logits.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .guards import own_lines
from .libraries import torch
from .order import PartRequest
from .telling import EventWriter
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
LOOKED_AT = 4
"""Gradients that are looked at: each is as large as the logits."""
NEXT = 1
"""How far a token is from the position that is to predict it."""
ALIGNED = (
    "Pass `labels` to the model and use the loss that it returns, or compare `logits[:, :-1]` with `labels[:, 1:]`."
)
MASKED = "Set the labels of padding to -100: `labels = input_ids.masked_fill(attention_mask == 0, -100)`; a collator has `label_pad_token_id`."
WRONG = {
    (0, True): (
        "each position is trained to predict its own token: the labels are moved by one to the right, and the model moves them back",
        "Pass the tokens themselves as `labels`, with -100 where nothing is to be trained.",
    ),
    (2, True): (
        "each position is trained to predict the token after the next: the labels are moved by one, and the model moves them once more",
        "Pass the tokens themselves as `labels`, with -100 where nothing is to be trained.",
    ),
    (0, False): ("each position is trained to predict its own token, not the next one", ALIGNED),
    (2, False): ("each position is trained to predict the token after the next", ALIGNED),
    (-1, False): ("each position is trained to predict the token before it", ALIGNED),
}
"""Causes and fixes of labels at the wrong distance, by that and by whether the model moves them."""
SHIFTED, PADDED, INVERTED = "labels-misaligned", "padding-in-loss", "attention-mask-inverted"
_watches: list["Predictions"] = []


@dataclass(frozen=True)
class ModelInput:
    """What a model was given.

    Attributes:
        tokens: int64, (rows, tokens).
        attended: Which of them are no padding: bool, (rows, tokens).
        at: The file and the line of the script that called the model; None where a library did.
    """

    tokens: Any
    attended: Any
    at: tuple[str, int] | None = None


class Predictions:
    """Watches what models are trained to predict.

    Attributes:
        trained: Tokens that were trained on.
        padding: How many of them are padding.
    """

    def __init__(self, tell: EventWriter, own: Callable[[FrameType], bool]) -> None:
        self._tell, self._own = tell, own
        self._gradients = 0
        self.trained = self.padding = 0

    def call(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of a model's call, and look at what it is given and what becomes of it."""
        output = original(model, *args, **kwargs)
        kind = _kind_of(model)
        tokens: Any = kwargs.get("input_ids", args[0] if args else None)
        if not torch.is_grad_enabled() or not _are_rows(tokens) or not kind:
            return output
        mask: Any = kwargs.get("attention_mask", args[1] if len(args) > 1 else None)
        has_mask = torch.is_tensor(mask) and mask.shape == tokens.shape
        attended = mask != 0 if has_mask else torch.ones_like(tokens, dtype=torch.bool)
        batch = ModelInput(tokens, attended, self._own_place(sys._getframe(1)))
        if has_mask:
            self._look_at_mask(batch)
        if kind != "other":
            self._watch(batch, kwargs, output, ahead=NEXT if kind == "causal" else 0)
        return output

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
        self._tell.wrong(INVERTED, "tokenize", because, fix=fix, at=batch.at)

    def _watch(self, batch: ModelInput, given: Any, output: Any, *, ahead: int) -> None:
        """Have a batch looked at as soon as a loss of it is used.

        Args:
            batch: What the model was given.
            given: Its further arguments.
            output: What it returned.
            ahead: How far from a position the label is that its loss compares it with.
        """
        labels: Any = given.get("labels")
        loss: Any = getattr(output, "loss", None)
        logits: Any = getattr(output, "logits", None)
        own = _are_rows(labels) and labels.shape == batch.tokens.shape and given.get("shift_labels") is None
        if own and _has_gradient(loss):
            targets = torch.full_like(labels, IGNORED)
            targets[:, : labels.shape[1] - ahead] = labels[:, ahead:]
            loss.register_hook(lambda gradient: self._look(batch, targets, ahead, own=True) if gradient.any() else None)
        if ahead and _has_gradient(logits) and logits.dim() == CUBE and logits.shape[:2] == batch.tokens.shape:
            logits.register_hook(lambda gradient: self._look_at_gradient(batch, gradient))

    def _look_at_gradient(self, batch: ModelInput, gradient: Any) -> None:
        """Look at a batch whose loss was computed from the logits."""
        if self._gradients < LOOKED_AT:
            self._gradients += 1
            sizes = gradient.detach().abs()
            peaks, tokens = sizes.max(dim=-1)
            is_clear = peaks > PEAK * sizes.sum(dim=-1)
            self._look(batch, torch.where(is_clear, tokens, IGNORED), NEXT, own=False)

    def _look(self, batch: ModelInput, targets: Any, ahead: int, *, own: bool) -> None:
        """Look at what each position is trained to predict.

        Args:
            batch: What the model was given.
            targets: int64, (rows, tokens); -100 is ignored.
            ahead: How far the right token is from the position.
            own: Whether the model's own loss says so.
        """
        trained, width = targets != IGNORED, 2 * ahead + 1
        # What stands beside padding may be the text's end, or predict its beginning.
        near = torch.nn.functional.max_pool1d(batch.attended.float(), width, stride=1, padding=ahead) > 0
        self.trained += int(trained.sum())
        self.padding += int((trained & ~near).sum())
        if ahead:
            distance = _distance(batch, targets)
            if distance is not None and (distance, own) in WRONG:
                because, fix = WRONG[distance, own]
                self._tell.wrong(SHIFTED, "step", because, fix=fix, at=batch.at)

    def judge(self) -> None:
        """Tell of padding among what was trained on: where it is most of it, little else was learnt."""
        if not self.padding or self._tell.has_told(INVERTED):
            return
        because = (
            f"{self.padding} of the {self.trained} tokens that are trained on are padding: their labels are not -100"
        )
        if self.padding * 2 > self.trained:
            self._tell.wrong(PADDED, "tokenize", because, fix=MASKED)
        else:
            self._tell.doubt(PADDED, "tokenize", because)


def _kind_of(model: Any) -> str:
    """Return `causal`, `labelling` or `other` of a model with a head; nothing of one without."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    name = type(inner).__name__
    if getattr(inner.config, "is_encoder_decoder", False) or ("For" not in name and not name.endswith(CAUSAL)):
        return ""
    return "causal" if name.endswith(CAUSAL) else "labelling" if name.endswith(LABELLING) else "other"


def _are_rows(tokens: Any) -> bool:
    """True of rows of whole numbers."""
    return torch.is_tensor(tokens) and tokens.dim() == MATRIX and not tokens.is_floating_point()


def _has_gradient(tensor: Any) -> bool:
    return torch.is_tensor(tensor) and bool(tensor.requires_grad)


def _distance(batch: ModelInput, targets: Any) -> int | None:
    """Return the distance from the tokens to the positions that are trained to predict them; None where it is not the same for most.

    Told from positions whose own token and the next two are different: text that repeats itself says nothing.
    """
    tokens, attended = batch.tokens, batch.attended
    if tokens.shape[1] < MANY:
        return None
    here, after, third = tokens[:, 1:-2], tokens[:, 2:-1], tokens[:, 3:]
    told = (targets[:, 1:-2] != IGNORED) & attended[:, 1:-2] & attended[:, 2:-1] & attended[:, 3:]
    told &= (here != after) & (after != third) & (here != third) & (tokens[:, :-3] != after)
    count, wanted = int(told.sum()), targets[:, 1:-2][told]
    if count < MANY:
        return None
    near = {-1: tokens[:, :-3], 0: here, NEXT: after, 2: third}
    shares = {distance: float((each[told] == wanted).float().mean()) for distance, each in near.items()}
    distance = max(shares, key=lambda each: shares[each])
    return distance if shares[distance] >= MOSTLY else None


def install(order: PartRequest, tell: EventWriter) -> None:
    """Watch the calls of models."""
    watch = Predictions(tell, own_lines(order))
    _watches[:] = [watch]
    when_imported("transformers.modeling_utils", lambda module: wrap(module.PreTrainedModel, "__call__", watch.call))
    when_imported("peft.peft_model", lambda module: wrap(module.PeftModel, "__call__", watch.call))


def judge() -> None:
    """Judge what the models of a script that has come to its end were trained to predict."""
    for watch in _watches:
        watch.judge()
