"""
What shells offer, from the tables that the parser reads: bash and zsh share the tables and what lists names.

A TAB starts no Python: teams, members, tasks and messages come from the files they lie in, read by the shell. Names and
texts in these come from anybody: they are compared and quoted, never expanded.
"""

from __future__ import annotations

from atm.config.known import KNOWN
from atm.ui.cli.catalog import COMMANDS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.ui.cli.arguments import Command, Option

KINDS = {"TEAM": "team", "NAME": "member", "PATH": "file", "FILE": "file", "DIR": "file"}
"""What the value of an option is, by the word that stands for it in the help."""


def leaves() -> list[Command]:
    """Every command, to any depth."""
    found, waiting = [], [load(name)[0] for name in COMMANDS]
    while waiting:
        one = waiting.pop(0)
        found.append(one)
        waiting[:0] = one.subcommands
    return found


def options_of(command: Command) -> tuple[Option, ...]:
    """Its own; those of its verb, for a bare noun."""
    bare = command.subcommand(command.default)
    return (bare or command).options


def kind_of(command: Command, option: Option) -> str:
    """What its value is: a kind of name, or the words to choose from."""
    if option.choices:
        return " ".join(option.choices)
    if option.value == "STATE":
        from atm.ui.views.looks import STATES

        return " ".join(STATES)
    if option.value == "ID":
        return "task" if command.name.startswith("tasks") else "message" if option.key == "reply_to" else "-"
    return KINDS.get(option.value, "-")


def kinds_of(command: Command) -> list[str]:
    """The same of its words, one after the other."""
    found = []
    for argument in command.arguments:
        choices = " ".join(KNOWN) if argument.complete == "setting" else " ".join(argument.choices)
        found.append(choices or argument.complete or "-")
    return found


NAMES = r"""
__atm_claude() {
  if [ -n "$ATM_HOME" ]; then printf '%s\n' "$ATM_HOME/.claude"
  else printf '%s\n' "${CLAUDE_CONFIG_DIR:-$HOME/.claude}"; fi
}
__atm_names() {
  local root file; root="$(__atm_claude)"
  case "$1" in
    team) find "$root/teams" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sed 's|.*/||' | sort -u ;;
    member) find "$root/teams" -path '*/inboxes/*.json' 2>/dev/null | sed 's|.*/||; s|\.json$||' | sort -u ;;
    task) find "$root/tasks" -name '[0-9]*.json' 2>/dev/null | while IFS= read -r file; do
        printf '%s:%s\n' "$(basename "$file" .json)" "$(sed -n 's/^  "subject": "\(.*\)",$/\1/p' "$file" | head -n 1)"
      done | sort -n ;;
    message) find "$root/teams" -path '*/inboxes/*.json' -exec cat {} + 2>/dev/null |
        sed -n 's/.*"from": "\([^"]*\)".*"message_id": "\([0-9a-f-]*\)".*/\2:from \1/p' | sort -u ;;
  esac
}
"""


def tables() -> str:
    """`__atm_table COMMAND`: subs, opts (`name:what it is`, a line each) and kinds. `__atm_value COMMAND OPTION`."""
    rows, values = [], []
    for command in leaves():
        subs = _lines((one.word, one.summary) for one in command.subcommands)
        opts = _lines((name, one.help) for one in options_of(command) for name in one.names if name.startswith("--"))
        kinds = "\n".join(kinds_of(command))
        rows.append(f"    {_quoted(command.name)}) subs={subs} opts={opts} kinds={_quoted(kinds)} ;;")
        for option in options_of(command):
            if option.value:
                names = "|".join(_quoted(f"{command.name} {name}") for name in option.names)
                values.append(f"    {names}) value={_quoted(kind_of(command, option))} ;;")
    top = _lines(
        [
            *COMMANDS.items(),
            ("help", "help about a command"),
            ("--version", "which version this is"),
            ("--help", "the commands"),
        ]
    )
    joined, of_values = "\n".join(rows), "\n".join(values)
    return f"""__atm_table() {{
  subs="" opts="" kinds=""
  case "$1" in
    "") subs={top} ;;
    help) subs={_lines(COMMANDS.items())} ;;
{joined}
    *) return 1 ;;
  esac
}}
__atm_value() {{
  value=""
  case "$1 $2" in
{of_values}
    *" --team"|*" -t") value=team ;;
    *" --as") value=member ;;
  esac
}}"""


def _lines(pairs: Iterable[tuple[str, str]]) -> str:
    return _quoted("\n".join(f"{name}:{text}" for name, text in pairs))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


PLACE = r"""
# Where the cursor is: `command` is the longest one that the words before it name, `place` how many words follow it.
__atm_place() {
  local word previous="" trial value
  command="" place=0
  for word in "$@"; do
    if [ -n "$previous" ]; then __atm_value "$command" "$previous"; previous=""; [ -n "$value" ] && continue; fi
    case "$word" in
      --*=*) continue ;;
      -*) previous="$word"; continue ;;
    esac
    trial="${command:+$command }$word"
    if [ "$place" -eq 0 ] && __atm_table "$trial"; then command="$trial"; else place=$((place + 1)); fi
  done
}
"""

