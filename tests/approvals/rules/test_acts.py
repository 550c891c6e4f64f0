"""What a command line would do is found behind every disguise, or the line is unclear and is never allowed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.approvals.rules.act import (
    CUSTOM,
    DELETE,
    GIT_PUSH,
    NETWORK_USE,
    PLAN,
    SPEND,
    TOOL,
    Act,
    CallPlace,
    normal,
)
from atm.approvals.rules.acts import acts_of
from atm.approvals.rules.calls import AgentCall, Understood, understand
from atm.approvals.rules.policy import ALLOW, ASK_HUMAN, DENY, Policy, PolicyLayer, Rule, judge

HOME = "/home/u"
WORK = "/home/u/w"


def understood(line: str, folder: str = WORK, root: str = WORK) -> Understood:
    return understand(AgentCall("Bash", command=line, folder=folder, root=root), CallPlace(folder, root))


def clear(line: str) -> list[Act]:
    found = acts_of(line, CallPlace(WORK))
    assert found.unclear == "", line
    return found.acts


def decision(line: str, *rules: Rule, default: str = ALLOW) -> str:
    return judge(Policy(PolicyLayer("mine", rules, default)), understood(line)).decision


NO_PUSH = Rule(DENY, {"command": ["git push *"]}, "mine", 1)


# A push is a push.


@pytest.mark.parametrize(
    "line",
    [
        *("git push", "git  push origin main", "git push --force", "'git' push", r"g\it push", "git p'u'sh"),
        *("/usr/bin/git push", "./git push", "GIT push", "git.exe push", "git -C /x push", "git --no-pager push"),
        *("git -C a -C b push", "git --namespace x push"),
        *("true; git push", "true & git push", "true\ngit push", "true && git push", "true || git push", "(git push)"),
        *("{ git push; }", "! git push", "time git push", "time { git push; }", "time ! git push", "echo x | git push"),
        *("sh -c 'git push'", "bash -lc 'git push'", "bash -euo pipefail -c 'git push'", "bash -c -x 'git push'"),
        *("bash -c -- 'git push'", "bash -o errexit -c 'git push'"),
        *("bash --norc -c 'git push'", "bash +o x -c 'git push'"),
        *("zsh -c \"sh -c 'git push'\"", "/bin/dash -c 'true; git push'", "eval git push", "eval 'git push'"),
        *("env git push", "env -i CI=1 git push", "env -u X git push", "nohup git push", "nice -n 5 git push"),
        *("timeout 5 git push", "timeout -k 1 5 git push", "stdbuf -oL git push", "exec git push", "command git push"),
        *("builtin command git push", "noglob git push", "busybox sh -c 'git push'"),
        *("sudo git push", "sudo -u x git push"),
        *("sudo CI=1 git push", "doas git push", "CI=1 git push", "poetry run git push", "uv run git push"),
        *("bundle exec git push", "mise x git push", "git push > /dev/null 2>&1", "git push # no"),
    ],
    ids=repr,
)
def test_a_rule_against_pushing_sees_every_push(line):
    found = understood(line)
    assert GIT_PUSH in [act.operation for act in found.acts]
    assert decision(line, NO_PUSH) == DENY
    assert decision(line) == ASK_HUMAN, "it is for a person where no rule speaks of it"


@pytest.mark.parametrize(
    "line",
    [
        *("echo $(git push)", "git $x", "$git push", "git `echo push`", "cat <<E | sh\ngit push\nE", "{git,push}"),
        *("git -c alias.x=push x", "git -calias.x=push x", "git --config-env=a=b push", "git --exec-path=/x status"),
        *("git --git-dir=/x status", "git --work-tree=/ checkout .", "git frobnicate"),
        *("git send-pack x", "git config a b"),
        *("git config --global alias.x '!sh'", "git rebase -x 'make' HEAD~1", "git rebase --exec=make x"),
        *("git bisect run make", "git submodule foreach 'git push'", "git grep -Osh x", "git grep --open-files x"),
        *("git init --template=evil", "find . -exec git push \\;", "find . -execdir sh x +", "find . -ok rm x \\;"),
        *("xargs git push", "echo a | xargs rm", "parallel git push", "sh"),
        *("bash -", "echo 'git push' | sh", "sh -s x"),
        *("bash -s -- x", "bash /dev/stdin <<< 'git push'", "bash /proc/self/fd/0", "bash -c", "bash --frob -c x"),
        *("fish -C 'git push' x", "fish --init-command=x", "source x"),
        *(". x", "alias ls='git push'", "trap 'git push' EXIT"),
        *("python -c 'x'", "python3 -c x", "python3.12 -c x", "python3 -W ignore -c x", "python3 -X dev -c x"),
        *("python -Bc x", "python3 -", "python", "python3 < x", "python3 /dev/stdin", "pypy3 -c x", "perl -e x"),
        *("perl -I lib -e x", "perl -pe x y", "ruby -I lib -e x", "node -e x", "node -r a -e x", "node --eval=x"),
        *("node --require a --print x", "deno eval x", "php -d a=b -r x"),
        *("lua5.4 -e x", "Rscript -e x", "osascript -e x"),
        *("awk 'BEGIN{system(\"git push\")}'", "awk '{print | \"sh\"}'", "awk '{print > \"x\"}'", "gawk '@load \"x\"'"),
        *("sed '1e git push' x", "sed 's/a/b/e' x", "sed -n '/a/w x' y", "sed -f x y", "sed -e p -e 'e x' y"),
        *("sed -ne 'e' x", "sed --expression='1e x' y", "sed 's|a|b|w x' y"),
        *("flock x git push", "strace git push", "gdb -ex x y", "vim -c ':!git push'", "ed x", "man -P x y"),
        *("tar cf x --to-command=sh y", "tar xf x --checkpoint-act=exec=sh", "tar -I sh -xf x", "rsync -e sh a b"),
        *("rg --pre sh x", "sort --compress-prog=sh x", "make --eval=x", "env -S 'git push'", "env -C / git push"),
        *("PATH=/x git status", "GIT_SSH_COMMAND=x git status", "LD_PRELOAD=x ls", "env A=b ls", "A=b"),
        *("sudo -s", "sudo -i git push", "direnv exec . git push", "poetry run --x y", "poetry run"),
        *("cd", "cd -", "cd -P /", "pushd /", "popd", "chdir /", "command cd /", "eval 'cd /'", "time cd /"),
        "sh -c \"sh -c 'sh -c \\\"sh -c x\\\"'\" && sh -c 'eval eval eval eval eval eval ls'",
    ],
    ids=repr,
)
def test_what_starts_something_that_cannot_be_seen_is_unclear_and_never_allowed(line):
    assert understood(line).unclear
    anything = Rule(ALLOW, {"tool": ["*"], "command": ["*"]}, "mine", 1)
    assert decision(line, anything) == ASK_HUMAN
    assert decision(line, Rule(ALLOW, {}, "mine", 1), default=DENY) == DENY


@pytest.mark.parametrize(
    "line",
    [
        *("ls -la src", "cat a b", "grep -rn 'a|b' src | sort | uniq -c"),
        *("git status", "git diff --stat", "git log -3", "git --no-pager log -n 3", "git -C sub status"),
        *("git commit -m 'git push later; rm -rf /'", "git add -A && git commit -m x", "git rebase main"),
        *("cd sub && ls", "cd sub; ls", "(cd sub && ls)", f"cd {WORK}/sub && rm -rf ../dist", "cd a/.. && ls"),
        *("sed -n '1,200p' x", "sed -i 's/a/b/g' x", "sed -e 's/a;b/c/' -e '/x/d' y", "sed -ne '/a/,/b/p' x"),
        *("sed '$d' x", "sed 's#a#b#' x", "awk '{print $1}' x", "awk -F, 'NR==1' x"),
        *("rm -rf build dist", "rm a=b", "cp a b", "mv a b", "chmod +x a", "ls x 2>&1", "ls > /dev/null", "cat < a"),
        *("find . -name '*.py' -print", "mkdir -p a/b && touch a/b/c", "git clean -fd", "git rm x"),
        *("timeout 5 ls", "nice -n 5 ls", "bash -c ls", "bash -euo pipefail -c 'ls'", "{ ls; } 2>/dev/null"),
    ],
    ids=repr,
)
def test_everyday_lines_are_clear_and_nothing_that_a_person_must_grant(line):
    acts = clear(line)
    assert [act.texts for act in acts if act.is_sensitive] == []
    assert decision(line) == ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *("make", "make -j4 2>&1 | tail", "cd sub && make", "python3 -m pytest -q", "python3.12 x.py", "npm test"),
        *("python -u x.py -c y", "python3 --version", "node x.js -p 80", "node --watch x.js", "poetry run pytest -q"),
        *("bash x.sh", "bash -x x.sh a", "bash -euo pipefail x.sh", "timeout 60 pytest -x", "tar czf x.tgz src"),
        *("ln -s a b", "git worktree list", "git bisect good", "find . -name x -delete", "git branch -D x", "tool"),
        *("git tag x", "git stash drop", "git remote add a b", "sort -o x y", "uniq a b", "ls *", "touch *"),
    ],
    ids=repr,
)
def test_a_program_whose_effects_are_not_known_needs_a_rule_that_names_it_whatever_the_default_is(line):
    acts = clear(line) if "*" not in line else understood(line).acts
    assert [act.texts for act in acts if act.is_sensitive] == []
    if line != "ls *":
        assert decision(line) == ASK_HUMAN


@pytest.mark.parametrize(
    "line",
    [
        *("A=1 ls", "CI=1 npm test", "BASH_ENV=./evil.sh bash -c ls", "PATH+=:/x ls"),
        *("echo x > y", "echo x >> y 2>&1", "ls > li*", "ls 2> errors", "ls <> y", "ls >&y", "ls &> y", "ls <&3"),
        *("ls > /dev/stdout", "cat < /dev/tcp/1.2.3.4/80", "cat < li*", "/usr/bin/time -o x -f y ls"),
        *("bash -lc ls", "bash -ic ls", "bash --rcfile x -c ls", "sh -ic ls", "zsh -c ls", "fish -c ls", "ksh -c ls"),
        *("printf -v 'a[$(x)]' y", "printf %d 'a[$(x)]'", "test -v 'a[$(x)]'", "[ -v x ]", "let x=1", "read x"),
        *("unset 'a[$(x)]'", "wait -p x", "set -x", "eval ls", "env -u PATH ls", "env -i ls", "stdbuf --x ls"),
        *("{ ls } always { x }", "ls }", "echo $=TERM", "echo $~x", "echo =ls", r"echo 'a\' ; x ; '", r"ec\x68o x"),
        *("git grep x -*", "git grep x *", "sort *", "git --paginate log", "git --bare log", "sed -nf x y"),
        *("sed --expr='1e x' y", "busybox ls"),
    ],
    ids=repr,
)
def test_what_changes_how_a_program_runs_makes_a_line_unclear(line):
    assert understood(line).unclear
    assert decision(line, Rule(ALLOW, {"command": ["*", f"{line.split()[0]} *"]}, "mine", 1)) == ASK_HUMAN


def test_a_shell_that_the_vendor_itself_starts_is_no_layer_of_the_agents():
    line = "/bin/bash -lc 'ls -la'"
    inner = understand(AgentCall("Bash", command=line, folder=WORK, vendor_shell=True), CallPlace(WORK))
    assert [act.texts for act in inner.acts] == [["ls -la"]]
    assert not inner.unclear
    assert understood(line).unclear


@pytest.mark.parametrize(
    "line",
    [
        *(
            "atm tasks add x --accept ./evil.sh",
            "atm tasks add x --accept='git push'",
            "atm tasks edit 1 --run 'rm /x'",
        ),
        *("atm tasks add x --accept 'make test' --accept-tests ./evil.sh", "timeout 5 atm tasks add x --acc ./evil.sh"),
    ],
)
def test_a_check_that_a_task_is_given_is_judged_as_if_it_ran_now(line):
    allowed = Rule(ALLOW, {"command": ["atm tasks *", "make test", "timeout *"]}, "mine", 1)
    assert decision(line, allowed, default=ASK_HUMAN) == ASK_HUMAN
    assert decision("atm tasks add x --accept 'make test'", allowed, default=ASK_HUMAN) == ALLOW
    assert decision("atm tasks add x --accept='git push origin x'", allowed, NO_PUSH) == DENY


def test_a_check_that_is_given_over_mcp_is_judged_too():
    tools = Rule(ALLOW, {"tool": ["mcp__atm__*"]}, "mine", 1)
    call = AgentCall("mcp__atm__board_add", folder=WORK, stored=["./evil.sh"])
    found = understand(call, CallPlace(WORK))
    assert judge(Policy(PolicyLayer("mine", [tools], ASK_HUMAN)), found).decision == ASK_HUMAN
    make = Rule(ALLOW, {"command": ["./evil.sh"]}, "mine", 2)
    assert judge(Policy(PolicyLayer("mine", [tools, make], ASK_HUMAN)), found).decision == ALLOW


# The program that PATH names.


@pytest.fixture
def with_tools(tmp_path: Path) -> CallPlace:
    """A worktree with programs of its own, one of which is on PATH, and the system's programs elsewhere."""
    work, system, kept = tmp_path / "work", tmp_path / "bin", tmp_path / "kept"
    for folder in (work / "tools", system, kept):
        folder.mkdir(parents=True)
    (kept / "gnu-ls").touch()
    (system / "ls").symlink_to(kept / "gnu-ls")
    for path in (work / "tools" / "ls", work / "tools" / "mine"):
        path.touch()
    on_path = {"ls": str(kept / "gnu-ls"), "mine": str(work / "tools" / "mine")}
    return CallPlace(str(work), str(work), os.path.realpath, program=lambda name: on_path.get(name, ""))


