"""Released models by what their configurations say: sizes and kinds of layers, as on the Hub, without weights.

From knowledge of the public `config.json` files; what is left out stands at the default of the configuration class.
"""

from typing import Any

Fields = dict[str, Any]


def stack(width: int, inner: int, layers: int, heads: int, keys: int, vocabulary: int, **more: Any) -> Fields:
    """Return the fields that most decoders share."""
    return {
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": keys,
        "vocab_size": vocabulary,
        **more,
    }


LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
PHI_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "long_factor": [1.0 + 0.1 * each for each in range(48)],
    "short_factor": [1.0] * 48,
    "original_max_position_embeddings": 4096,
    "partial_rotary_factor": 1.0,
}
PHI4_ROPE = {
    **PHI_ROPE,
    "long_factor": [1.0 + 0.1 * each for each in range(48)],
    "partial_rotary_factor": 0.75,
}
DEEPSEEK = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "kv_lora_rank": 512}
MROPE = {"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [16, 24, 24]}
CLIP = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
CLIP |= {"num_attention_heads": 16, "image_size": 336, "patch_size": 14, "projection_dim": 768}
SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
QWEN_VISION = {"depth": 32, "hidden_size": 1280, "num_heads": 16, "intermediate_size": 3420, "out_hidden_size": 3584}
GEMMA3 = stack(2560, 10240, 34, 8, 4, 262208, head_dim=256, sliding_window=1024)

TEXT: dict[str, tuple[str, Fields]] = {
    "qwen2.5-0.5b": (
        "Qwen2ForCausalLM",
        stack(896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True, max_window_layers=21),
    ),
    "qwen2.5-7b": ("Qwen2ForCausalLM", stack(3584, 18944, 28, 28, 4, 152064)),
    "qwen3-0.6b": ("Qwen3ForCausalLM", stack(1024, 3072, 28, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)),
    "qwen3-32b": ("Qwen3ForCausalLM", stack(5120, 25600, 64, 64, 8, 151936, head_dim=128)),
    "qwen3-30b-a3b": (
        "Qwen3MoeForCausalLM",
        stack(
            2048,
            6144,
            48,
            32,
            4,
            151936,
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=768,
        ),
    ),
    "qwen1.5-moe": (
        "Qwen2MoeForCausalLM",
        stack(
            2048,
            5632,
            24,
            16,
            16,
            151936,
            num_experts=60,
            num_experts_per_tok=4,
            moe_intermediate_size=1408,
            shared_expert_intermediate_size=5632,
            mlp_only_layers=[0],
        ),
    ),
    "qwen3-next-80b": (
        "Qwen3NextForCausalLM",
        stack(2048, 5120, 48, 16, 2, 151936, head_dim=256, num_experts=512, num_experts_per_tok=10),
    ),
    "llama-2-7b": ("LlamaForCausalLM", stack(4096, 11008, 32, 32, 32, 32000)),
    "llama-3.2-1b": (
        "LlamaForCausalLM",
        stack(2048, 8192, 16, 32, 8, 128256, head_dim=64, tie_word_embeddings=True, rope_parameters=LLAMA3_ROPE),
    ),
    "llama-3.1-70b": ("LlamaForCausalLM", stack(8192, 28672, 80, 64, 8, 128256, rope_parameters=LLAMA3_ROPE)),
    "llama-4-scout-text": (
        "Llama4ForCausalLM",
        stack(5120, 8192, 48, 40, 8, 202048, head_dim=128, intermediate_size_mlp=16384, num_local_experts=16),
    ),
    "smollm2-135m": ("LlamaForCausalLM", stack(576, 1536, 30, 9, 3, 49152, tie_word_embeddings=True)),
    "smollm3-3b": ("SmolLM3ForCausalLM", stack(2048, 11008, 36, 16, 4, 128256)),
    "mistral-7b-v0.3": ("MistralForCausalLM", stack(4096, 14336, 32, 32, 8, 32768, head_dim=128)),
    "mistral-nemo": ("MistralForCausalLM", stack(5120, 14336, 40, 32, 8, 131072, head_dim=128)),
    "mixtral-8x7b": ("MixtralForCausalLM", stack(4096, 14336, 32, 32, 8, 32000, num_local_experts=8)),
    "gemma-2b": ("GemmaForCausalLM", stack(2048, 16384, 18, 8, 1, 256000, head_dim=256)),
    "gemma-2-2b": ("Gemma2ForCausalLM", stack(2304, 9216, 26, 8, 4, 256000, head_dim=256, sliding_window=4096)),
    "gemma-3-1b": (
        "Gemma3ForCausalLM",
        stack(1152, 6912, 26, 4, 1, 262144, head_dim=256, sliding_window=512),
    ),
    "gemma-3n-e2b-text": (
        "Gemma3nForCausalLM",
        stack(2048, 8192, 30, 8, 2, 262400, head_dim=256, num_kv_shared_layers=10),
    ),
    "phi-2": (
        "PhiForCausalLM",
        stack(
            2560,
            10240,
            32,
            32,
            32,
            51200,
            rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.4},
        ),
    ),
    "phi-3-mini-128k": (
        "Phi3ForCausalLM",
        stack(3072, 8192, 32, 32, 32, 32064, rope_parameters=PHI_ROPE, max_position_embeddings=131072),
    ),
    "phi-4-mini": (
        "Phi3ForCausalLM",
        stack(3072, 8192, 32, 24, 8, 200064, rope_parameters=PHI4_ROPE, tie_word_embeddings=True),
    ),
    "phi-4": ("Phi3ForCausalLM", stack(5120, 17920, 40, 40, 10, 100352)),
    "deepseek-v2-lite": (
        "DeepseekV2ForCausalLM",
        stack(
            2048,
            10944,
            27,
            16,
            16,
            102400,
            **DEEPSEEK,
            q_lora_rank=None,
            n_routed_experts=64,
            num_experts_per_tok=6,
            n_shared_experts=2,
            moe_intermediate_size=1408,
            first_k_dense_replace=1,
            topk_method="greedy",
            n_group=1,
            topk_group=1,
        ),
    ),
    "deepseek-v3": (
        "DeepseekV3ForCausalLM",
        stack(
            7168,
            18432,
            61,
            128,
            128,
            129280,
            **DEEPSEEK,
            q_lora_rank=1536,
            n_routed_experts=256,
            num_experts_per_tok=8,
            n_group=8,
            topk_group=4,
            moe_intermediate_size=2048,
            first_k_dense_replace=3,
        ),
    ),
    "gpt-oss-20b": (
        "GptOssForCausalLM",
        stack(
            2880, 2880, 24, 64, 8, 201088, head_dim=64, num_local_experts=32, num_experts_per_tok=4, sliding_window=128
        ),
    ),
    "falcon-7b": (
        "FalconForCausalLM",
        {
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "vocab_size": 65024,
            "multi_query": True,
            "parallel_attn": True,
            "alibi": False,
        },
    ),
    "falcon-40b": (
        "FalconForCausalLM",
        {
            "hidden_size": 8192,
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "vocab_size": 65024,
            "new_decoder_architecture": True,
        },
    ),
    "falcon-h1-0.5b": (
        "FalconH1ForCausalLM",
        stack(
            1024,
            2048,
            36,
            8,
            2,
            32784,
            head_dim=64,
            mamba_d_ssm=1536,
            mamba_n_heads=24,
            mamba_d_head=64,
            mamba_d_state=128,
        ),
    ),
    "gpt2": ("GPT2LMHeadModel", {}),
    "gpt2-xl": ("GPT2LMHeadModel", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "pythia-1b": (
        "GPTNeoXForCausalLM",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 8,
            "vocab_size": 50304,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25},
        },
    ),
    "gpt-j-6b": (
        "GPTJForCausalLM",
        {"n_embd": 4096, "n_layer": 28, "n_head": 16, "rotary_dim": 64, "vocab_size": 50400},
    ),
    "gpt-neo-1.3b": ("GPTNeoForCausalLM", {"hidden_size": 2048, "num_layers": 24, "num_heads": 16}),
    "opt-350m": (
        "OPTForCausalLM",
        {
            "hidden_size": 1024,
            "ffn_dim": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "word_embed_proj_dim": 512,
            "do_layer_norm_before": False,
        },
    ),
    "opt-1.3b": (
        "OPTForCausalLM",
        {
            "hidden_size": 2048,
            "ffn_dim": 8192,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "word_embed_proj_dim": 2048,
        },
    ),
    "bloom-560m": ("BloomForCausalLM", {"hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880}),
    "mpt-7b": (
        "MptForCausalLM",
        {"d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50432, "expansion_ratio": 4},
    ),
    "starcoder": (
        "GPTBigCodeForCausalLM",
        {
            "n_embd": 6144,
            "n_layer": 40,
            "n_head": 48,
            "n_inner": 24576,
            "n_positions": 8192,
            "vocab_size": 49152,
            "multi_query": True,
        },
    ),
    "starcoder2-3b": ("Starcoder2ForCausalLM", stack(3072, 12288, 30, 24, 2, 49152, sliding_window=4096)),
    "stablelm-2-1.6b": (
        "StableLmForCausalLM",
        stack(
            2048,
            5632,
            24,
            32,
            32,
            100352,
            rope_parameters={"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.25},
        ),
    ),
    "olmo-2-7b": ("Olmo2ForCausalLM", stack(4096, 11008, 32, 32, 32, 100352)),
    "olmo-3-7b": ("Olmo3ForCausalLM", stack(4096, 11008, 32, 32, 32, 100278, sliding_window=4096)),
    "olmoe-1b-7b": ("OlmoeForCausalLM", stack(2048, 1024, 16, 16, 16, 50304, num_experts=64, num_experts_per_tok=8)),
    "granite-3.3-2b": ("GraniteForCausalLM", stack(2048, 8192, 40, 32, 8, 49159)),
    "granite-moe-1b": (
        "GraniteMoeForCausalLM",
        stack(1024, 512, 24, 16, 8, 49155, num_local_experts=32, num_experts_per_tok=8),
    ),
    "granite-4-h-tiny": (
        "GraniteMoeHybridForCausalLM",
        stack(
            1536,
            512,
            40,
            12,
            4,
            100352,
            layer_types=[("attention" if place in (5, 15, 25, 35) else "mamba") for place in range(40)],
            num_local_experts=64,
            num_experts_per_tok=6,
            shared_intermediate_size=1024,
            mamba_n_heads=48,
            mamba_d_head=64,
            mamba_d_state=128,
        ),
    ),
    "cohere-command-r": ("CohereForCausalLM", stack(8192, 22528, 40, 64, 64, 256000)),
    "cohere2-command-r7b": ("Cohere2ForCausalLM", stack(4096, 14336, 32, 32, 8, 256000, sliding_window=4096)),
    "glm-4-9b": ("Glm4ForCausalLM", stack(4096, 13696, 40, 32, 2, 151552, head_dim=128)),
    "glm-4.5-air": (
        "Glm4MoeForCausalLM",
        stack(
            4096,
            10944,
            46,
            96,
            8,
            151552,
            head_dim=128,
            n_routed_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=1408,
            first_k_dense_replace=1,
        ),
    ),
    "ernie-4.5-21b": (
        "Ernie4_5_MoeForCausalLM",
        stack(2560, 12288, 28, 20, 4, 103424, moe_num_experts=64, moe_k=6, moe_intermediate_size=1536),
    ),
    "exaone-4-1.2b": (
        "Exaone4ForCausalLM",
        stack(2048, 4096, 30, 32, 8, 102400, head_dim=64, sliding_window=4096, sliding_window_pattern=4),
    ),
    "minimax-text-01": (
        "MiniMaxForCausalLM",
        stack(6144, 9216, 80, 64, 8, 200064, head_dim=128, num_local_experts=32, num_experts_per_tok=2),
    ),
    "nemotron-4-mini": ("NemotronForCausalLM", stack(3072, 9216, 32, 24, 8, 256000, head_dim=128)),
    "nemotron-h-8b": (
        "NemotronHForCausalLM",
        {
            "hidden_size": 4096,
            "intermediate_size": 21504,
            "vocab_size": 131072,
            "layers_block_type": (["mamba", "mlp"] * 3 + ["mamba", "attention", "mlp"]) * 4 + ["mamba", "mlp"] * 8,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "mamba_num_heads": 128,
            "mamba_head_dim": 64,
        },
    ),
    "mamba-2.8b": (
        "MambaForCausalLM",
        {"hidden_size": 2560, "num_hidden_layers": 64, "vocab_size": 50280, "time_step_rank": 160, "expand": 2},
    ),
    "mamba2-2.7b": (
        "Mamba2ForCausalLM",
        {
            "hidden_size": 2560,
            "num_hidden_layers": 64,
            "vocab_size": 50288,
            "num_heads": 80,
            "head_dim": 64,
            "n_groups": 1,
        },
    ),
    "falcon-mamba-7b": (
        "FalconMambaForCausalLM",
        {
            "hidden_size": 4096,
            "num_hidden_layers": 64,
            "vocab_size": 65024,
            "intermediate_size": 8192,
            "time_step_rank": 256,
        },
    ),
    "jamba-v0.1": ("JambaForCausalLM", stack(4096, 14336, 32, 32, 8, 65536)),
    "bamba-9b": (
        "BambaForCausalLM",
        stack(4096, 14336, 32, 32, 8, 128256, attn_layer_indices=[9, 18, 27], mamba_n_heads=128, mamba_d_head=64),
    ),
    "zamba2-2.7b": (
        "Zamba2ForCausalLM",
        {
            "hidden_size": 2560,
            "num_hidden_layers": 54,
            "vocab_size": 32000,
            "num_attention_heads": 32,
            "intermediate_size": 10240,
        },
    ),
    "recurrentgemma-2b": (
        "RecurrentGemmaForCausalLM",
        {
            "hidden_size": 2560,
            "intermediate_size": 15360,
            "num_hidden_layers": 26,
            "num_attention_heads": 10,
            "num_key_value_heads": 1,
            "lru_width": 2560,
        },
    ),
    "lfm2-1.2b": (
        "Lfm2ForCausalLM",
        stack(2048, 12288, 16, 32, 8, 65536, full_attn_idxs=[2, 5, 8, 10, 12, 14]),
    ),
    "rwkv-4-430m": ("RwkvForCausalLM", {"hidden_size": 1024, "num_hidden_layers": 24, "vocab_size": 50277}),
    "xglm-564m": ("XGLMForCausalLM", {"d_model": 1024, "ffn_dim": 4096, "num_layers": 24, "attention_heads": 16}),
    "biogpt": ("BioGptForCausalLM", {}),
    "seed-oss-36b": ("SeedOssForCausalLM", stack(5120, 27648, 64, 80, 8, 155136, head_dim=128)),
    "hunyuan-1.8b": ("HunYuanDenseV1ForCausalLM", stack(2048, 6144, 32, 16, 4, 120818, head_dim=128)),
    "apertus-8b": ("ApertusForCausalLM", stack(4096, 21504, 32, 32, 8, 131072)),
    "ministral-8b": ("MinistralForCausalLM", stack(4096, 12288, 36, 32, 8, 131072, head_dim=128, sliding_window=32768)),
    "longcat-flash": (
        "LongcatFlashForCausalLM",
        {
            "hidden_size": 6144,
            "num_layers": 28,
            "num_attention_heads": 64,
            "vocab_size": 131072,
            "n_routed_experts": 512,
            "moe_topk": 12,
        },
    ),
    "modernbert-decoder": ("ModernBertDecoderForCausalLM", {}),
    "bert-score": ("BertForSequenceClassification", {"num_labels": 1}),
    "deberta-v3-reward": (
        "DebertaV2ForSequenceClassification",
        {
            "num_labels": 1,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "vocab_size": 128100,
            "relative_attention": True,
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "type_vocab_size": 0,
            "position_biased_input": False,
        },
    ),
    "roberta-large": (
        "RobertaForSequenceClassification",
        {
            "num_labels": 2,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "vocab_size": 50265,
            "max_position_embeddings": 514,
        },
    ),
    "distilbert": ("DistilBertForSequenceClassification", {}),
    "modernbert-base": ("ModernBertForSequenceClassification", {}),
    "qwen2.5-reward": ("Qwen2ForSequenceClassification", stack(896, 4864, 24, 14, 2, 151936, num_labels=1)),
}

BOTH: dict[str, tuple[str, Fields]] = {
    "t5-base": (
        "T5ForConditionalGeneration",
        {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "decoder_start_token_id": 0},
    ),
    "flan-t5-xl": (
        "T5ForConditionalGeneration",
        {
            "d_model": 2048,
            "d_kv": 64,
            "d_ff": 5120,
            "num_layers": 24,
            "num_heads": 32,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
            "decoder_start_token_id": 0,
        },
    ),
    "mt5-small": (
        "MT5ForConditionalGeneration",
        {
            "d_model": 512,
            "d_kv": 64,
            "d_ff": 1024,
            "num_layers": 8,
            "num_heads": 6,
            "vocab_size": 250112,
            "decoder_start_token_id": 0,
        },
    ),
    "bart-large": ("BartForConditionalGeneration", {}),
    "pegasus-large": ("PegasusForConditionalGeneration", {"encoder_layers": 16, "decoder_layers": 16}),
    "switch-base-8": ("SwitchTransformersForConditionalGeneration", {"decoder_start_token_id": 0}),
    "t5gemma-2b": ("T5GemmaForConditionalGeneration", {}),
    "whisper-small": (
        "WhisperForConditionalGeneration",
        {
            "d_model": 768,
            "encoder_layers": 12,
            "decoder_layers": 12,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },
    ),
}

SIGHTED: dict[str, tuple[str, Fields]] = {
    "qwen2-vl-2b": (
        "Qwen2VLForConditionalGeneration",
        {
            "text_config": stack(1536, 8960, 28, 12, 2, 151936, rope_parameters=MROPE, tie_word_embeddings=True),
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16, "mlp_ratio": 4},
        },
    ),
    "qwen2.5-vl-7b": (
        "Qwen2_5_VLForConditionalGeneration",
        {"text_config": stack(3584, 18944, 28, 28, 4, 152064, rope_parameters=MROPE), "vision_config": QWEN_VISION},
    ),
    "qwen3-vl-4b": (
        "Qwen3VLForConditionalGeneration",
        {
            "text_config": stack(
                2560, 9728, 36, 32, 8, 151936, head_dim=128, rope_parameters=MROPE | {"mrope_section": [24, 20, 20]}
            ),
            "vision_config": {
                "depth": 24,
                "hidden_size": 1024,
                "num_heads": 16,
                "intermediate_size": 4096,
                "out_hidden_size": 2560,
                "deepstack_visual_indexes": [5, 11, 17],
            },
        },
    ),
    "qwen3-vl-30b-a3b": (
        "Qwen3VLMoeForConditionalGeneration",
        {
            "text_config": stack(
                2048,
                6144,
                48,
                32,
                4,
                151936,
                head_dim=128,
                num_experts=128,
                num_experts_per_tok=8,
                moe_intermediate_size=768,
                rope_parameters=MROPE | {"mrope_section": [24, 20, 20]},
            ),
            "vision_config": {"depth": 27, "out_hidden_size": 2048},
        },
    ),
    "qwen3.5-9b": ("Qwen3_5ForConditionalGeneration", {"vision_config": {"out_hidden_size": 4096}}),
    "gemma-3-4b": (
        "Gemma3ForConditionalGeneration",
        {"text_config": GEMMA3, "vision_config": SIGLIP | {"image_size": 896, "patch_size": 14}},
    ),
    "paligemma-3b": (
        "PaliGemmaForConditionalGeneration",
        {
            "text_config": stack(2048, 16384, 18, 8, 1, 257216, head_dim=256, model_type="gemma"),
            "vision_config": SIGLIP
            | {"image_size": 224, "patch_size": 14, "projection_dim": 2048, "model_type": "siglip_vision_model"},
            "projection_dim": 2048,
            "image_token_index": 257152,
        },
    ),
    "llava-1.5-7b": (
        "LlavaForConditionalGeneration",
        {
            "text_config": stack(4096, 11008, 32, 32, 32, 32064, model_type="llama"),
            "vision_config": CLIP,
            "image_token_index": 32000,
        },
    ),
    "llava-1.6-mistral-7b": (
        "LlavaNextForConditionalGeneration",
        {
            "text_config": stack(4096, 14336, 32, 32, 8, 32064, model_type="mistral"),
            "vision_config": CLIP,
            "image_token_index": 32000,
        },
    ),
    "idefics2-8b": (
        "Idefics2ForConditionalGeneration",
        {
            "text_config": stack(4096, 14336, 32, 32, 8, 32003, model_type="mistral"),
            "vision_config": SIGLIP | {"image_size": 980, "patch_size": 14},
            "perceiver_config": {"hidden_size": 4096},
            "image_token_id": 32001,
        },
    ),
    "idefics3-8b": (
        "Idefics3ForConditionalGeneration",
        {
            "text_config": stack(4096, 14336, 32, 32, 8, 128259, model_type="llama"),
            "vision_config": SIGLIP | {"image_size": 364, "patch_size": 14},
            "image_token_id": 128257,
            "scale_factor": 2,
        },
    ),
    "smolvlm-256m": (
        "SmolVLMForConditionalGeneration",
        {
            "text_config": stack(576, 1536, 30, 9, 3, 49280, model_type="llama"),
            "vision_config": {
                "hidden_size": 768,
                "intermediate_size": 3072,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "image_size": 512,
                "patch_size": 16,
            },
            "image_token_id": 49190,
            "scale_factor": 4,
        },
    ),
    "internvl3-1b": (
        "InternVLForConditionalGeneration",
        {"text_config": stack(896, 4864, 24, 14, 2, 151674, model_type="qwen2"), "image_token_id": 151667},
    ),
    "llama-3.2-11b-vision": (
        "MllamaForConditionalGeneration",
        {"text_config": stack(4096, 14336, 40, 32, 8, 128256, rope_parameters=LLAMA3_ROPE | {"factor": 8.0})},
    ),
    "pixtral-12b": (
        "LlavaForConditionalGeneration",
        {
            "text_config": stack(5120, 14336, 40, 32, 8, 131072, head_dim=128, model_type="mistral"),
            "vision_config": {
                "model_type": "pixtral",
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "image_size": 1024,
                "patch_size": 16,
                "head_dim": 64,
            },
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "full",
            "image_token_index": 10,
        },
    ),
    "mistral-small-3.1": (
        "Mistral3ForConditionalGeneration",
        {
            "text_config": stack(5120, 32768, 40, 32, 8, 131072, head_dim=128, model_type="mistral"),
            "vision_config": {
                "model_type": "pixtral",
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_hidden_layers": 24,
                "num_attention_heads": 16,
                "image_size": 1540,
                "patch_size": 14,
                "head_dim": 64,
            },
        },
    ),
    "llava-onevision-7b": (
        "LlavaOnevisionForConditionalGeneration",
        {
            "text_config": stack(3584, 18944, 28, 28, 4, 152000, model_type="qwen2"),
            "vision_config": SIGLIP
            | {"image_size": 384, "patch_size": 14, "model_type": "siglip_vision_model", "vision_use_head": False},
            "image_token_index": 151646,
        },
    ),
    "llama-4-scout": (
        "Llama4ForConditionalGeneration",
        {
            "text_config": stack(5120, 8192, 48, 40, 8, 202048, head_dim=128, intermediate_size_mlp=16384),
            "vision_config": {
                "hidden_size": 1408,
                "intermediate_size": 5632,
                "num_hidden_layers": 34,
                "num_attention_heads": 16,
                "image_size": 336,
                "vision_output_dim": 4096,
            },
        },
    ),
    "gemma-4": ("Gemma4ForConditionalGeneration", {}),
    "glm-4.1v-9b": (
        "Glm4vForConditionalGeneration",
        {"text_config": {"rope_parameters": MROPE | {"mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5}}},
    ),
    "aya-vision-8b": (
        "AyaVisionForConditionalGeneration",
        {"vision_config": SIGLIP | {"image_size": 364, "patch_size": 14, "model_type": "siglip_vision_model"}},
    ),
    "qwen2-audio-7b": ("Qwen2AudioForConditionalGeneration", {}),
}
ALL = TEXT | BOTH | SIGHTED
