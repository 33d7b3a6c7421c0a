"""A run: its plan, its events, and the state that follows from them."""
