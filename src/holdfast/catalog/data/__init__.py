"""Data: what file names, slices and scans of rows mean."""
