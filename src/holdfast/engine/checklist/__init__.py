"""The checklists that one goes through before a job is sent."""