def test_a_program_is_known_by_its_last_name_only_where_path_leads_to_that_very_file(with_tools):
    allowed = Policy(PolicyLayer("mine", [Rule(ALLOW, {"command": ["ls *"]}, "mine", 1)], DENY))
    system = Path(with_tools.root).parent

    def judged(line: str) -> str:
        return judge(allowed, understand(AgentCall("Bash", command=line, folder=with_tools.root), with_tools)).decision

    assert judged("ls") == ALLOW
    assert judged(f"{system}/bin/ls -l") == ALLOW, "the same file by another path"
    for line in ("./tools/ls", "tools/ls", "../work/tools/ls", f"{system}/bin/../work/tools/ls", "/tmp/ls"):
        assert judged(line) == DENY, line


@pytest.mark.parametrize("line", ["mine x", "nosuch x"])
def test_a_program_of_the_worktree_or_none_at_all_is_unclear(with_tools, line):
    found = acts_of(line, with_tools)
    assert found.unclear


def test_a_rule_that_spells_a_path_allows_the_program_at_that_path(with_tools):
    named = Policy(PolicyLayer("mine", [Rule(ALLOW, {"command": ["./tools/mine *"]}, "mine", 1)], DENY))
    for line, wanted in (("./tools/mine x", ALLOW), ("./tools/mine --x", DENY), ("./tools/ls x", DENY)):
        found = understand(AgentCall("Bash", command=line, folder=with_tools.root), with_tools)
        assert judge(named, found).decision == wanted, line


