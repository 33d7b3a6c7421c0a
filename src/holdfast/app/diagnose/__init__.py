"""The verb `diagnose`: logs, runs, and what stands beside them."""
