"""A rehearsal's part in the process of the user's script: its model becomes a twin, its rows a few, its steps four.

The whole package travels to the environment that the script will get, which need not have holdfast: it imports the standard
library, the runtime beside it, and whatever the script imports itself. The script is not changed: each module here takes
the place of some functions of the libraries that the script calls, by `install(part_request, events)`, when they are imported.

* `part_request`     what is asked of one process      * `events`   what it says, one JSON object a line
* `part`      a process from end to end         * `guards`    network, files, trackers, children, terminals
* `twins`     models, and what shrinks them     * `rows`      datasets
* `trainers`  arguments, training, stages, and what is wrong where all is green
* `loops`     training without a trainer        * `writing`   texts that models write
* `devices`   a GPU that is not here            * `hosts`     what a notebook's host gives it
* `pushes`    the Hub, up to the commit         * `after`     what was saved: does it load, and end its sentences
* `adapted`   adapters that were saved            * `sandbox`   what the kernel holds; `enclosing` a part in it
* `reach`     hosts that may be contacted
"""
