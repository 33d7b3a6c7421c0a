"""Traces the memory of one training step: the real model class, loss and optimizer on fake tensors, without weights.

It runs in an environment that has torch and transformers, in a process of its own. `request.py` says what is asked and what is
answered, and is all that the rest of holdfast reads.
"""
