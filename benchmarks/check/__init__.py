"""What the measurements of `holdfast check` share: files out of git clones, and asking the rules about them."""
