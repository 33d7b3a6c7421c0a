"""A job as it is read: a document of settings and the calls of a program."""
