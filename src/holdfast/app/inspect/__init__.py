"""The verb `inspect`: rows, tokens and rewards."""
