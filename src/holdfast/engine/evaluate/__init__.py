"""Evaluating: what a dataset can be evaluated for, the metrics, and how sure their figures are."""
