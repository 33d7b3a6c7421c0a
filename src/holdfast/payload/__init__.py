"""What goes along with a training process: text that is shipped, and programs that stand beside it."""
