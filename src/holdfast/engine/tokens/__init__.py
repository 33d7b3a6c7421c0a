"""What the tokenizer and the chat template make of rows, as the trainer of a method asks them.

Nothing here loads a tokenizer: it comes as an argument, a `ports.Tokenizer`.
"""

from holdfast.engine.tokens.counting import measure_rows, tokenize_rows
from holdfast.engine.tokens.recipe import Recipe, read_recipe
from holdfast.engine.tokens.viewing import show_row

__all__ = ["Recipe", "measure_rows", "read_recipe", "show_row", "tokenize_rows"]
