"""Rows of datasets: every one, in bounded memory, as `datasets` would read them.

`opening.open_rows` opens files and folders, `hub.open_hub_rows` what a repository holds. This package imports nothing
itself, so that `types` and `splits` can be used by a check, which has no time for polars.
"""
