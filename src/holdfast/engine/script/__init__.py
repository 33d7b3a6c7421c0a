"""Scripts: how the one of a job is written, and what one of a user says beside its calls."""
