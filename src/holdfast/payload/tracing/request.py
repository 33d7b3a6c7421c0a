"""What is asked of a trace, and what it answers."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

WeightDtype = Literal["float32", "float16", "bfloat16"]
LossKind = Literal["logits", "fused", "chunked", "chunked_float32", "liger", "score"]
Shifting = Literal["model", "copy", "labels"]
AttentionChoice = Literal["flash", "sdpa", "eager"]
TracedMethod = Literal["sft", "dpo", "kto", "reward", "grpo", "rloo"]
TracedPhase = Literal["load", "forward", "loss", "reference", "backward", "optimizer", "evaluation"]
TAGS = ("weights", "gradients", "optimizer", "activations", "logits", "reference")
"""Purposes of a storage; the answer gives each by its place here."""


@dataclass(frozen=True)
class AdapterRequest:
    """A LoRA adapter.

    Attributes:
        rank: `r`.
        targets: Names of the modules that it goes to.
        dtype: Of its weights.
        dropout: Of its inputs.
    """

    rank: int
    targets: tuple[str, ...]
    dtype: WeightDtype = "float32"
    dropout: float = 0.0


@dataclass(frozen=True)
class QuantizationRequest:
    """Weights in 4 bits, as bitsandbytes holds them.

    Attributes:
        nested: Whether the scales of blocks are quantized themselves.
        float32_norms: Whether norms are turned to float32.
    """

    nested: bool = False
    float32_norms: bool = False


@dataclass(frozen=True)
class OptimizerRequest:
    """An optimizer.

    Attributes:
        name: `adamw_torch`, `adamw_torch_fused` or `sgd` are torch's own; of others the states are allocated as said.
        states: Tensors of the parameters' size that it keeps.
        bytes: Of an element of these; 0 for those of the parameter.
        copies: Tensors of that size that a step allocates and frees.
        wide_embeddings: Whether the states of the embedding are in float32.
    """

    name: str = "adamw_torch_fused"
    states: int = 2
    bytes: float = 0
    copies: int = 0
    wide_embeddings: bool = False


@dataclass(frozen=True)
class TraceRequest:
    """A training step.

    Attributes:
        config: `config.json`.
        layers: Layers of the decoder that are built; 0 for all.
        method: The training method.
        rows: Texts of a micro-batch. Of DPO and reward models half are chosen and half rejected.
        length: Tokens of a text, with padding.
        eval_rows: Texts of an evaluation batch; 0 without evaluation.
        completion: Tokens of a text that are scored; 0 for all.
        accumulation: Whether gradients of an earlier micro-batch are there.
        dtype: Of the weights as loaded.
        autocast: What autocast computes in; empty without.
        head: How the loss comes from the last hidden states.
        shift: Where full logits are shifted: `model` with a cast inside the model, `copy` in the loss, `labels` not at all.
        overwrites: Whether a fused cross entropy writes gradients over the shifted copy.
        metric_copies: Whether the trainer makes a shifted copy of the logits for its metrics.
        checkpointing: Whether layers are computed again in the backward pass.
        reentrant: Whether that is the older way.
        attention: The kernel of attention.
        masked: Whether attention gets a mask.
        flattened: Whether the rows are one long row.
        fused: Parts that fused kernels compute: `norm`, `mlp`.
        adapter: What is trained instead of the model.
        quantization: Of the weights that are not trained.
        optimizer: The optimizer.
        reference: Whether there is a second, frozen copy of the model.
        scores_reference: Whether each row goes forward through the reference too.
    """

    config: dict[str, Any]
    layers: int
    rows: int
    length: int
    method: TracedMethod = "sft"
    eval_rows: int = 0
    completion: int = 0
    accumulation: bool = False
    dtype: WeightDtype = "bfloat16"
    autocast: str = ""
    head: LossKind = "fused"
    shift: Shifting = "labels"
    overwrites: bool = False
    metric_copies: bool = False
    checkpointing: bool = True
    reentrant: bool = False
    attention: AttentionChoice = "sdpa"
    masked: bool = False
    flattened: bool = False
    fused: tuple[str, ...] = ()
    adapter: AdapterRequest | None = None
    quantization: QuantizationRequest | None = None
    optimizer: OptimizerRequest = field(default_factory=OptimizerRequest)
    reference: bool = False
    scores_reference: bool = False

    def written(self) -> str:
        """Return it as JSON, as `read_request` reads it."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class TraceMark:
    """Where a part of a phase begins.

    Attributes:
        event: The number of events before it.
        phase: The phase.
        layer: The layer at work; -1 before the first, or where there is none; -2 in the backward pass of the loss.
    """

    event: int
    phase: TracedPhase
    layer: int


@dataclass(frozen=True)
class TraceAnswer:
    """Every allocation of one step, or why there is none.

    Attributes:
        problem: Why the step could not be traced; empty if it was.
        layers: Layers that were built.
        parameters: Parameters of what was built, with those of an adapter.
        trained: Those that are trained.
        sizes: Bytes of each allocation.
        tags: The purpose of each, as its place in `TAGS`.
        events: `n + 1` where allocation `n` begins, `-(n + 1)` where it ends.
        marks: Where phases begin, in order.
        operations: Operations that were dispatched.
        emulated: What stood in for code that runs on GPUs alone.
        versions: Releases of the libraries.
        elapsed_s: Time that it took, without imports.
    """

    problem: str = ""
    layers: int = 0
    parameters: int = 0
    trained: int = 0
    sizes: tuple[int, ...] = ()
    tags: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
    marks: tuple[TraceMark, ...] = ()
    operations: int = 0
    emulated: tuple[str, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    elapsed_s: float = 0.0

    def written(self) -> str:
        """Return it as JSON, as `read_answer` reads it."""
        return json.dumps(asdict(self))


def read_request(text: str) -> TraceRequest:
    """Return a request from its JSON.

    >>> request = TraceRequest(config={}, layers=2, rows=1, length=8, adapter=AdapterRequest(8, ("q_proj",)))
    >>> read_request(request.written()) == request
    True
    """
    values = json.loads(text)
    values["fused"] = tuple(values["fused"])
    values["optimizer"] = OptimizerRequest(**values["optimizer"])
    if adapter := values["adapter"]:
        values["adapter"] = AdapterRequest(**{**adapter, "targets": tuple(adapter["targets"])})
    if quantization := values["quantization"]:
        values["quantization"] = QuantizationRequest(**quantization)
    return TraceRequest(**values)


def read_answer(text: str) -> TraceAnswer:
    """Return an answer from its JSON.

    >>> answer = TraceAnswer(sizes=(4,), tags=(0,), events=(1, -1), marks=(TraceMark(0, "load", -1),))
    >>> read_answer(answer.written()) == answer
    True
    """
    values = json.loads(text)
    values["marks"] = tuple(TraceMark(**each) for each in values["marks"])
    values["versions"] = tuple((name, release) for name, release in values["versions"])
    values |= {name: tuple(values[name]) for name in ("sizes", "tags", "events", "emulated")}
    return TraceAnswer(**values)
