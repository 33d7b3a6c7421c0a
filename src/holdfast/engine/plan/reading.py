"""Reading the training step of a job: what it sets, and what its releases do where it sets nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from packaging.version import Version

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.behaviour import behaviour
from holdfast.catalog.calls.train_arguments import setting
from holdfast.catalog.models.architectures import load_traits
from holdfast.catalog.models.model_settings import loading_setting
from holdfast.catalog.optimizers import OptimizerMemory, load_optimizers
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.job.methods import Method
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.plan.adapters import read_adapter, read_quantization
from holdfast.engine.plan.head import logits_head
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.plain_values import plain_value
from holdfast.engine.plan.reference import REFERENCED, is_given_reference, require_fixed_rows
from holdfast.engine.plan.step import (
    FLOAT16,
    FLOAT32,
    AttentionKernel,
    FusedKernel,
    LoraAdapter,
    LossHead,
    Numerics,
    Rollout,
    Sharding,
    TrainingStep,
    WeightQuantization,
    rows_each,
)

DTYPES: Final[Mapping[str, int]] = {"float32": FLOAT32, "float16": FLOAT16, "bfloat16": FLOAT16}
PROMPT_TOKENS: Final = 512
"""Tokens of a prompt where nothing cuts it. Source: what TRL cut prompts to until 0.25 (`max_prompt_length`)."""
LENGTHS: Final = ("max_seq_length", "max_length")
"""The older name wins where a job gives both. Source: trl 0.16 to 0.19 sft_config.py, `__post_init__`."""
PACKED: Final = frozenset({"bfd", "bfd_split", "bfd-requeue", "ffd"})
"""Packing strategies that imply rows without padding. Source: trl 1.16 sft_trainer.py; ffd was the name in 0.19."""
FOREACH: Final = "adamw_torch"
FUSED_SINCE: Final = Version("2.8.0")
"""The first torch with which transformers takes the fused AdamW. Source: transformers 5.23 training_args.py."""
FLASH: Final = ("flash_attention_2", "flash_attention_3")
FLASH_KERNELS: Final = "kernels-community/"
"""Flash attention of the Hub, such as `kernels-community/vllm-flash-attn3`."""
LIGER: Final = frozenset[FusedKernel]({"norm", "mlp"})


@dataclass(slots=True)
class StepReader:
    """Reads the training step of one job, and keeps the reasons.

    Attributes:
        job: The job.
        api: The versions that it gets.
        model: Its model.
        sharding: How its processes share the work.
        eval_rows: Rows of its evaluation data; None if unknown.
        lengths: How long its rows are, or its prompts; None if they were not measured.
        because: What was taken for granted, and what says so.
    """

    job: Document
    api: Api
    model: JobModel
    sharding: Sharding = field(default_factory=Sharding)
    eval_rows: int | None = None
    lengths: RowLengths | None = None
    because: list[str] = field(default_factory=list[str])

    def read(self) -> TrainingStep:
        """Return the step.

        Raises:
            MissingFactError: Something that memory depends on is not known.
        """
        method = self._method()
        adapter = read_adapter(self.job, self.api, self.model.type, self.model.architecture)
        quantization = read_quantization(self.job)
        if quantization and not adapter:
            raise MissingFactError(
                "quantization", "transformers trains quantized weights only under an adapter (MOD101)"
            )
        numerics = self._numerics(method, adapter, quantization)
        if adapter:
            adapter = self._held_adapter(adapter, quantization)
        batch = self._count("per_device_train_batch_size")
        rollout = self._rollout(method, batch)
        free = self._padding_free(method)
        attention = self._attention()
        beforehand = self._scores_beforehand(method)
        liger = self._given("use_liger_kernel") is True
        return TrainingStep(
            method=method,
            model=self.model.architecture,
            batch=batch,
            length=self._length(method, rollout),
            eval_batch=self._eval_batch(),
            accumulation=self._count("gradient_accumulation_steps"),
            numerics=numerics,
            adapter=adapter,
            quantization=quantization,
            optimizer=self._optimizer(),
            head=self._head(method, numerics, batch, liger=liger),
            checkpointing=self._checkpointing("checkpointing") is True,
            reentrant=self._reentrant(),
            attention=attention,
            masked=self._masks_texts(attention) if free else batch * rows_each(method) > 1,
            flattened=free,
            fused=LIGER if liger else frozenset(),
            reference=self._reference(method, adapter, beforehand=beforehand),
            scores_reference=method in REFERENCED and not beforehand,
            sharding=replace(self.sharding, float32_shards=self.sharding.strategy == "fsdp" and self._mixed()),
            rollout=rollout,
        )

    def _method(self) -> Method:
        method = self.job.get("method", None)
        if method not in {*Method}:
            raise MissingFactError("method", "the target trains by none of TRL's methods, as far as it shows")
        return Method(method)

    def _given(self, name: str) -> Any:
        """Return a setting of the config class; None if the class has none of that name."""
        value = setting(self.job, name, self.api)
        return None if value is ABSENT else plain_value(f"train.{name}", value)

    def _count(self, name: str) -> int:
        value = self._given(name)
        if type(value) is not int or value < 1:
            raise MissingFactError(f"train.{name}", f"{value!r} is not a number of rows")
        return value

    def _fact(self, name: str) -> str | float | bool:
        found = behaviour(name, self.api.versions)
        reason = f"{name.replace('_', ' ')}: {found.value} ({found.source})"
        if reason not in self.because:
            self.because.append(reason)
        return found.value

    def _numerics(
        self, method: Method, adapter: LoraAdapter | None, quantization: WeightQuantization | None
    ) -> Numerics:
        weights = FLOAT16 if quantization else self._weights(adapter)
        mixed = self._mixed()
        if weights == FLOAT32 and not mixed:
            return Numerics(weights=FLOAT32, compute=FLOAT32, residual=FLOAT32, mlp=FLOAT32)
        if self.sharding.by_deepspeed and mixed:
            return Numerics()  # the engine turns the whole model into 16 bits, and uses no autocast
        if self._widens_norms(method, quantization):
            return Numerics(weights=weights, residual=FLOAT32, mlp=FLOAT32, autocast=mixed)
        gathered = self.sharding.strategy == "fsdp"  # layers are gathered in 16 bits, and so are their inputs
        residual = FLOAT16 if gathered and mixed else weights
        return Numerics(weights=weights, residual=residual, mlp=FLOAT16, autocast=mixed)

    def _widens_norms(self, method: Method, quantization: WeightQuantization | None) -> bool:
        """Whether the preparation of quantized weights turns norms, and so the residual stream, into float32."""
        return quantization is not None and method is Method.SFT and self._fact("kbit_preparation") == "norms"

    def _mixed(self) -> bool:
        """Whether the trainer computes in 16 bits; `bf16=None` of TRL's configs means so, unless `fp16` is set."""
        bf16, half = self._given("bf16"), self._given("fp16")
        return bf16 is not False or half is True

    def _weights(self, adapter: LoraAdapter | None) -> int:
        """Return the bytes of a weight as it is loaded."""
        dtype = loading_setting(self.job, "dtype")
        if dtype is not None:
            return self._width(dtype)
        if self.job.kind != "job":
            return self._width(self._default_dtype())
        frozen = adapter is not None
        self.because.append(f"weights in {'16 bits, as they are frozen' if frozen else 'float32, as they are trained'}")
        return FLOAT16 if frozen else FLOAT32

    def _default_dtype(self) -> str | float | bool:
        """Return the dtype in which the trainer, or `from_pretrained`, loads a model where the source names none."""
        dtype = self._fact("weights_dtype") if self.job.call("model") is None else "transformers"
        return self._fact("from_pretrained_dtype") if dtype == "transformers" else dtype

    def _width(self, dtype: Any) -> int:
        """Return the bytes of an element of a dtype, which a source names; of `auto`, those of the model's files."""
        written = dtype.path if isinstance(dtype, LibraryName) else str(plain_value("model.dtype", dtype))
        name = written.rpartition(".")[2]
        if name != "auto" and name not in DTYPES:
            raise MissingFactError("model.dtype", f"`{written}` is not a known dtype")
        if name != "auto":
            return DTYPES[name]
        if not self.model.dtype:
            self.because.append("weights in 16 bits for `dtype: auto`: the model's files were not seen")
        return self.model.dtype or FLOAT16

    def _held_adapter(self, adapter: LoraAdapter, quantization: WeightQuantization | None) -> LoraAdapter:
        """Return an adapter in the dtype in which it is held: 16 bits on quantized weights, and under DeepSpeed."""
        if quantization:
            self._fact("quantized_adapter")
        narrow = quantization or (self.sharding.by_deepspeed and self._mixed())
        return replace(adapter, bytes=FLOAT16) if narrow else adapter

    def _length(self, method: Method, rollout: Rollout | None) -> int:
        if rollout:
            return rollout.prompt + rollout.completion
        written = [name for name in LENGTHS if self.job.get(f"train.{name}") is not ABSENT]
        names = written if "max_length" in written else (*written, *LENGTHS)
        value = next((found for name in names if (found := self._given(name)) is not None), None)
        if type(value) is not int or value < 1:
            raise MissingFactError(
                "train.max_length", f"rows of {method.value} are not cut, and the longest is not known"
            )
        return value

    def _padding_free(self, method: Method) -> bool:
        if self._given("padding_free") is True:
            return True
        packed = method is Method.SFT and self._given("packing") is True
        return packed and self._given("packing_strategy") in PACKED

    def _masks_texts(self, attention: AttentionKernel) -> bool:
        """Whether texts that share a row are kept apart by a mask; flash attention is given where each begins instead."""
        return attention != "flash" and self._fact("packed_mask") is True

    def _eval_batch(self) -> int:
        """Return the rows of an evaluation batch: no more than there are; 0 without evaluation."""
        if not self._evaluates():
            return 0
        batch = self._count("per_device_eval_batch_size")
        return batch if self.eval_rows is None else min(batch, max(1, self.eval_rows))

    def _evaluates(self) -> bool:
        if self.job.kind == "job":
            named = ("dataset.eval_split", "dataset.eval_fraction")
            return any(self.job.get(key, None) is not None for key in named)
        return self._given("eval_strategy") not in {None, "no"}

    def _optimizer(self) -> OptimizerMemory:
        name = plain_value("train.optim", self.job.get("train.optim", None))
        if name is None:
            name = self._fact("default_optimizer") if self._has_new_torch() else FOREACH
        found = load_optimizers().get(str(name))
        if found is None:
            raise MissingFactError("train.optim", f"the memory of `{name}` is not known")
        return found

    def _has_new_torch(self) -> bool:
        """Whether torch has fused optimizers by default. An old transformers is taken to have an old torch, whose optimizers need more."""
        at_hand = self.api.versions.get("torch")
        if at_hand or self.job.kind == "job":
            return not at_hand or Version(at_hand) >= FUSED_SINCE
        new = since(self.api, "transformers", "5.0.0") is True
        self.because.append(f"torch {'2.8 or later' if new else 'before 2.8'} is assumed: its version is not seen")
        return new

    def _head(self, method: Method, numerics: Numerics, batch: int, *, liger: bool) -> LossHead:
        if method is Method.REWARD:
            return LossHead(kind="score")
        if liger and method is not Method.SFT:
            raise MissingFactError(
                "train.use_liger_kernel", f"the memory of Liger's loss for {method.value} is not known"
            )
        kind = self._loss_path(method)
        if liger:
            return LossHead(kind="liger")
        match kind:
            case "logits":
                copies, forward = self._fact("metric_copies"), self._fact("logits_forward")
                return logits_head(float(forward), float(copies), autocast=numerics.autocast, batch=batch)
            case "fused" | "chunked" | "chunked_float32":
                return LossHead(kind=kind)
            case _:
                raise MissingFactError("train.loss_type", f"the memory of the loss `{kind}` is not known")

    def _loss_path(self, method: Method) -> str:
        table = {Method.SFT: "sft_head", Method.DPO: "preference_head", Method.KTO: "preference_head"}
        kind = str(self._fact(table.get(method, "online_head")))
        return self._sft_loss(kind) if method is Method.SFT else kind

    def _sft_loss(self, default: str) -> str:
        """Return how SFT gets its loss, where a release does so by default as said."""
        match self._given("loss_type"):
            case "nll" if default != "fused":
                return "logits"
            case "chunked_nll" if default == "logits":
                return "chunked_float32"  # trl 1.4 to 1.6
            case None | "nll" | "chunked_nll":
                return default
            case other:
                raise MissingFactError("train.loss_type", f"the memory of the loss `{other}` is not known")

    def _checkpointing(self, name: str) -> Any:
        """Return a setting of checkpoints; its newer name wins where both are given.

        Source: transformers 5.23 training_args.py, `__post_init__`.
        """
        newer = self._given(f"activation_{name}")
        return self._given(f"gradient_{name}") if newer is None else newer

    def _reentrant(self) -> bool:
        given = self._checkpointing("checkpointing_kwargs")
        chosen = given.get("use_reentrant") if isinstance(given, Mapping) else None
        chosen = plain_value("train.gradient_checkpointing_kwargs", chosen)
        return bool(self._fact("reentrant") if chosen is None else chosen)

    def _attention(self) -> AttentionKernel:
        name = plain_value("model.attn_implementation", loading_setting(self.job, "attn_implementation"))
        if name is None:
            name = self._default_attention()
        if name in FLASH or str(name).startswith(FLASH_KERNELS):
            return "flash"
        if name == "eager":
            return "eager"
        if name == "sdpa" and load_traits()[self.model.type].sdpa:
            return "sdpa"
        raise MissingFactError("model.attn_implementation", f"the memory of `{name}` is not known")

    def _default_attention(self) -> AttentionKernel:
        """Return the attention that transformers takes where nothing is named."""
        if load_traits()[self.model.type].sdpa:
            return "sdpa"
        self.because.append(f"eager attention, for `{self.model.type}` has no SDPA (transformers: _supports_sdpa)")
        return "eager"

    def _scores_beforehand(self, method: Method) -> bool:
        """Whether a reference scores all rows before the training."""
        if method not in REFERENCED or self._given("precompute_ref_log_probs") is not True:
            return False
        require_fixed_rows(self.job, syncs=self._given("sync_ref_model") is True)
        return True

    def _reference(self, method: Method, adapter: LoraAdapter | None, *, beforehand: bool) -> bool:
        """Whether the trainer holds a second copy of the model; with an adapter it turns that off instead."""
        if adapter is not None:
            return False
        if method in REFERENCED:
            return not beforehand or self.sharding.strategy == "fsdp" or is_given_reference(self.job)
        return method.generates and self._given("beta") not in {0, None}

    def _rollout(self, method: Method, batch: int) -> Rollout | None:
        if not method.generates:
            return None
        completion = self._given("max_completion_length")
        if type(completion) is not int:
            raise MissingFactError("train.max_completion_length", "completions are not cut")
        vllm = self._given("use_vllm") is True
        return Rollout(
            rows=self._generated_rows(batch),
            prompt=self._prompt(),
            completion=completion,
            vllm_share=self._vllm_share() if vllm else 0.0,
            here=not vllm,
            gathered=self._given("ds3_gather_for_generation") is not False,
            generations=self._positive("num_generations") or 1,
        )

    def _generated_rows(self, batch: int) -> int:
        """Return the completions that one process generates at once."""
        generated = self._given("generation_batch_size")
        if type(generated) is int:
            return generated // self.sharding.processes
        return batch * (self._positive("steps_per_generation") or self._count("gradient_accumulation_steps"))

    def _vllm_share(self) -> float:
        """Return the part of the card that vLLM takes: none if a server has it."""
        share = self._given("vllm_gpu_memory_utilization") if self._given("vllm_mode") == "colocate" else 0.0
        if not isinstance(share, int | float):
            raise MissingFactError("train.vllm_gpu_memory_utilization", f"{share!r} is no part of a card")
        return share

    def _positive(self, name: str) -> int | None:
        """Return a setting if it is a number above 0."""
        value = self._given(name)
        return value if type(value) is int and value > 0 else None

    def _prompt(self) -> int:
        """Return the tokens of the longest prompt: as they were measured, and no more than what they are cut to."""
        given = self._given("max_prompt_length")
        cut = given if type(given) is int else None
        if self.lengths and self.lengths.tokens:
            longest = self.lengths.tokens[-1]
            self.because.append(
                f"the longest of {self.lengths.rows:,} prompts that were tokenized has {longest} tokens"
            )
            return longest if cut is None else min(longest, cut)
        if cut is None:
            self.because.append(
                f"prompts of {PROMPT_TOKENS} tokens, since nothing cuts them and they were not measured"
            )
        return PROMPT_TOKENS if cut is None else cut
