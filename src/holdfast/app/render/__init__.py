"""The scripts of jobs and studies, which run without holdfast."""
