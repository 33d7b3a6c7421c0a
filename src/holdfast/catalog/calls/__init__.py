"""What calls of the libraries take at each release, and what became of what they took before."""
