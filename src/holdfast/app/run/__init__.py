"""The verbs about runs: start, resume, stop, and everything that shows one."""
