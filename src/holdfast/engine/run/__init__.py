"""Running: from a plan to supervised attempts, and what they say of themselves."""
