"""What users bring, read into Documents. One file each."""
