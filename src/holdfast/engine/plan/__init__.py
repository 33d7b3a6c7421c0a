"""Plans: the memory, time and cost of a job, in closed form."""
