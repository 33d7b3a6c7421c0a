"""What a check asks and finds."""
