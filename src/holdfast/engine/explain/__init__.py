"""The pages that `explain` gives, in Markdown, made from the rules, the classes of failure and the job's schema alone."""
