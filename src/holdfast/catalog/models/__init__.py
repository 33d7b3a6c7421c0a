"""Models: their types, how jobs name and load them, and what adapters find in them."""