# The repository that git uses.


def test_git_is_unclear_where_it_would_not_use_the_worktrees_own_repository():
    def why(folder: str, _root: str) -> str:
        return "x is a repository of its own" if folder.endswith("/x") else ""

    place = CallPlace(WORK, repository=why)
    for line in ("cd x && git status", "git -C x status", "cd x", "cd y; cd ../x; ls", "(cd x); git status"):
        assert "of its own" in acts_of(line, place).unclear, line
    for line in ("git status", "cd y && git status", "git -C y status"):
        assert not acts_of(line, place).unclear, line


# Kinds.


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        *((line, NETWORK_USE) for line in ("curl x", "wget x", "ssh x", "git fetch", "git clone x", "git pull")),
        *((line, NETWORK_USE) for line in ("npm install", "pip install x")),
        *((line, NETWORK_USE) for line in ("pip3.12 install x", "python -m pip install x")),
        *((line, NETWORK_USE) for line in ("uv sync", "cargo add x", "go get x", "gh pr list", "rsync a h:b", "npx x")),
        *((line, NETWORK_USE) for line in ("git remote show x", "git archive --remote=x HEAD", "git submodule update")),
        *((line, NETWORK_USE) for line in ("docker pull x", "CURL x", "/usr/bin/curl x")),
        *((line, GIT_PUSH) for line in ("git lfs push", "git subtree push", "git svn dcommit")),
        *((line, SPEND) for line in ("aws s3 ls", "terraform apply", "claude -p x")),
        *((line, SPEND) for line in ("codex exec x", "atm up", "atm spawn")),
    ],
    ids=repr,
)
def test_what_leaves_the_machine_or_costs_money_is_for_a_person(line, operation):
    (act,) = clear(line)
    assert (act.operation, act.is_sensitive) == (operation, True)
    assert decision(line, Rule(ALLOW, {"tool": ["Bash"]}, "mine", 1)) == ASK_HUMAN


