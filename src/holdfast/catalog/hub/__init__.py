"""The Hugging Face Hub and its Jobs: hardware, rights, names."""
