"""Measurements that anyone can repeat; each prints the date and the size of the machine."""
