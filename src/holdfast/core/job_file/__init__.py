"""The job file: its keys, their types, and the problems of a bad one."""
