"""Git: what its own small files say, and the one place from which the program `git` is started."""
