"""What we know of the world, as data: versions that were tried together, inputs that are known to be good."""
