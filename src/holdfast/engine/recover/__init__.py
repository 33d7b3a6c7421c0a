"""Recovering: what is changed in a job after a failed attempt, so that its run can go on."""
