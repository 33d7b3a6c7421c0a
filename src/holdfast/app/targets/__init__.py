"""What verbs are given: targets that lie elsewhere, programs, their scripts, and the files beside them."""
