"""What is kept on disk: the ledger, run folders, checkpoints, caches."""
