"""The verb `evaluate`: metrics of a model over datasets, and how sure they are."""
