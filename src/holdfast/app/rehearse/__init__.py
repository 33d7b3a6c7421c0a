"""The verb `rehearse`: its parts, its verdict, and whose fault a failure is."""
