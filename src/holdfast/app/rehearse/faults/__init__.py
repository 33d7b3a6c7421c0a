"""Faults in a rehearsal: they are injected into a run of the twin, which the supervisor of real runs supervises."""
