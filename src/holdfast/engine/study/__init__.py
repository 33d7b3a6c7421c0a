"""Studies: which trials there are, what each is known by, and what they show."""
