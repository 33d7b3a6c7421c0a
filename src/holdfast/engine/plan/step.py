"""A training step, with everything that decides its memory."""

from dataclasses import dataclass, field
from typing import Final, Literal

from holdfast.catalog.optimizers import OptimizerMemory
from holdfast.core.job.methods import Method
from holdfast.engine.plan.architecture import Architecture
from holdfast.engine.plan.parameters import adapter_parameters, expert_adapter_parameters, total_parameters

HeadKind = Literal["logits", "chunked_float32", "chunked", "fused", "liger", "score"]
LogitsShift = Literal["model", "copy", "labels"]
"""Where full logits are shifted: in the model, which casts them first; by a copy in the loss; or not at all, for labels are."""
AttentionKernel = Literal["flash", "sdpa", "eager"]
ShardingStrategy = Literal["none", "ddp", "fsdp", "zero1", "zero2", "zero3"]
FusedKernel = Literal["norm", "mlp"]
FLOAT32: Final = 4
FLOAT16: Final = 2
PAIRED: Final = (Method.DPO, Method.REWARD)
"""Methods whose rows are two texts."""


def rows_each(method: Method) -> int:
    """Return the texts of one row.

    >>> rows_each(Method.DPO), rows_each(Method.SFT)
    (2, 1)
    """
    return 2 if method in PAIRED else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerics:
    """Bytes of an element.

    Attributes:
        weights: Of the model's weights as loaded, and of their gradients if they are trained.
        compute: Of what matrix products read and give.
        residual: Of the residual stream, and so of what a checkpoint keeps.
        mlp: Of what is between the projections of an MLP.
        autocast: Whether matrix products cast their inputs, and copies of weights in float32.
    """

    weights: int = FLOAT16
    compute: int = FLOAT16
    residual: int = FLOAT16
    mlp: int = FLOAT16
    autocast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraAdapter:
    """A LoRA adapter.

    Attributes:
        rank: `r`.
        targets: The projections that it goes to, by their usual names.
        bytes: Of an element of its weights.
        dropout: Whether its inputs go through dropout.
        experts: Whether it goes to the experts of a mixture, too.
        router: Whether it goes to their router, too.
    """

    rank: int
    targets: frozenset[str]
    bytes: int = FLOAT32
    dropout: bool = False
    experts: bool = False
    router: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightQuantization:
    """Weights in few bits, as bitsandbytes holds them.

    Attributes:
        bits: 4 or 8.
        nested: Whether the scales of 4-bit blocks are quantized themselves (`bnb_4bit_use_double_quant`).
    """

    bits: int = 4
    nested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LossHead:
    """How the loss comes from the last hidden states.

    Attributes:
        kind: Whether there are logits, and of how many tokens at once.
        forward: Bytes per token and vocabulary entry at the peak of the forward pass; of logits only.
        backward: Likewise, of the backward pass.
        because: What says so.
        shift: Where full logits are shifted.
        overwrites: Whether a fused cross entropy writes gradients over the shifted copy.
        metric_copies: Whether the trainer makes a shifted copy of them for its metrics.
    """

    kind: HeadKind
    forward: float = 0
    backward: float = 0
    because: str = ""
    shift: LogitsShift = "labels"
    overwrites: bool = False
    metric_copies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """How processes share a step.

    Attributes:
        strategy: What is split.
        processes: How many there are.
        float32_shards: Whether trained weights are kept in float32 and gathered in 16 bits, as FSDP does under mixed precision.
    """

    strategy: ShardingStrategy = "none"
    processes: int = 1
    float32_shards: bool = False

    @property
    def by_deepspeed(self) -> bool:
        """Whether DeepSpeed splits it, which holds the model in the dtype that it computes in."""
        return self.strategy in {"zero1", "zero2", "zero3"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """How completions are generated while training.

    Attributes:
        rows: Completions generated at once by one process.
        prompt: Tokens of the longest prompt.
        completion: Tokens of a completion at most.
        vllm_share: Part of the card that vLLM takes on the same GPU; 0 where transformers generates, or a server does.
        here: Whether the training process itself generates.
        gathered: Whether DeepSpeed gathers the whole model for that (`ds3_gather_for_generation`).
        generations: Completions of each prompt.
    """

    rows: int
    prompt: int
    completion: int
    vllm_share: float = 0
    here: bool = True
    gathered: bool = True
    generations: int = 1

    @property
    def prompts(self) -> int:
        """Different prompts among the completions that are generated at once."""
        return max(1, self.rows // self.generations)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """A training step of one process.

    Attributes:
        method: The training method.
        model: The model.
        batch: Rows per process and micro-batch (`per_device_train_batch_size`); of DPO and reward models, pairs.
        length: Tokens of the longest row, with padding.
        eval_batch: Rows of an evaluation batch; 0 without evaluation.
        accumulation: Micro-batches per step.
        numerics: Bytes of elements.
        adapter: What is trained instead of the model; None if the model is.
        quantization: Of the weights that are not trained.
        optimizer: The optimizer.
        head: Where the loss comes from.
        checkpointing: Whether layers are computed again in the backward pass.
        reentrant: Whether that is the older way, which keeps the layer's output too.
        attention: The kernel of attention.
        masked: Whether attention gets a mask: of rows of unequal length, or of texts in one row.
        flattened: Whether the rows of a micro-batch are one long row, as without padding.
        fused: Parts that fused kernels compute.
        reference: Whether there is a second, frozen copy of the model.
        scores_reference: Whether each row goes forward through the reference too: that copy, or the model without its adapter.
        sharding: How processes share it.
        rollout: Generation; None for methods that do not generate.
    """

    method: Method
    model: Architecture
    batch: int
    length: int
    eval_batch: int = 0
    accumulation: int = 1
    numerics: Numerics
    adapter: LoraAdapter | None = None
    quantization: WeightQuantization | None = None
    optimizer: OptimizerMemory
    head: LossHead
    checkpointing: bool = True
    reentrant: bool = False
    attention: AttentionKernel = "sdpa"
    masked: bool = False
    flattened: bool = False
    fused: frozenset[FusedKernel] = field(default_factory=frozenset[FusedKernel])
    reference: bool = False
    scores_reference: bool = False
    sharding: Sharding = field(default_factory=Sharding)
    rollout: Rollout | None = None

    @property
    def rows(self) -> int:
        """Texts of a micro-batch."""
        return self.batch * rows_each(self.method)

    @property
    def effective_batch(self) -> int:
        """Rows of an optimizer step, of all processes."""
        return self.batch * self.accumulation * self.sharding.processes

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch, with padding."""
        return self.rows * self.length

    @property
    def attended(self) -> int:
        """Tokens of a row as attention sees it."""
        return self.tokens if self.flattened else self.length

    @property
    def casts_weights(self) -> bool:
        """Whether matrix products read 16-bit copies of the weights; FSDP gathers weights in 16 bits already."""
        numerics = self.numerics
        return numerics.autocast and numerics.weights > numerics.compute and not self.sharding.float32_shards

    @property
    def trained(self) -> int:
        """Trained parameters."""
        if self.adapter is None:
            return total_parameters(self.model)
        adapter = self.adapter
        experts = expert_adapter_parameters(self.model, adapter.rank, router=adapter.router) if adapter.experts else 0
        return adapter_parameters(self.model, adapter.targets, adapter.rank) + experts

    @property
    def trained_bytes(self) -> int:
        """Bytes of a trained parameter."""
        if self.sharding.float32_shards:
            return FLOAT32
        return self.adapter.bytes if self.adapter else self.numerics.weights
