"""
Programs whose options are known, for rules that allow.

A rule that allows `git diff *` allows the options that only choose what is shown, and no option that writes a file or
starts another program. Each program lists what is harmless; an option that is not listed is not. Option clusters are
taken apart (`-sb` is `-s -b`), a value belongs to the option before it, and an abbreviation of a long option is not
that option. Of a program that is not listed no option is harmless.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

READS, CHANGES_INSIDE, MAY_DO_ANYTHING = "reads", "changes-inside", "may-do-anything"
"""
What a program can do with harmless options: read, change files of the worktree that it names, or whatever other files
tell it to do (`make`, `pytest`). Only the first two are known to be without effect outside of the worktree.
"""


class KnownOptions:
    """The harmless options of one program, or of one of its verbs."""

    __slots__ = ("all_harmless", "alone", "attached", "effect", "flags", "long", "passes_on", "single_dash", "valued")

    def __init__(
        self,
        effect: str,
        flags: str = "",
        valued: str = "",
        long: str = "",
        attached: str = "",
        *,
        all_harmless: bool = False,
        single_dash: bool = False,
        passes_on: bool = False,
        alone: str = "",
    ) -> None:
        self.effect = effect
        self.flags = flags
        """Letters without a value."""
        self.valued = valued
        """Letters whose value is the rest of the word, or the next one."""
        self.attached = attached
        """Letters whose value, if there is one, is the rest of the word."""
        self.alone = alone
        """Letters with a value that are harmless only as a word of their own: in a cluster, others take words too."""
        self.long = f" {long} "
        """
        Names without dashes, between spaces; those that end with `=` take the next word as their value if they have
        none.
        """
        self.all_harmless = all_harmless
        self.single_dash = single_dash
        """Are long options written with one dash, as `go test -run` and `find -name`?"""
        self.passes_on = passes_on or single_dash
        """Are the words behind `--` options of something that it starts, or still its own?"""

    def knows(self, name: str) -> bool:
        """Is this one of its long names? They are searched as text: each permission hook makes this table anew."""
        return bool(name) and " " not in name and f" {name} " in self.long


class NamedOption:
    """One option as it stands on a line."""

    __slots__ = ("is_harmless", "name", "word")

    def __init__(self, name: str, word: str, *, is_harmless: bool) -> None:
        self.name = name
        """`-s` of `-sb`, `--format` of `--format=x`."""
        self.word = word
        """The whole word."""
        self.is_harmless = is_harmless


def options_of(words: Sequence[str], known: KnownOptions | None) -> Iterator[NamedOption]:
    """
    Every option among the words behind a program's name, one letter at a time.

    The word behind an option is judged like any other, although it may be the option's value: a value that begins with
    a dash costs a question, and an option that was taken for a value would cost more. For the same reason a `--` behind
    an option that may take it as its value ends nothing.
    """
    is_over = may_take = False
    for word in words:
        if is_over or not word.startswith("-") or word == "-":
            may_take = False
        elif known is None or known.all_harmless:
            yield NamedOption(word, word, is_harmless=known is not None)
        elif word == "--":
            is_over, may_take = not (known.passes_on or may_take), False
        elif word.startswith("--") or known.single_dash:
            name, equals, _ = word.partition("=")
            bare = name.lstrip("-")
            takes_value, stands_alone = known.knows(f"{bare}="), known.knows(bare)
            yield NamedOption(name, word, is_harmless=takes_value or stands_alone)
            may_take = not equals and not stands_alone
        else:
            found = [*_cluster(word, known)]
            yield from found
            may_take = len(found) == len(word) - 1 and word[-1] in known.valued


def _cluster(word: str, known: KnownOptions) -> Iterator[NamedOption]:
    for at, letter in enumerate(word[1:], 2):
        if letter.isdecimal() and at == 2 and "#" in known.flags and word[1:].isdecimal():
            yield NamedOption("-#", word, is_harmless=True)  # `git log -5`, `head -20`
            return
        takes_value = letter in known.valued or letter in known.attached or (letter in known.alone and len(word) == 2)
        yield NamedOption(f"-{letter}", word, is_harmless=takes_value or letter in known.flags)
        if takes_value or letter not in known.flags:
            return


def could_become_an_option(word: str) -> bool:
    """May the shell put a name there that begins with a dash? For words with a wildcard without quotes."""
    return word[:1] in ("*", "?", "[", "-")


_READER = KnownOptions(READS, all_harmless=True)
_DIFF = (
    "stat stat= numstat shortstat summary name-only name-status patch no-patch raw unified= cached staged word-diff "
    "word-diff= color color= no-color color-words exit-code quiet diff-filter= relative relative= no-relative binary "
    "patience histogram minimal diff-algorithm= find-renames find-renames= find-copies no-renames check full-index "
    "abbrev abbrev= ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines function-context "
    "inter-hunk-context= merge-base no-ext-diff no-textconv src-prefix= dst-prefix= no-prefix "
    "pickaxe-regex pickaxe-all compact-summary dirstat patch-with-stat text ignore-cr-at-eol"
)
_LOG = (
    f"{_DIFF} oneline graph all branches tags remotes decorate decorate= no-decorate pretty= format= since= until= "
    "after= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings "
    "perl-regexp follow first-parent merges no-merges reverse abbrev-commit no-abbrev-commit date= max-count= skip= "
    "left-right left-only right-only cherry cherry-mark cherry-pick count topo-order date-order author-date-order "
    "full-history simplify-merges ancestry-path boundary walk-reflogs no-walk not min-parents= max-parents= pretty "
    "no-notes notes source full-diff reflog log-size parents children cc no-expand-tabs encoding="
)
_SHORT_DIFF, _SHORT_DIFF_VALUES, _SHORT_DIFF_ATTACHED = "pubwzRaWs#", "SG", "UMCBlD"
_GIT_READS: dict[str, KnownOptions] = {
    "status": KnownOptions(
        READS,
        "sbvz",
        long="short branch show-stash porcelain porcelain= long verbose untracked-files untracked-files= ignored "
        "ignored= ignore-submodules ignore-submodules= ahead-behind no-ahead-behind renames no-renames column "
        "no-column",
        attached="u",
    ),
    "diff": KnownOptions(READS, _SHORT_DIFF, _SHORT_DIFF_VALUES, _DIFF, _SHORT_DIFF_ATTACHED),
    **dict.fromkeys(
        ("log", "show", "whatchanged", "rev-list"),
        KnownOptions(READS, f"{_SHORT_DIFF}iEFPgcmtr", f"{_SHORT_DIFF_VALUES}nL", _LOG, _SHORT_DIFF_ATTACHED),
    ),
    "shortlog": KnownOptions(READS, "snec", long=_LOG, attached="w"),
    "blame": KnownOptions(
        READS, "swefntlcb", "L", "line-porcelain porcelain incremental show-email root date= since=", "MC"
    ),
    "grep": KnownOptions(
        READS,
        "niIlLchHowvEFGPqpWaz",
        "eABC",
        "line-number ignore-case files-with-matches files-without-match name-only count word-regexp invert-match "
        "extended-regexp fixed-strings perl-regexp basic-regexp only-matching heading break cached untracked "
        "and or not "
        "no-color color color= max-depth= show-function function-context after-context= before-context= context= "
        "full-name recursive no-recursive column quiet all-match",
    ),
    "ls-files": KnownOptions(
        READS,
        "cdmosuktvfz",
        "x",
        "cached deleted modified others stage unmerged killed exclude-standard exclude= full-name error-unmatch abbrev "
        "deduplicate directory ignored",
    ),
    "ls-tree": KnownOptions(READS, "drtlz", long="name-only name-status full-name full-tree abbrev abbrev= long"),
    "rev-parse": KnownOptions(
        READS,
        "q",
        all_harmless=False,
        long=(
            "verify short short= abbrev-ref show-toplevel git-dir git-common-dir is-inside-work-tree "
            "show-prefix symbolic "
            "symbolic-full-name absolute-git-dir show-cdup is-bare-repository quiet all branches tags "
            "remotes show-superproject-working-tree"
        ),
    ),
    "cat-file": KnownOptions(READS, "tpse"),
    "describe": KnownOptions(
        READS,
        long="tags all long dirty dirty= always abbrev= contains match= exclude= exact-match candidates= first-parent",
    ),
    "merge-base": KnownOptions(READS, "a", long="all is-ancestor octopus independent fork-point"),
    "show-ref": KnownOptions(READS, "sdqh", long="heads branches tags verify hash head abbrev dereference quiet"),
    "count-objects": KnownOptions(READS, "vH", long="verbose human-readable"),
    "cherry": KnownOptions(READS, "v", long="abbrev abbrev="),
    "reflog": KnownOptions(READS, "#", "n", _LOG),
    "version": KnownOptions(READS, long="build-options"),
    "diff-tree": KnownOptions(
        READS, f"{_SHORT_DIFF}rtmc", _SHORT_DIFF_VALUES, f"{_DIFF} root no-commit-id", _SHORT_DIFF_ATTACHED
    ),
}
_GIT_CHANGES: dict[str, KnownOptions] = {
    "add": KnownOptions(
        CHANGES_INSIDE,
        "Auvnf",
        long="all update verbose dry-run force intent-to-add no-all ignore-errors chmod= refresh",
    ),
    "commit": KnownOptions(
        CHANGES_INSIDE,
        "aqsvnp",
        "mC",
        "all message= amend no-edit quiet signoff verbose no-verify allow-empty allow-empty-message author= date= "
        "fixup= squash= dry-run only include reuse-message= no-gpg-sign cleanup= status no-status",
        "u",
    ),
    "stash": KnownOptions(
        CHANGES_INSIDE,
        "uakqp",
        "m",
        "message= include-untracked all keep-index no-keep-index index quiet staged stat patch",
    ),
    "checkout": KnownOptions(
        CHANGES_INSIDE, "qftl", "b", "quiet force track no-track detach ours theirs merge orphan= conflict="
    ),
    "switch": KnownOptions(CHANGES_INSIDE, "dqt", "c", "create= detach quiet track no-track orphan= guess no-guess"),
    "restore": KnownOptions(
        CHANGES_INSIDE, "SWq", "s", "staged worktree source= quiet ours theirs merge ignore-unmerged"
    ),
    "merge": KnownOptions(
        CHANGES_INSIDE,
        "qn",
        "m",
        "no-ff ff ff-only no-edit abort continue quit squash no-commit quiet message= stat no-stat",
    ),
    "rebase": KnownOptions(
        CHANGES_INSIDE,
        "q",
        long="abort continue skip quit onto= keep-empty autostash no-autostash quiet no-verify stat",
    ),
    "cherry-pick": KnownOptions(CHANGES_INSIDE, "xn", "m", "abort continue skip quit no-commit mainline="),
    "revert": KnownOptions(CHANGES_INSIDE, "n", "m", "no-edit abort continue skip quit no-commit mainline="),
    "reset": KnownOptions(CHANGES_INSIDE, "qN", long="hard soft mixed merge keep quiet"),
    "mv": KnownOptions(CHANGES_INSIDE, "fknv", long="force verbose dry-run"),
    "rm": KnownOptions(CHANGES_INSIDE, "rfqn", long="cached force quiet dry-run ignore-unmatch"),
    "clean": KnownOptions(CHANGES_INSIDE, "fdnqxX", "e", "force dry-run quiet exclude="),
    "branch": KnownOptions(
        CHANGES_INSIDE,
        "arvq",
        long="all remotes list show-current verbose contains contains= merged merged= no-merged sort= "
        "format= points-at= "
        "no-color color column no-column quiet no-track",
    ),
    "tag": KnownOptions(
        CHANGES_INSIDE, "la", "mn", "list annotate message= sort= format= contains contains= points-at= merged merged="
    ),
    "remote": KnownOptions(READS, "v", long="verbose"),
    "worktree": KnownOptions(MAY_DO_ANYTHING, "v", long="porcelain verbose"),
}
"""Verbs that change the worktree, or its branch. Removing and renaming branches and tags is not among their options."""

_CARGO = KnownOptions(
    MAY_DO_ANYTHING,
    "qvr",
    "pjFDWA",
    "workspace all all-features all-targets release lib bins tests examples benches doc no-run no-fail-fast locked "
    "offline frozen no-default-features quiet verbose package= features= test= bin= example= exclude= jobs= check "
    "message-format= color= depth= fix allow-dirty no-deps keep-going nocapture test-threads= exact ignored "
    "include-ignored show-output",
    passes_on=True,
)
_GO = KnownOptions(
    MAY_DO_ANYTHING,
    long="v run= count= race short timeout= bench= benchmem cover failfast json parallel= p= tags= list= "
    "skip= shuffle= "
    "m u f= cpu= x n",
    single_dash=True,
)
_PYTEST = KnownOptions(
    MAY_DO_ANYTHING,
    "xvqslh",
    "kmn",
    "verbose quiet exitfirst maxfail= tb= lf last-failed ff failed-first nf new-first sw stepwise co collect-only "
    "durations= durations-min= no-header no-summary capture= color= strict-markers strict-config numprocesses= dist= "
    "show-capture= disable-warnings deselect= markers fixtures version help timeout= randomly-seed= "
    "runxfail sw-skip stepwise-skip setup-show full-trace showlocals no-showlocals verbosity= cache-show",
    "r",
)
_NPM = KnownOptions(
    MAY_DO_ANYTHING, "s", long="silent if-present workspaces include-workspace-root foreground-scripts", passes_on=True
)

COORDINATING = (
    *("send", "read", "request", "ack", "broadcast", "inbox", "receipts", "tasks", "approvals", "sync", "status"),
    *("members", "watch", "peek", "logs", "runs", "snapshot", "prime", "deliver", "version", "down"),
)
"""Commands of atm that mail, plan and tell: who may use them, and for what, they decide themselves."""

KNOWN_OPTIONS: dict[str, KnownOptions] = {
    **dict.fromkeys(
        (
            *("ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "pwd", "stat", "du", "df", "basename"),
            *("dirname", "realpath", "readlink", "nl", "tac", "rev", "cut", "tr", "cmp", "comm", "cksum", "md5sum"),
            *("sha1sum", "sha256sum", "sha512sum", "id", "whoami", "uname", "true", "false", ":", "echo", "printf"),
            *("seq", "which", "type", "column", "fold", "expand", "paste", "join", "od", "hexdump", "sleep", "nproc"),
            *("free", "uptime", "ps", "jq", "test", "[", "exit", "return", "tty", "groups", "cd"),
        ),
        _READER,
    ),
    **{f"atm {verb}": KnownOptions(CHANGES_INSIDE, all_harmless=True) for verb in COORDINATING},
    "diff": KnownOptions(
        READS,
        "urqNwbBiycspaETdt#",
        "UCxXFIW",
        "unified unified= context context= recursive brief report-identical-files new-file ignore-all-space "
        "ignore-space-change ignore-blank-lines ignore-case side-by-side color color= exclude= label= "
        "strip-trailing-cr "
        "suppress-common-lines width= text minimal no-dereference",
    ),
    "sort": KnownOptions(
        READS,
        "bcCdfghiMnRrsuVz",
        "kt",
        "reverse numeric-sort unique key= field-separator= human-numeric-sort version-sort ignore-case stable check "
        "zero-terminated general-numeric-sort month-sort dictionary-order ignore-leading-blanks",
    ),
    "uniq": KnownOptions(
        READS, "cdDiuz", "fsw", "count repeated unique ignore-case skip-fields= skip-chars= check-chars="
    ),
    "find": KnownOptions(
        READS,
        long="name= iname= path= ipath= wholename= regex= iregex= regextype= type= xtype= maxdepth= mindepth= "
        "size= mtime= "
        "mmin= ctime= cmin= atime= amin= newer= newermt= perm= user= group= links= inum= lname= print "
        "print0 printf= ls "
        "prune not o a and or empty true false quit follow L H P xdev mount depth readable writable executable nouser "
        "nogroup samefile=",
        single_dash=True,
    ),
    "tree": KnownOptions(
        READS,
        "adfishDpugCnNqtrvxlFJXASQ",
        "",
        "dirsfirst noreport prune gitignore du si charset= filelimit= filesfirst",
        alone="LIP",
    ),
    "rg": KnownOptions(
        READS,
        "nNilcvwxoshHuUFSPaL0pqb.I",
        "eABCgtTmMjrfdE",
        "line-number no-line-number ignore-case files files-with-matches files-without-match count count-matches "
        "invert-match word-regexp line-regexp only-matching hidden no-ignore no-ignore-vcs glob= iglob= "
        "type= type-not= "
        "after-context= before-context= context= max-count= max-columns= max-depth= fixed-strings smart-case "
        "case-sensitive pcre2 multiline multiline-dotall no-heading heading color= json vimgrep sort= sortr= stats "
        "trim replace= null follow no-filename with-filename column no-messages regexp= type-list unrestricted "
        "passthru text quiet pretty no-config",
    ),
    "file": KnownOptions(READS, "bikLhprsE0", "F", "brief mime mime-type mime-encoding dereference no-dereference"),
    "date": KnownOptions(READS, "uR", "d", "utc date= iso-8601 iso-8601= rfc-email rfc-3339= universal", "I"),
    "sed": KnownOptions(
        CHANGES_INSIDE,
        "nErszu",
        "el",
        "quiet silent regexp-extended separate null-data unbuffered posix expression= line-length= in-place "
        "in-place= debug",
        "i",
    ),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), KnownOptions(READS, "", "Fv", "field-separator= assign=")),
    "mkdir": KnownOptions(CHANGES_INSIDE, "pv", "m", "parents verbose mode="),
    "touch": KnownOptions(CHANGES_INSIDE, "acmh", "dtr", "no-create date= reference="),
    "rm": KnownOptions(
        CHANGES_INSIDE, "rRfidvI", long="recursive force verbose dir interactive one-file-system preserve-root"
    ),
    "rmdir": KnownOptions(CHANGES_INSIDE, "pv", long="parents verbose ignore-fail-on-non-empty"),
    "cp": KnownOptions(
        CHANGES_INSIDE,
        "rRapfnuvdLPHixlT",
        long="recursive archive force no-clobber update verbose no-dereference dereference preserve preserve= "
        "parents no-target-directory",
    ),
    "mv": KnownOptions(
        CHANGES_INSIDE, "fnivuT", long="force no-clobber verbose update interactive no-target-directory"
    ),
    "chmod": KnownOptions(CHANGES_INSIDE, "Rvcf", long="recursive verbose changes silent quiet"),
    "tee": KnownOptions(CHANGES_INSIDE, "ai", long="append ignore-interrupts"),
    "truncate": KnownOptions(CHANGES_INSIDE, "co", "sr", "no-create size="),
    **dict.fromkeys(
        ("make", "gmake"),
        KnownOptions(
            MAY_DO_ANYTHING,
            "sknBqiwh",
            "",
            "silent quiet keep-going dry-run just-print always-make no-print-directory jobs jobs= load-average= "
            "ignore-errors print-directory output-sync output-sync= version help question trace",
            "jlO",
        ),
    ),
    **dict.fromkeys(("pytest", "py.test", "python -m pytest"), _PYTEST),
    "python -m unittest": KnownOptions(MAY_DO_ANYTHING, "vqfbc", "k", "verbose quiet failfast buffer locals"),
    **{
        f"{name} {verb}": _NPM
        for name in ("npm", "pnpm", "yarn", "bun")
        for verb in ("test", "t", "run", "start", "lint", "build")
    },
    **{
        f"cargo {verb}": _CARGO
        for verb in ("test", "build", "check", "clippy", "fmt", "doc", "tree", "bench", "run", "nextest")
    },
    **{f"go {verb}": _GO for verb in ("test", "build", "vet", "list", "fmt", "version", "run")},
    **dict.fromkeys(
        ("ruff check", "ruff format"),
        KnownOptions(
            MAY_DO_ANYTHING,
            "qvs",
            long="fix no-fix diff check quiet verbose select= ignore= extend-select= statistics preview unsafe-fixes "
            "output-format= exit-zero line-length= target-version= show-fixes",
        ),
    ),
    "mypy": KnownOptions(
        MAY_DO_ANYTHING,
        "v",
        "pm",
        "strict ignore-missing-imports show-error-codes pretty no-error-summary python-version= package= module= "
        "no-incremental verbose show-column-numbers check-untyped-defs",
    ),
    **{f"git {verb}": known for verb, known in _GIT_READS.items()},
    **{f"git {verb}": known for verb, known in _GIT_CHANGES.items()},
    "timeout": KnownOptions(READS, "v", "ks", "foreground preserve-status verbose signal= kill-after="),
    "nice": KnownOptions(READS, "#", "n", "adjustment="),
    "ionice": KnownOptions(READS, "t", "cn", "class= classdata= ignore"),
    "time": KnownOptions(READS, "p"),
    "stdbuf": KnownOptions(READS, "", "ioe", "input= output= error="),
    "setsid": KnownOptions(READS, "wf", long="wait fork"),
    "exec": KnownOptions(READS, "cl"),
    "command": KnownOptions(READS, "vV"),
    **dict.fromkeys(("builtin", "nohup", "noglob", "nocorrect", "-", "env"), KnownOptions(READS)),
    **dict.fromkeys(("sh", "bash", "dash", "ash"), KnownOptions(READS, "ceuxvf", "oO", "norc noprofile posix")),
    "fish": KnownOptions(READS, "cN", long="no-config"),
    "zsh": KnownOptions(READS, "cfeux", "o"),
}
"""By program, or by program and verb."""

VERBED = frozenset(("atm", "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "ruff"))
"""Programs whose second word is a verb: a pattern that names a verb names that one."""


def known_options(words: Sequence[str]) -> KnownOptions | None:
    """Of a program with its words, under the name that counts; None if none of its options are known."""
    name = words[0]
    if name == "python" and words[1:2] == ["-m"] and len(words) > 2:
        return KNOWN_OPTIONS.get(f"python -m {words[2]}")
    if name in VERBED:
        return KNOWN_OPTIONS.get(f"{name} {words[1]}") if len(words) > 1 else None
    return KNOWN_OPTIONS.get(name)
