"""Stand-ins for torch and transformers, which a training script imports in their place: a training of a second instead of ten.

`transformers.trainer` has a `Trainer` with the names that the runtime watches, the same order of callbacks, and checkpoints with the
same files. Its model is a list of numbers. What holdfast itself does around the training is real.
"""
