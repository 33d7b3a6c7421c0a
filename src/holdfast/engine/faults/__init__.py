"""Faults that are injected into rehearsals: which there are, where each can strike, and what became of it."""
