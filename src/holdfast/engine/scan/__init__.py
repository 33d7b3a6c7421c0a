"""Judging every row of a dataset: what will fail, what teaches nothing, and which rows those are.

    scan = scan_rows(rows, shape, method="sft")

Each batch is judged as a whole by polars, nothing loops over rows in Python, and of a batch that is done only counts, the
first row numbers and 8 bytes a row are kept.
"""

from holdfast.engine.scan.scanning import scan_rows

__all__ = ["scan_rows"]
