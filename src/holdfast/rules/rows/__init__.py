"""Rules about rows: what will fail in them, or teaches nothing."""
