"""YAML with places: read into a tree that knows where everything stands, spliced without touching the rest."""
