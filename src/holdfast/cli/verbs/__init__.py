"""One file a command: parse, call the verb, render."""
