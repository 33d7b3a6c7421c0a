"""The packages of an environment, and the launchers that start programs in it."""