OUTSIDE = [
    *("rm -rf /", "rm -rf ~", "rm -rf ~/x", "rm -rf ..", "rm -rf .", "rm -rf ../x", "rm -rf a/../../x", "rm -rf /*"),
    *(f"rm -rf {WORK}", f"rm -rf {WORK}/.", f"rm -rf {WORK}x", "rm", "rm -rf", "RM -rf /x", "rm ../a=b"),
    *("rm -rf .git", "rm -rf .git/hooks", "rm -rf .GIT", "rm -rf sub/.git", "unlink /x", "shred /x", "rmdir ../x"),
    *("busybox rm -rf /x", "toybox rm /x", "find / -delete", "find .. -name x -delete", "find a /b -delete"),
    *("git -C / clean -fd", "git rm /x", "git worktree remove ../x", "git -C .. rm x"),
    *("cd / && rm -rf x", "cd ..; rm -rf x", "cd .. && rm x", "cd /tmp\nrm x", "cd ~ && rm x"),
    *("cd nosuch; rm -rf ../x", "cd nosuch || true; rm -rf ../x", "(cd a/b); rm -rf ../../x", "(cd a) && rm ../x"),
    *("cd a & rm ../x", "cd a | true; rm ../x", "true | cd a && rm ../x"),
    *("! cd a && rm ../x", "false && cd a; rm ../x"),
    *("echo x > /etc/x", "echo x >> ../x", "echo x &> ~/.bashrc", "echo x >| /x"),
    *("> /x", ": > ../x", "a <> /x", "a 2> /x"),
    *("echo x > .git/hooks/pre-commit", "echo x > .Git/config", "cd /; echo x > y"),
    *("echo x | tee /etc/x", "tee -a ../x"),
    *("mv x /y", "mv /x y", "cp x /y", "cp -t /etc x"),
    *("cp --target-directory=/etc x", "cp --target=/etc x", "ln -s x /y"),
    *("install -t /x y", "install -d /a b", "chmod 777 /x y", "chown u /x y", "dd if=a of=/dev/sda", "truncate -s0 /x"),
    *("sed -i s/a/b/ /etc/x", "sed --in-place s/a/b/ ../x", "sort -o /x y"),
    *("tar xf x -C /", "unzip x -d /y", "rsync a /b"),
    *("find . -fprintf /x y", "find . -fls ../x", "git log --output=/x"),
    *("git diff --output ../x", "git format-patch -o /x"),
]


