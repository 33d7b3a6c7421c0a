"""An image as processors give it to released vision-language models."""

from typing import Any

LENGTH = 12  # tokens of text beside it

IMAGES: dict[str, tuple[int, dict[str, Any]]] = {
    "qwen2-vl-2b": (4, {"pixel_values": (16, 1176), "image_grid_thw": [[1, 4, 4]]}),
    "qwen2.5-vl-7b": (4, {"pixel_values": (16, 1176), "image_grid_thw": [[1, 4, 4]]}),
    "qwen3-vl-4b": (4, {"pixel_values": (16, 1536), "image_grid_thw": [[1, 4, 4]]}),
    "qwen3-vl-30b-a3b": (4, {"pixel_values": (16, 1536), "image_grid_thw": [[1, 4, 4]]}),
    "qwen3.5-9b": (4, {"pixel_values": (16, 1536), "image_grid_thw": [[1, 4, 4]]}),
    "glm-4.1v-9b": (4, {"pixel_values": (16, 1176), "image_grid_thw": [[1, 4, 4]]}),
    "gemma-3-4b": (256, {"pixel_values": (1, 3, 896, 896)}),
    "paligemma-3b": (256, {"pixel_values": (1, 3, 224, 224)}),
    "llava-1.5-7b": (576, {"pixel_values": (1, 3, 336, 336)}),
    "llava-1.6-mistral-7b": (1176, {"pixel_values": (1, 3, 3, 336, 336), "image_sizes": [[336, 336]]}),
    "idefics2-8b": (64, {"pixel_values": (1, 1, 3, 56, 56)}),
    "idefics3-8b": (169, {"pixel_values": (1, 1, 3, 364, 364)}),
    "smolvlm-256m": (64, {"pixel_values": (1, 1, 3, 512, 512)}),
    "internvl3-1b": (256, {"pixel_values": (1, 3, 448, 448)}),
    "llama-3.2-11b-vision": (
        0,
        {
            "pixel_values": (1, 1, 4, 3, 448, 448),
            "aspect_ratio_ids": [[1]],
            "aspect_ratio_mask": [[[1, 0, 0, 0]]],
            "cross_attention_mask": [[[[1, 0, 0, 0]]] * LENGTH],
        },
    ),
    "pixtral-12b": (16, {"pixel_values": (1, 3, 64, 64), "image_sizes": [[64, 64]]}),
    "mistral-small-3.1": (4, {"pixel_values": (1, 3, 56, 56), "image_sizes": [[56, 56]]}),
    "llama-4-scout": (144, {"pixel_values": (1, 3, 336, 336)}),
    "aya-vision-8b": (169, {"pixel_values": (1, 3, 364, 364)}),
}
"""Tokens that an image becomes, and its inputs as processors give them: shapes in tuples, numbers in lists."""
