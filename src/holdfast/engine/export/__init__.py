"""What an export decides: quantizations, whether it can begin, whether a file is proved, and what its card says."""
