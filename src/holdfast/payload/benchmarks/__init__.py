"""The process in which lm-eval finds benchmark tasks, writes down what they ask of a model, and scores what it answered.

    python -m holdfast.payload.benchmarks

It reads a command a line from standard input, as JSON, and answers each with a line; `__main__.py` says which there are.
No model is loaded here: `holdfast.payload.evaluate` gives the responses.

It imports no other part of holdfast: it may run in another environment than the one that reads its answers.
"""
