"""Programs that are known by their names, for `acts`. What is not in here is a program like any other."""

from __future__ import annotations

SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish"))

READING_SHELLS = frozenset(("zsh", "fish"))
"""Shells that read files of their own even for one line."""

WRAPPERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "command": ((), ("-p",)),
    "builtin": ((), ()),
    "exec": (("-a",), ("-c", "-l")),
    "nohup": ((), ()),
    "time": (("-f", "-o"), ("-p", "-v", "-a")),
    "nice": (("-n",), ()),
    "ionice": (("-c", "-n"), ("-t",)),
    "setsid": ((), ("-w", "-f", "--wait", "--fork")),
    "stdbuf": (("-i", "-o", "-e"), ()),
    "timeout": (("-k", "-s", "--signal", "--kill-after"), ("--foreground", "-v", "--preserve-status")),
    "env": (("-u", "--unset"), ("-i", "-0", "--ignore-environment")),
    "noglob": ((), ()),
    "nocorrect": ((), ()),
    "-": ((), ()),
}
"""Start what follows and change nothing about it: options with a value, options without. Others are not understood."""

PRIVILEGED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sudo": (("-u", "-g", "-h", "-p", "-C", "-T"), ("-n", "-E", "-H", "-k", "-S", "-b", "--")),
    "doas": (("-u", "-C"), ("-n", "-s")),
    "pkexec": (("--user",), ("--keep-cwd",)),
}
"""Start what follows as somebody else."""

STRANGE = frozenset(
    (
        *("source", ".", "alias", "unalias", "trap", "hash", "enable", "function", "bind", "complete", "su", "runuser"),
        *(
            "chroot",
            "unshare",
            "nsenter",
            "script",
            "expect",
            "screen",
            "tmux",
            "at",
            "batch",
            "crontab",
            "systemd-run",
        ),
        *("watch", "entr", "ssh-agent", "start-stop-daemon", "make-alias", "export", "declare", "typeset", "readonly"),
        *("flock", "strace", "ltrace", "valgrind", "gdb", "lldb", "taskset", "chrt", "numactl", "prlimit", "setarch"),
        *("linux32", "linux64", "unbuffer", "rlwrap", "xvfb-run", "dbus-run-session", "dbus-launch", "caffeinate"),
        *("faketime", "firejail", "bwrap", "fakeroot", "proot", "torify", "torsocks", "proxychains", "proxychains4"),
        *("chpst", "setuidgid", "softlimit", "envdir", "run-parts", "choom", "setpriv", "capsh", "direnv", "nix-shell"),
        *("vi", "vim", "nvim", "view", "ex", "ed", "emacs", "emacsclient", "man", "zmodload", "shopt", "autoload"),
    )
)
"""Take commands from elsewhere, keep them for later, or change what other words mean."""

CODE_FLAGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("python", "pypy"), ("-c",)),
    **dict.fromkeys(("perl", "ruby", "lua", "luajit"), ("-e", "-E")),
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), ("-e", "-p", "--eval", "--print", "eval", "repl")),
    "php": ("-r", "-B", "-R", "-E", "--run"),
    "osascript": ("-e",),
    "rscript": ("-e",),
}
"""Interpreters, without their versions, and the words by which they run what stands on the line."""

FLAGS_WITHOUT_VALUE = ("-u", "-B", "-s", "-S", "-O", "-OO", "-b", "-q", "-w", "--inspect", "--watch")
"""Options of interpreters behind which the next word is a file."""

SHELL_VALUES = ("--rcfile", "--init-file")
SHELL_FLAGS = ("--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose", "--version", "--help")

AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))

RUNNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("poetry", "pipenv", "pdm", "hatch", "rye", "uv", "conda", "mamba", "micromamba", "dotenv"), ("run",)
    ),
    **dict.fromkeys(("bundle", "asdf", "rbenv", "pyenv", "nodenv", "aws-vault"), ("exec",)),
    "mise": ("exec", "x"),
}
"""Programs that start what follows one of these verbs."""

RUNNING_OPTIONS: dict[str, tuple[str, ...]] = {
    "tar": (
        *("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script"),
        *("--rsh-command", "-I", "-F"),
    ),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "rg": ("--pre", "--hostname-bin"),
    "sort": ("--compress-program",),
    "zip": ("-TT", "--unzip-command"),
    "make": ("--eval", "SHELL="),
    "gmake": ("--eval", "SHELL="),
}
"""Options whose value is a command."""

ALIASES_OF_REMOVAL = frozenset(
    ("rm", "rmdir", "unlink", "shred", "srm", "wipe", "trash", "trash-put", "rimraf", "del", "erase")
)
OVERWRITING = frozenset(
    (
        *("mv", "tee", "dd", "truncate", "chmod", "chown", "chgrp", "rename", "touch", "gzip", "bzip2", "xz", "patch"),
        *("tar", "unzip", "bsdtar", "sponge"),
    )
)
WRITING_LAST = frozenset(("cp", "ln", "install", "rsync"))
"""Of their files the last is written, unless an option names another."""

BUILTINS = frozenset(
    (
        *(
            "echo",
            "cd",
            "pwd",
            "test",
            "[",
            "printf",
            "true",
            "false",
            ":",
            "type",
            "command",
            "builtin",
            "exec",
            "time",
        ),
        *(
            "exit",
            "return",
            "noglob",
            "nocorrect",
            "-",
            "eval",
            "chdir",
            "pushd",
            "popd",
            "source",
            ".",
            "read",
            "let",
            "export",
            "set",
        ),
    )
)
"""Words that a shell knows by itself: no file decides what they mean."""

