"""Rules about rows: rows that will fail, or that teach nothing."""