@pytest.mark.parametrize("line", OUTSIDE, ids=repr)
def test_what_destroys_something_outside_of_the_worktree_is_for_a_person(line):
    assert decision(line) == ASK_HUMAN
    assert understood(line).operation == DELETE
    assert decision(line, Rule(ALLOW, {"tool": ["Bash"]}, "mine", 1)) == ASK_HUMAN


def test_to_allow_a_program_is_not_to_allow_where_its_words_go():
    allowed = Rule(ALLOW, {"command": ["echo *"]}, "mine", 1)
    assert decision("echo x", allowed) == ALLOW
    assert decision("echo x > y", allowed) == ASK_HUMAN
    assert decision("echo x > y", allowed, default=DENY) == DENY


@pytest.mark.parametrize("line", ["sudo make", "doas make", "pkexec make", "sudo -u x make"])
def test_who_acts_as_somebody_else_is_for_a_person_and_both_names_must_be_allowed(line):
    inner, outer = (Rule(ALLOW, {"command": [text]}, "mine", 1) for text in ("make *", line))
    assert decision(line) == ASK_HUMAN
    assert decision(line, inner, default=DENY) == DENY
    assert decision(line, outer, default=DENY) == DENY
    assert decision(line, inner, outer, default=DENY) == ALLOW


def test_a_program_of_that_name_from_elsewhere_is_not_the_one_that_was_allowed():
    allowed = Rule(ALLOW, {"command": ["ls *"]}, "mine", 1)
    assert decision("/bin/ls x", allowed, default=DENY) == ALLOW
    assert decision("./ls x", allowed, default=DENY) == DENY
    assert decision("/tmp/ls x", allowed, default=DENY) == DENY