BASH = r"""
__atm_offer() {
  local word quoted
  while IFS= read -r word; do
    word="${word%%:*}"
    case "$word" in "$1"*) [ -n "$word" ] && printf -v quoted %q "$word" && COMPREPLY+=("$quoted") ;; esac
  done
}
__atm_kind() {
  case "$1" in
    team|member|task|message) __atm_offer "$2" < <(__atm_names "$1") ;;
    file) __atm_offer "$2" < <(compgen -f -- "$2") ;;
    -|"") ;;
    *) __atm_offer "$2" < <(printf '%s\n' $1) ;;
  esac
}
_atm() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
  local command place subs opts kinds value
  COMPREPLY=()
  __atm_place "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  __atm_value "$command" "$prev"
  if [ -n "$value" ]; then __atm_kind "$value" "$cur"; return; fi
  __atm_table "$command"
  case "$cur" in -*) __atm_offer "$cur" <<<"$opts"; [ -n "$command" ] || __atm_offer "$cur" <<<"$subs"; return ;; esac
  [ "$place" -eq 0 ] && __atm_offer "$cur" <<<"$subs"
  __atm_kind "$(sed -n "$((place + 1))p" <<<"$kinds")" "$cur"
}
complete -F _atm atm"""

ZSH = r"""
__atm_lines() {
  local -a found; found=("${(@f)2}"); found=(${found:#})
  [ "$1" = option ] && { _describe -o option found; return }
  (( $#found )) && _describe -t "$1" "$1" found
}
__atm_kind() {
  case "$1" in
    team|member|task|message) __atm_lines "$1" "$(__atm_names "$1")" ;;
    file) _files ;;
    -|"") ;;
    *) compadd -- ${=1} ;;
  esac
}
_atm() {
  local command place subs opts kinds value
  __atm_place "${(@)words[2,CURRENT-1]}"
  __atm_value "$command" "$words[CURRENT-1]"
  if [ -n "$value" ]; then __atm_kind "$value"; return; fi
  __atm_table "$command"
  if [[ "$words[CURRENT]" = -* ]]; then __atm_lines option "$opts"; return; fi
  [ "$place" -eq 0 ] && __atm_lines command "$subs"
  local -a each; each=("${(@f)kinds}")
  __atm_kind "${each[place + 1]}"
}
if [ "$funcstack[1]" = "_atm" ]; then _atm "$@"; else compdef _atm atm; fi"""

FISH = r"""
function __atm_claude
  if set -q ATM_HOME; echo $ATM_HOME/.claude
  else if set -q CLAUDE_CONFIG_DIR; echo $CLAUDE_CONFIG_DIR
  else; echo $HOME/.claude; end
end
function __atm_names
  set -l root (__atm_claude)
  switch $argv[1]
    case team
      find $root/teams -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sed 's|.*/||' | sort -u
    case member
      find $root/teams -path '*/inboxes/*.json' 2>/dev/null | sed 's|.*/||; s|\.json$||' | sort -u
    case task
      for path in (find $root/tasks -name '[0-9]*.json' 2>/dev/null)
        printf '%s\t%s\n' (basename $path .json) (sed -n 's/^  "subject": "\(.*\)",$/\1/p' $path | head -n 1)
      end
    case message
      find $root/teams -path '*/inboxes/*.json' -exec cat {} + 2>/dev/null |
        sed -n 's/.*"from": "\([^"]*\)".*"message_id": "\([0-9a-f-]*\)".*/\2\tfrom \1/p' | sort -u
  end
end
function __atm_at
  set -l plain
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1; set skip 0; continue; end
    switch $word
      case --team --as -t; set skip 1
      case '-*'
      case '*'; set -a plain $word
    end
  end
  set -l wanted $argv[2..-1]
  set -l count (count $wanted)
  if test $argv[1] = exactly; and test (count $plain) -ne $count; return 1; end
  if test $count -eq 0; return 0; end
  test (count $plain) -ge $count; and test "$plain[1..$count]" = "$wanted"
end
complete -c atm -f"""


def bash() -> str:
    return f'# bash completion for atm: eval "$(atm completion bash)"{NAMES}{tables()}{PLACE}{BASH}'


def zsh() -> str:
    head = '#compdef atm\n# zsh completion for atm: put it as _atm on your $fpath, or: eval "$(atm completion zsh)"'
    return f"{head}{NAMES}{tables()}{PLACE}{ZSH}"


def fish() -> str:
    lines = ["# fish completion for atm: atm completion fish > ~/.config/fish/completions/atm.fish", FISH.strip("\n")]
    for name, summary in COMMANDS.items():
        lines.append(f"complete -c atm -n '__atm_at exactly' -a {name} -d {_fish(summary)}")
    for name, kind in (("team", "team"), ("as", "member")):
        lines.append(f"complete -c atm -n '__atm_at exactly' -l {name} -x {_fish_value(kind)}")
    for command in leaves():
        lines += _fish_command(command)
    return "\n".join(lines)


def _fish_command(command: Command) -> list[str]:
    lines = [f"# {command.name}"]
    for sub in command.subcommands:
        lines.append(f"complete -c atm -n '__atm_at exactly {command.name}' -a {sub.word} -d {_fish(sub.summary)}")
    for kind in dict.fromkeys(kinds_of(command)):
        lines += [f"complete -c atm -n '__atm_at begins {command.name}' {_fish_value(kind)}"] if kind != "-" else []
    for option in command.options:
        names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
        kind = kind_of(command, option) if option.value else ""
        takes = f" {_fish_value(kind)}" if kind not in ("", "-") else ""
        takes = f"{' -r' if kind == 'file' else ' -x'}{takes}" if option.value else ""
        lines.append(f"complete -c atm -n '__atm_at begins {command.name}' {names}{takes} -d {_fish(option.help)}")
    return lines


def _fish_value(kind: str) -> str:
    if kind == "file":
        return "-F"
    return f"-a '(__atm_names {kind})'" if kind in ("team", "member", "task", "message") else f"-a {_fish(kind)}"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