EVALUATING = frozenset(
    (
        *("let", "read", "unset", "wait", "mapfile", "readarray", "getopts", "local", "integer", "float", "private"),
        *("set", "setenv", "unsetenv", "abbr", "emulate", "vared", "print", "zparseopts", "zformat", "fc", "sched"),
        *("functions", "unfunction", "disable", "unhash", "rehash", "zcompile", "zstyle", "ulimit", "umask"),
    )
)
"""Builtins that evaluate words, set variables, or change what the rest of the line means."""

NETWORK = frozenset(
    (
        *("curl", "wget", "aria2c", "ssh", "scp", "sftp", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "lftp"),
        *("dig", "nslookup", "host", "ping", "traceroute", "http", "https", "xh", "w3m", "lynx", "elinks", "links"),
        *("npx", "bunx", "pnpx", "uvx", "apt", "apt-get", "dnf", "yum", "brew", "apk", "pacman", "snap", "flatpak"),
        *("gh", "glab", "hub", "twine", "svn", "kubectl", "helm", "mail", "sendmail", "mutt", "ssh-copy-id", "rclone"),
    )
)
NETWORK_VERBS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pip", "pip3", "pipx"), ("install", "download", "wheel", "run", "upgrade", "inject", "index")),
    "uv": ("add", "sync", "pip", "publish", "tool", "lock", "python", "run"),
    "poetry": ("add", "install", "update", "publish", "lock"),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"),
        (
            "install",
            "i",
            "ci",
            "add",
            "update",
            "up",
            "upgrade",
            "publish",
            "exec",
            "dlx",
            "x",
            "login",
            "audit",
            "view",
        ),
    ),
    "cargo": ("install", "add", "update", "publish", "fetch", "search", "login"),
    "go": ("get", "install", "mod"),
    "gem": ("install", "update", "push", "fetch"),
    "bundle": ("install", "update", "add"),
    "composer": ("install", "update", "require"),
    **dict.fromkeys(("docker", "podman"), ("pull", "push", "login", "run", "build", "compose", "buildx")),
    "hg": ("push", "pull", "clone", "incoming", "outgoing"),
    "jj": ("git",),
}
CLOUDS = frozenset(
    (
        *("aws", "gcloud", "gsutil", "az", "doctl", "heroku", "fly", "flyctl", "vercel", "netlify", "wrangler"),
        *("terraform", "tofu", "pulumi", "stripe", "eksctl", "linode-cli", "hcloud", "railway"),
    )
)
OTHER_AGENTS = frozenset(("aider", "goose", "amp", "cursor-agent", "qwen"))
"""Beside the programs of `vendors`: who starts one of these spends money or tokens."""

GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source")
GIT_SETTINGS = ("-c", "--config-env", "--exec-path")
GIT_QUIET = (
    *("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs"),
    *("--icase-pathspecs", "--version", "-v", "--no-replace-objects"),
)
"""Options of git itself that change nothing about what a command may do."""
GIT_PLACES = ("--git-dir", "--work-tree")
GIT_NETWORK = ("fetch", "pull", "clone", "ls-remote", "send-email", "request-pull", "fetch-pack")
GIT_PUSHES = (("lfs", "push"), ("svn", "dcommit"), ("subtree", "push"))
GIT_NETWORK_PAIRS = (
    *(("remote", "update"), ("remote", "show"), ("remote", "prune"), ("submodule", "update"), ("submodule", "add")),
    *(("lfs", "pull"), ("lfs", "fetch"), ("svn", "fetch"), ("svn", "rebase"), ("subtree", "pull"), ("subtree", "add")),
)
GIT_RUNS: dict[str, tuple[str, ...]] = {
    "rebase": ("-x", "--exec"),
    "bisect": ("run",),
    "submodule": ("foreach",),
    "grep": ("-O", "--open-files-in-pager"),
    "init": ("--template",),
    "svn": ("--authors-prog",),
}
"""Commands of git, and the words by which they run what stands on the line."""

GIT_KNOWN = frozenset(
    (
        *("add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "checkout"),
        *("cherry", "cherry-pick", "clean", "clone", "commit", "config", "count-objects", "describe", "diff"),
        *("diff-tree", "diff-index", "fetch", "fetch-pack", "format-patch", "fsck", "gc", "grep", "hash-object"),
        *("help",),
        *("init", "lfs", "log", "ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "merge-tree", "mv", "notes"),
        *("prune", "pull", "push", "range-diff", "rebase", "reflog", "remote", "repack", "replace", "request-pull"),
        *("reset", "restore", "rev-list", "rev-parse", "revert", "rm", "send-email", "shortlog", "show", "show-ref"),
        *("sparse-checkout", "stash", "status", "submodule", "subtree", "svn", "switch", "symbolic-ref", "tag"),
        *("update-index", "update-ref", "var", "verify-commit", "version", "whatchanged", "worktree", "write-tree"),
    )
)
PUSH_VALUES = ("-o", "--push-option", "--receive-pack", "--exec", "--repo")


def known_name(word: str) -> str:
    """Under which a program is known, whatever its path, its version and, where that is one file, its letters."""
    name = word.rpartition("/")[2].lower().removesuffix(".exe")
    plain = name.rstrip("0123456789.-")
    return plain if plain in CODE_FLAGS or plain in ("pip", "git", *SHELLS) else name
