"""Jobs that really run: each in a process of its own, on a disk of its own.

records.py    jobs and what the Hub says of them; what of them a test sets
routes.py     which function answers which address
lifecycle.py  a job from its submission to its end
machine.py    the process, its disk and environment
namespace.py  mounts volumes where the job expects them
volumes.py    folders of buckets and repositories, and how writes to them arrive
images.py     which programs an image has
logs.py       the stream of log lines, and all that can be wrong with it
metrics.py    the stream of measurements
mishaps.py    what a test lets go wrong with a job
scheduled.py  jobs at times; cron.py works the times out
"""
