"""The process that loads a model, and writes what it gives for each row of one or more datasets.

    python -m holdfast.payload.evaluate REQUEST

REQUEST is a JSON file: `work_request.py` says what is in it. On standard output there is one JSON object a line for each thing
that happens; the outputs of rows go to the files that the request names, each with a line of JSON, written at once.

It imports no other part of holdfast: it may run in another environment than the one that reads its answers.
"""