def test_every_layer_of_a_line_must_be_allowed():
    inner, outer = (Rule(ALLOW, {"command": [text]}, "mine", 1) for text in ("ls *", "timeout *"))
    assert decision("timeout 5 ls", inner, default=DENY) == DENY
    assert decision("timeout 5 ls", outer, default=DENY) == DENY
    assert decision("timeout 5 ls", inner, outer, default=DENY) == ALLOW
    assert decision("timeout 5 make", inner, outer, default=DENY) == DENY
    assert decision("bash -c 'timeout 5 ls'", inner, outer, default=DENY) == DENY
    shell = Rule(ALLOW, {"command": ["bash -c *"]}, "mine", 1)
    assert decision("bash -c 'timeout 5 ls'", inner, outer, shell, default=DENY) == ALLOW


def test_every_part_of_a_line_must_be_allowed():
    allowed = Rule(ALLOW, {"command": ["ls *"]}, "mine", 1)
    assert decision("ls; ls a", allowed, default=DENY) == ALLOW
    assert decision("ls; make", allowed, default=DENY) == DENY
    assert decision("sh -c 'ls; make'", allowed, default=DENY) == DENY


def test_a_rule_about_a_shell_sees_what_the_shell_is_given():
    assert decision("bash -c ls", Rule(DENY, {"command": ["bash *"]}, "mine", 1)) == DENY
    assert decision("timeout 5 ls", Rule(DENY, {"command": ["timeout *"]}, "mine", 1)) == DENY


# Branches.


