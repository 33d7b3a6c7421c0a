"""Arguments that a class refuses, each beside a near miss that it takes: both are given to the real class.

`REFUSED` holds (class, refused, taken): what is refused, and what has to be different for it to be taken.
"""

from typing import Any

Arguments = dict[str, Any]
STEPS = {"eval_strategy": "steps", "load_best_model_at_end": True}
TRAINING: tuple[tuple[Arguments, Arguments], ...] = (
    ({"eval_strategy": "steps", "logging_steps": 0, "logging_strategy": "no"}, {"eval_steps": 5}),
    ({"torch_empty_cache_steps": 0}, {"torch_empty_cache_steps": 1}),
    ({"torch_empty_cache_steps": 0.5}, {"torch_empty_cache_steps": 2}),
    ({"logging_steps": 0}, {"logging_strategy": "epoch"}),
    ({"logging_steps": 2.5}, {"logging_steps": 0.5}),
    ({"eval_strategy": "steps", "eval_steps": 1.5}, {"eval_strategy": "epoch"}),
    ({"save_steps": 10.5}, {"save_strategy": "no"}),
    ({"load_best_model_at_end": True}, {"save_strategy": "best"}),
    ({"load_best_model_at_end": True, "eval_strategy": "epoch"}, {"save_strategy": "epoch"}),
    ({**STEPS, "eval_steps": 0.1}, {"save_steps": 0.2}),
    ({**STEPS, "eval_steps": 0.2, "save_steps": 0.5}, {"save_steps": 0.4}),
    ({**STEPS, "eval_steps": 200}, {"save_steps": 400}),
    ({**STEPS, "eval_steps": 7, "save_steps": 20}, {"eval_steps": 5}),
    ({"bf16": True, "fp16": True}, {"fp16": False}),
    ({"bf16_full_eval": True, "fp16_full_eval": True}, {"fp16_full_eval": False}),
    ({"lr_scheduler_type": "reduce_lr_on_plateau"}, {"eval_strategy": "epoch"}),
    ({"lr_scheduler_type": "greedy"}, {"eval_strategy": "steps"}),
    ({"warmup_steps": -1}, {"warmup_steps": 0}),
    ({"dataloader_prefetch_factor": 2}, {"dataloader_num_workers": 1}),
)
GOLD: tuple[tuple[Arguments, Arguments], ...] = (
    ({"lmbda": 1.5}, {"lmbda": 1.0}),
    ({"beta": -0.5}, {"beta": 0.0}),
    ({"max_length": 512, "max_completion_length": 512}, {"max_completion_length": 256}),
    ({"num_generations": 0}, {"num_generations": 1}),
    ({"use_uld_loss": True, "uld_crossentropy_weight": -1.0}, {"uld_crossentropy_weight": 0.0}),
    ({"use_uld_loss": True, "uld_distillation_weight": -1.0}, {"use_uld_loss": False}),
    ({"use_uld_loss": True, "uld_student_temperature": 0.0}, {"uld_student_temperature": 0.5}),
    ({"use_uld_loss": True, "uld_teacher_temperature": 0.0}, {"uld_teacher_temperature": 0.5}),
    ({"use_uld_loss": True, "uld_token_merge_strategy": "x"}, {"uld_token_merge_strategy": "bayesian"}),
    (
        {"use_uld_loss": True, "uld_use_hybrid_loss": True, "uld_hybrid_matched_weight": 0.5},
        {"uld_hybrid_unmatched_weight": 0.5},
    ),
    (
        {
            "use_uld_loss": True,
            "uld_use_hybrid_loss": True,
            "uld_hybrid_matched_weight": -0.5,
            "uld_hybrid_unmatched_weight": 0.5,
        },
        {"uld_hybrid_matched_weight": 0.5},
    ),
    ({"generation_batch_size": 3, "num_generations": 5}, {"generation_batch_size": 8, "num_generations": 1}),
)
GROUPS: tuple[tuple[Arguments, Arguments], ...] = (
    ({"generation_batch_size": 16, "steps_per_generation": 2}, {"steps_per_generation": None}),
    ({"generation_batch_size": 20, "num_generations": 8, "steps_per_generation": 2}, {"generation_batch_size": None}),
)
BOUNDED: tuple[tuple[Arguments, Arguments], ...] = (({"beta": 1.5}, {"beta": 1.0}), ({"beta": -0.1}, {"beta": 0.1}))
OF_ITS_OWN: dict[str, tuple[tuple[Arguments, Arguments], ...]] = {
    "trl.DPOConfig": (
        ({"loss_weights": [1.0, 2.0]}, {"loss_type": ["sigmoid", "sft"]}),
        ({"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0]}, {"loss_weights": [1.0, 1.0]}),
    ),
    "trl.GRPOConfig": (
        ({"log_completions_hub_repo": "a/b"}, {"log_completions": True}),
        ({"auto_find_batch_size": True}, {"auto_find_batch_size": False}),
        *GROUPS,
        (
            {"vllm_importance_sampling_clip_min": 2.0, "vllm_importance_sampling_clip_max": 1.0},
            {"vllm_importance_sampling_clip_max": 3.0},
        ),
        (
            {"vllm_importance_sampling_mode": "token_truncate", "vllm_importance_sampling_clip_max": None},
            {"vllm_importance_sampling_clip_min": 0.5},
        ),
    ),
    "trl.RLOOConfig": (
        ({"num_generations": 1}, {"num_generations": 4}),
        ({"auto_find_batch_size": True}, {"auto_find_batch_size": False}),
        *GROUPS,
    ),
    "trl.DistillationConfig": BOUNDED,
    "trl.ModelConfig": (({"load_in_8bit": True, "load_in_4bit": True}, {"load_in_4bit": False}),),
    "trl.experimental.gold.GOLDConfig": GOLD,
    "trl.experimental.gkd.GKDConfig": (*BOUNDED, ({"lmbda": 2.0}, {"lmbda": 0.5})),
    "trl.experimental.async_distillation.AsyncDistillationConfig": (
        ({"beta": 2.0, "teacher_server_urls": ["http://x"]}, {"beta": 0.5}),
        ({"teacher_server_urls": []}, {"teacher_server_urls": ["http://x"]}),
    ),
    "trl.experimental.sdft.SDFTConfig": (
        ({"distillation_mode": "sampled_token", "distillation_alpha": 0.5}, {"distillation_alpha": 1.0}),
        *GROUPS[:1],
        ({"teacher_prompt_template": "{prompt}"}, {"teacher_prompt_template": "{prompt}{privileged_context}"}),
    ),
    "trl.experimental.sdpo.SDPOConfig": (
        ({"distillation_weight": 1.5}, {"distillation_weight": 1.0}),
        ({"distillation_mode": "sampled_token", "distillation_alpha": 0.5}, {"distillation_alpha": 1.0}),
        *GROUPS[:1],
    ),
    "trl.experimental.server_distillation.ServerDistillationConfig": (
        ({"reverse_kl_top_1_mode": "x"}, {"reverse_kl_top_1_mode": "sampled", "teacher_model_server_url": "http://x"}),
        ({}, {"teacher_model_server_url": "http://x"}),
        ({"teacher_model_server_url": "  "}, {"teacher_model_server_url": "http://x"}),
        ({"teacher_model_server_url": "http://x", "beta": 0.0, "loss_top_k": 0}, {"loss_top_k": 5}),
        ({"teacher_model_server_url": "http://x", "beta": 0.5, "loss_top_k": 4}, {"loss_top_k": 1}),
        (
            {"teacher_model_server_url": "http://x", "reverse_kl_top_1_mode": "argmax", "loss_top_k": 1},
            {"reverse_kl_top_1_mode": "sampled"},
        ),
    ),
    "transformers.BitsAndBytesConfig": (
        ({"load_in_4bit": True, "load_in_8bit": True}, {"load_in_8bit": False}),
        ({"load_in_4bit": "yes"}, {"load_in_4bit": True}),
        ({"load_in_8bit": 1}, {"load_in_8bit": True}),
        ({"bnb_4bit_compute_dtype": 16}, {"bnb_4bit_compute_dtype": "bfloat16"}),
        ({"bnb_4bit_quant_storage": "nf4"}, {"bnb_4bit_quant_storage": "uint8"}),
        ({"bnb_4bit_quant_storage": 8}, {"bnb_4bit_quant_storage": "int8"}),
        ({"llm_int8_threshold": 6}, {"llm_int8_threshold": 6.0}),
        ({"llm_int8_skip_modules": "lm_head"}, {"llm_int8_skip_modules": ["lm_head"]}),
        ({"llm_int8_enable_fp32_cpu_offload": "x"}, {"llm_int8_enable_fp32_cpu_offload": True}),
        ({"llm_int8_has_fp16_weight": 0}, {"llm_int8_has_fp16_weight": False}),
        ({"bnb_4bit_quant_type": None}, {"bnb_4bit_quant_type": "nf4"}),
        ({"bnb_4bit_use_double_quant": "x"}, {"bnb_4bit_use_double_quant": True}),
    ),
    "transformers.GPTQConfig": (
        ({"bits": 5}, {"bits": 4}),
        ({"bits": 4, "group_size": 0}, {"group_size": -1}),
        ({"bits": 4, "damp_percent": 1.5}, {"damp_percent": 0.1}),
        ({"bits": 4, "dataset": "ptb"}, {"dataset": "c4"}),
        ({"bits": 4, "dataset": 7}, {"dataset": ["text"]}),
    ),
    "transformers.QuantoConfig": (
        ({"weights": "int3"}, {"weights": "int4"}),
        ({"activations": "int2"}, {"activations": "int8"}),
    ),
    "transformers.AqlmConfig": (
        ({"in_group_size": "8"}, {"in_group_size": 8}),
        ({"out_group_size": 1.0}, {"out_group_size": 1}),
        ({"num_codebooks": None}, {"num_codebooks": 2}),
        ({"nbits_per_codebook": "16"}, {"nbits_per_codebook": 16}),
        ({"linear_weights_not_to_quantize": "lm_head"}, {"linear_weights_not_to_quantize": ["lm_head"]}),
    ),
    "transformers.VptqConfig": (({"enable_proxy_error": True}, {"enable_proxy_error": False}),),
    "transformers.HiggsConfig": (
        ({"bits": 8}, {"bits": 4}),
        ({"p": 3}, {"p": 1}),
        ({"group_size": 100}, {"group_size": 128}),
        ({"hadamard_size": 100, "group_size": 64}, {"hadamard_size": 128}),
    ),
    "transformers.FPQuantConfig": (
        ({"forward_dtype": "mxfp4", "forward_method": "x"}, {"forward_method": "quest"}),
        ({"forward_dtype": "mxfp4", "hadamard_group_size": 16}, {"hadamard_group_size": 32}),
        ({"forward_dtype": "nvfp4", "forward_method": "quest"}, {"forward_method": "abs_max"}),
        ({"forward_dtype": "fp4"}, {"forward_dtype": "mxfp4"}),
        ({"backward_dtype": "fp32"}, {"backward_dtype": "bf16"}),
        ({"transform_init": "x"}, {"transform_init": "identity"}),
    ),
    "transformers.SpQRConfig": (
        ({"bits": 4}, {"bits": 3}),
        ({"beta1": 8}, {"beta1": 16}),
        ({"beta2": "16"}, {"beta2": 16}),
        ({"shapes": []}, {"shapes": {"a": 1}}),
    ),
    "transformers.FineGrainedFP8Config": (
        ({"activation_scheme": "x"}, {"activation_scheme": "dynamic"}),
        ({"weight_block_size": (128,)}, {"weight_block_size": (128, 128)}),
        ({"weight_block_size": (128, 0)}, {"weight_block_size": (64, 64)}),
        ({"scale_fmt": "x"}, {"scale_fmt": "ue8m0"}),
    ),
    "transformers.AwqConfig": (({"backend": "x"}, {"backend": "auto"}),),
    "transformers.MetalConfig": (({"bits": 3}, {"bits": 4}), ({"group_size": 0}, {"group_size": 64})),
    "transformers.SinqConfig": (({"method": "x"}, {"method": "asinq"}),),
    "transformers.EetqConfig": (({"weights": "int4"}, {"weights": "int8"}),),
    "transformers.BitNetQuantConfig": (
        ({"linear_class": "x"}, {"linear_class": "bitlinear"}),
        ({"quantization_mode": "x"}, {"quantization_mode": "online"}),
    ),
    "peft.LoraConfig": (
        ({"target_modules": "q_proj", "layers_to_transform": [1]}, {"target_modules": ["q_proj"]}),
        ({"layers_pattern": "h"}, {"layers_to_transform": [1], "target_modules": ["q_proj"]}),
        ({"use_dora": True, "lora_bias": True}, {"lora_bias": False}),
        ({"lora_bias": True, "init_lora_weights": "pissa"}, {"init_lora_weights": True}),
        ({"task_type": "CAUSAL"}, {"task_type": "CAUSAL_LM"}),
    ),
}
CONFIGS = ("transformers.TrainingArguments", "trl.SFTConfig", "trl.KTOConfig", "trl.RewardConfig")
REFUSED: tuple[tuple[str, Arguments, Arguments], ...] = (
    *((path, refused, taken) for path in CONFIGS for refused, taken in TRAINING),
    *((path, refused, taken) for path, pairs in OF_ITS_OWN.items() for refused, taken in pairs),
)
