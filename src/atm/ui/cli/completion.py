"""
`atm completion`: scripts for bash, zsh and fish, from the tables that the parser reads. Static: a TAB starts no Python.

Names of members and teams come from the folders they lie in, listed by the shell itself.
"""

from __future__ import annotations

from atm.config.known import KNOWN
from atm.ui.cli.arguments import Args, Argument, Command
from atm.ui.cli.catalog import COMMANDS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Argument, Command
    from atm.ui.cli.session import Session


COMMAND = Command(
    "completion",
    "completion for your shell",
    arguments=(Argument("shell", "which shell", choices=("bash", "zsh", "fish")),),
    examples=(
        'eval "$(atm completion bash)"',
        "atm completion zsh > ~/.zfunc/_atm",
        "atm completion fish > ~/.config/fish/completions/atm.fish",
    ),
)


def execute(args: Args, session: Session) -> int:
    shell = args.need("shell")
    if args.flag("json"):  # never by a setting: the script is for a shell
        session.print_json({"action": "completion", "shell": shell, "script": script(shell)})
    else:
        session.print(script(shell))
    return 0


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _leaves() -> list[Command]:
    """Every command and subcommand."""
    found = []
    for name in COMMANDS:
        command = load(name)[0]
        found += [command, *command.subcommands]
    return found


def _options(command: Command) -> str:
    return " ".join(name for option in command.options for name in option.names if name.startswith("--"))


def _words(argument: Argument | None) -> str:
    if argument is None:
        return ""
    return " ".join(argument.choices)


def _bash() -> str:
    cases = []
    for command in _leaves():
        subs = " ".join(c.word for c in command.subcommands)
        first = command.arguments[0] if command.arguments else None
        kinds = {a.complete for a in command.arguments if a.complete}
        names = " ".join(f"{kind}s" for kind in ("team", "member") if kind in kinds)
        settings = " ".join(KNOWN) if "setting" in kinds else ""
        words = " ".join(filter(None, [subs, _words(first), _options(command), settings]))
        cases.append(f'    "{command.name}") words="{words}" names="{names}" ;;')
    groups = "|".join(name for name in COMMANDS if load(name)[0].subcommands)
    return f"""# bash completion for atm: eval "$(atm completion bash)"
__atm_root() {{
  if [ -n "$ATM_HOME" ]; then echo "$ATM_HOME/.claude/teams"
  else echo "${{CLAUDE_CONFIG_DIR:-$HOME/.claude}}/teams"; fi
}}
__atm_teams() {{
  local team
  for team in "$(__atm_root)"/*/; do [ -e "$team" ] && basename -- "$team"; done
}}
__atm_members() {{
  local inbox
  for inbox in "$(__atm_root)"/*/inboxes/*.json; do [ -e "$inbox" ] && basename -- "$inbox" .json; done
}}
# Names come from files that anybody may make: they are compared and quoted, never expanded.
__atm_offer() {{
  local cur="$1" word quoted
  while IFS= read -r word; do
    case "$word" in
      "$cur"*) printf -v quoted %q "$word"; COMPREPLY+=("$quoted") ;;
    esac
  done
}}
_atm() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  local words="" names=""
  COMPREPLY=()
  case "$prev" in
    --team|-t|--from-team|--to-team) __atm_offer "$cur" < <(__atm_teams); return ;;
    --from|--as|--agent|--lead) __atm_offer "$cur" < <(__atm_members); return ;;
    --file|-f|--cwd|--add-dir) __atm_offer "$cur" < <(compgen -f -- "$cur"); return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ] || {{ [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; }}; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} help --help --version" -- "$cur")); return
  fi
  case "$command" in
    {groups}) [ "$COMP_CWORD" -gt 2 ] && command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case "$command" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  case "$names" in *teams*) __atm_offer "$cur" < <(__atm_teams) ;; esac
  case "$names" in *members*) __atm_offer "$cur" < <(__atm_members) ;; esac
}}
complete -F _atm atm"""


def _zsh() -> str:
    return f"""#compdef atm
# zsh completion for atm: put it as _atm on your $fpath, or: eval "$(atm completion zsh)"
autoload -U +X bashcompinit && bashcompinit
{_bash()}"""


def _fish() -> str:
    lines = [
        "# fish completion for atm: atm completion fish > ~/.config/fish/completions/atm.fish",
        "function __atm_root",
        "  if set -q ATM_HOME; echo $ATM_HOME/.claude/teams",
        "  else if set -q CLAUDE_CONFIG_DIR; echo $CLAUDE_CONFIG_DIR/teams",
        "  else; echo $HOME/.claude/teams; end",
        "end",
        "function __atm_teams; for team in (__atm_root)/*/; basename $team; end; end",
        "function __atm_members; for inbox in (__atm_root)/*/inboxes/*.json; basename $inbox .json; end; end",
        "complete -c atm -f",
    ]
    for name, summary in COMMANDS.items():
        lines.append(f"complete -c atm -n __fish_use_subcommand -a {name} -d {_quoted(summary)}")
    for command in _leaves():
        lines += _fish_command(command)
    return "\n".join(lines)


def _fish_command(command: Command) -> list[str]:
    words = command.name.split()
    seen = " ".join(words)
    condition = f"__fish_seen_subcommand_from {words[-1]}" + (
        f"; and __fish_seen_subcommand_from {words[0]}" if len(words) > 1 else ""
    )
    lines = [f"# {seen}"]
    for sub in command.subcommands:
        lines.append(f"complete -c atm -n '{condition}' -a {sub.word} -d {_quoted(sub.summary)}")
    for kind, function in (("team", "__atm_teams"), ("member", "__atm_members")):
        if any(argument.complete == kind for argument in command.arguments):
            lines.append(f"complete -c atm -n '{condition}' -a '({function})'")
    for argument in command.arguments:
        if argument.complete == "setting":
            lines.append(f"complete -c atm -n '{condition}' -a '{' '.join(KNOWN)}'")
        if argument.choices:
            lines.append(f"complete -c atm -n '{condition}' -a '{' '.join(argument.choices)}'")
    for option in command.options:
        names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
        needs = " -r" if option.value else ""
        lines.append(f"complete -c atm -n '{condition}' {names}{needs} -d {_quoted(option.help)}")
    return lines


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
