"""Running: from a plan to supervised attempts, and their progress."""