@pytest.mark.parametrize(
    ("words", "branches"),
    [
        ("origin main", ["main"]),
        ("origin HEAD:main", ["main"]),
        ("origin +x:refs/heads/main", ["main"]),
        ("origin :main", ["main"]),
        ("origin refs/heads/main heads/next", ["main", "next"]),
        ("--delete origin main", ["main"]),
        ("-o ci.skip origin main", ["main"]),
        ("--repo x origin main", ["main"]),
        ("origin refs/tags/v1", ["refs/tags/v1"]),
        ("", None),
        ("origin", None),
        ("origin HEAD", None),
        ("origin @", None),
        ("origin x:", None),
        ("origin 'refs/heads/*'", None),
        ("--all origin main", None),
        ("--mirror", None),
        ("origin main --tags", None),
    ],
)
def test_the_branches_of_a_push_are_those_that_it_names(words, branches):
    (act,) = clear(f"git push {words}")
    assert act.branches == branches
    no_main = Rule(DENY, {"branch": ["main"]}, "mine", 1)
    if branches is None or "main" in branches:
        assert decision(f"git push {words}", no_main, Rule(ALLOW, {"command": ["git push *"]})) == DENY


def test_a_push_of_which_no_branch_is_seen_is_not_allowed_by_its_branch():
    fine = Rule(ALLOW, {"branch": ["feature/*"]}, "mine", 1)
    assert decision("git push origin feature/x", fine) == ALLOW
    assert decision("git push origin feature/x main", fine) == ASK_HUMAN
    assert decision("git push", fine) == ASK_HUMAN


def test_a_branch_that_is_given_beside_the_line_does_not_replace_the_one_in_it():
    call = AgentCall("Bash", command="git push origin main", folder=WORK, branch="feature/x")
    (act,) = understand(call, CallPlace(WORK)).acts
    assert act.branches == ["main", "feature/x"]


# Links.


@pytest.fixture
def linked(tmp_path: Path) -> CallPlace:
    """A worktree with a link out of it, and one that leads to another folder of it."""
    work, other = tmp_path / "work", tmp_path / "other" / "deep"
    other.mkdir(parents=True)
    (work / "sub" / "deep").mkdir(parents=True)
    (work / "out").symlink_to(other)
    (work / "in").symlink_to(work / "sub" / "deep")
    return CallPlace(str(work), str(work), os.path.realpath)


@pytest.mark.parametrize(
    ("line", "is_outside"),
    [
        ("rm -rf out/x", True),
        ("rm -rf out/../x", True),
        ("cd out && rm -rf x", True),
        ("cd out; rm -rf ../x", True),
        ("echo x > out/y", True),
        ("find out -delete", True),
        ("rm -rf in/x", False),
        ("rm -rf in/../x", False),
        ("rm -rf in/../../x", False),
        ("rm -rf in/../../../x", True),
        ("rm -rf sub/x", False),
    ],
)
def test_a_link_that_leads_out_of_the_worktree_leads_out_of_it(linked, line, is_outside):
    assert any(act.is_sensitive for act in acts_of(line, linked).acts) == is_outside


def test_where_a_cd_behind_a_link_leads_depends_on_the_shell(linked):
    assert acts_of("cd out/.. && rm x", linked).unclear
    assert not acts_of("cd sub/.. && rm x", linked).unclear


def test_a_worktree_that_is_itself_behind_a_link_is_known_by_both_names(tmp_path):
    (tmp_path / "real" / "secret").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    link = str(tmp_path / "link")
    no = Policy(PolicyLayer("mine", [Rule(DENY, {"path": ["secret/**"]}, "mine", 1)], ALLOW))
    for path in ("secret/x", f"{link}/secret/x", f"{tmp_path}/real/secret/x", "../real/secret/x", "a/../secret/x"):
        place = CallPlace(link, link, os.path.realpath)
        found = understand(AgentCall("Bash", command=f"cat {path}", folder=link), place)
        assert judge(no, found).decision == DENY, path


