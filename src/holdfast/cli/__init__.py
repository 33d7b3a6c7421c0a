"""The command line: one command a verb of `holdfast.app`."""
