r"""What released libraries say when they refuse or warn: each message with the place in the code, and in which releases it is there.

`reading.read_messages` gives those of one release, read by `ast`; `history.MessageHistory` holds all releases of a package and
writes them as text, a line a message, sorted, so that git shows what a release changed.

`\t` parts a line. The first is `@`, and JSON of {"package", "made", "versions"}; the others are

    <key>  <kind>  <template>  <place>=<ranges> <place>=<ranges> ...

key       The longest word that stands whole in every such message: by it lines are found, in halves.
kind      The exception's name, `ValueError`; a warning's, `FutureWarning`; `warning` or `error` of a logger.
template  The message, `¤` for what is computed: `Unknown task: ¤`. White space is one blank;
          what is long is cut, with a hole at its end.
place     Module without the package, and function: `trainer.sft_trainer:SFTTrainer.__init__`.
ranges    Indices into versions, `3-7,9-`: both ends included, an open end where it is still so in the newest.
"""
