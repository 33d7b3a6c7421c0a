"""The verb `explain`: rules and what they report for their own examples, classes of failure, and the keys of files."""
