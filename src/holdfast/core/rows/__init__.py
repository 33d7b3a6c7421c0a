"""Rows of datasets: columns, their types, and what a scan counts."""
