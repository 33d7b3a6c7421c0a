"""Starting rehearsals: the program, its server, its reward functions."""
