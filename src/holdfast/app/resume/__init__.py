"""The verb `resume`."""
