"""Places an attempt can run. One file each."""