@pytest.mark.parametrize(
    ("path", "plain"), [("/", "/"), ("//a//b/", "/a/b"), ("/a/./b/..", "/a"), ("/../..", "/"), ("/a/../../b", "/b")]
)
def test_a_path_is_made_plain(path, plain):
    assert normal(path) == plain


# Tools that are no shell.


@pytest.mark.parametrize(
    ("tool", "given", "operation", "is_sensitive"),
    [
        ("Write", {"paths": ["a"]}, TOOL, False),
        ("Write", {"paths": ["/etc/x"]}, DELETE, True),
        ("Write", {"paths": ["~/.bashrc"]}, DELETE, True),
        ("Edit", {"paths": ["a", "../x"]}, DELETE, True),
        ("apply_patch", {"paths": [".git/hooks/x"]}, DELETE, True),
        ("replace", {"paths": ["sub/x"]}, TOOL, False),
        ("delete", {"paths": ["a"]}, DELETE, False),
        ("delete", {"paths": ["/a"]}, DELETE, True),
        ("Read", {"paths": ["/etc/x"]}, TOOL, False),
        ("WebFetch", {"command": "https://x"}, NETWORK_USE, True),
        ("google_web_search", {"command": "x"}, NETWORK_USE, True),
        ("ExitPlanMode", {}, PLAN, False),
        ("git-push", {}, GIT_PUSH, True),
        ("spend", {}, SPEND, True),
        ("mcp__x__y", {}, TOOL, False),
        ("deploy", {}, CUSTOM, False),
    ],
)
def test_other_tools_are_one_act_each(tool, given, operation, is_sensitive):
    (act,) = understand(AgentCall(tool, folder=WORK, **given), CallPlace(WORK)).acts
    assert (act.operation, act.is_sensitive) == (operation, is_sensitive)


@pytest.mark.parametrize("line", ["", "   ", "\n"])
def test_a_shell_without_a_command_is_unclear(line):
    assert understood(line).unclear


def test_the_gravest_operation_of_a_line_is_its_operation():
    assert understood("ls; rm x; curl y; git push").operation == GIT_PUSH
    assert understood("ls; rm x").operation == DELETE
    assert understood("ls").operation == TOOL


def test_the_files_of_a_line_are_those_that_it_would_remove():
    assert understood("cat a; rm b /c; tee /d").paths == [f"{WORK}/b", "/c", "/d"]


# Whatever it is.

PIECES = st.sampled_from(
    [
        *("git", "push", "rm", "-rf", "cd", "..", "/", "sh", "-c", "'", '"', "eval", "sudo", "env", "-C", "-c", "x=y"),
        *(";", "&&", "|", ">", "<", "(", ")", "{", "}", "find", "-delete", "-exec", "timeout", "5", "sed", "-e", "awk"),
        *("python3", "-m", "time", "!", "bash", "-o", "--", "-", "xargs", "busybox", "$", "`", "\\", "\n", "tar", "cp"),
    ]
)


@given(st.lists(PIECES, max_size=14).map(" ".join))
def test_no_line_makes_it_raise_and_an_unclear_one_is_never_allowed(line):
    found = understood(line)
    said = judge(Policy(PolicyLayer("mine", [Rule(ALLOW, {"command": ["*"]}, "mine", 1)], ALLOW)), found)
    assert (said.decision == ALLOW) <= (not found.unclear)


@pytest.mark.parametrize(
    "piece", ["cd a;", "cd ..&&", "eval ", "sh -c ", "sudo ", "time { ", "rm ../x;", "s/a/", "git "]
)
def test_a_long_line_is_judged_in_the_time_that_it_deserves(piece):
    line = (piece * 10_000)[: 60 * 1024]
    begun = time.thread_time()
    decision(line, NO_PUSH)
    decision(f"sed '{line}' x", NO_PUSH)
    assert time.thread_time() - begun < 10.0
