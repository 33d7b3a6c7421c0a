r"""The API of released libraries, read from their sources by `ast`: nothing is imported, nothing installed.

`release.read_release` gives what one release offers; `format.release_history.ReleaseHistory` holds all releases of a package and writes them as
text, one thing a line, `<head>\t<json>`, lines sorted by head, so that git shows what changed and one line is parsed on
demand (`text.find("\n" + head + "\t")`).

Indices count into `versions`. Ranges are strings, `"3-7,9-"`: both ends included, an open end where it is still so in the
newest. Changes are `[[index, value], ...]`: the value from that index on; where nothing exists they mean nothing. In entries of
classes, functions, methods and parameters, what never changes is written as its value alone, if that is no list.

```
"@"            {"package", "made": "2026-11-21", "versions": [...], "dates": [...], "python": changes of Requires-Python,
                "requires": changes of [Requires-Dist without extras], "extras": changes of {extra: [Requires-Dist]}}
"m <module>"   {"r": ranges of its existence, "n": {"<ranges>": "Name Name @home.module Name Name:OtherName @other.home ..."},
                "star": ranges in which it has names that are not listed}
               After `@home.module` come names that are described under that module, with another name there after a colon.
               Submodules have lines of their own and are not among the names. Of transformers' models only each one's
               package has a line. A home is given where the thing is described: by a line of this file, or of the package
               that the home begins with.
"c <path>"     a class at its home: {"r", "k": changes of "dataclass" | "init" | "inherits" | "plain", "b": changes of its
                bases in other packages (dotted; "?Name" where it is not known), "a": changes of its in-package ancestors'
                homes, nearest first, "kw": changes of null | "forward" | "open" | "swallow", "n": changes of how many
                parameters may be positional (null: not known), "i": {home: {ranges: "a b"}}: parameters that are all the
                while as in that class's line, "p": {name: ...}: its others, in positional order after these, "o": changes
                of "a b c": that order where it is another one, else null; only of those given by position, of a dataclass
                eight, and none of one that has bases in other packages, "shims": changes of {old: new
                or null}, "dep": changes of message or null,
                "m": {method: like a function's entry}: only its own methods, the others are its ancestors',
                "x": [[ranges, method, lines], ...]: in each release, the lines that are there in it make the program of
                that method's checks, in the order in which they stand}
               "forward": keywords go on to a base in another package; "open": to nobody knows where; "swallow": nowhere.
    p's        {"r", "d": changes of the default as Python source (null: required; an enum's member by its value, a factory
                by what it makes, `...` where it is too long), "a": changes of the annotation (in the newer spelling:
                `int | None`), "c": changes of choices, "e": changes of whether Python enforces them,
                "w": [[ranges, message, condition, raises]], "h": changes of the home of the class it is inherited from}
"f <path>"     a function at its home: {"r", "o", "n", "kw", "p", "shims", "dep"} likewise
"e <path>"     an enum of strings: {"<value>": ranges}
"x trl <sub>"  a command line: {"r", "d": changes of [paths of the dataclasses whose fields are its flags]}
```

Keys whose value says nothing are left out: "kw" that is always null, "e" that is always false, and "w", "c", "a", "b", "m",
"o", "i", "shims", "dep", "x", "h", "star" that are empty; "r" of a parameter or method that is there whenever its class is.
Names that begin with two underscores are not listed, `__version__` aside.
"""
