"""
Runs lines in shells, within the sandbox that `sandbox.py` makes, and reports what each of them changed and started.

Standard library only: the sandbox has an interpreter and this file. The world is copied from `/pristine` to where it
was judged, and made anew whenever a line has changed it. Each program that a line starts is seen by ptrace.

Standard input: one JSON object {"root", "cases": [{"id", "line", "shell", "folder"}]}. Standard output: a JSON line for
each case.
"""

import ctypes
import json
import os
import shutil
import signal
import sys

LIMIT = 4.0
AFTER = 0.3
"""Seconds for a line, and for what it left behind."""

TRACED = 0x02 | 0x04 | 0x08 | 0x10 | 0x100000  # fork, vfork, clone, exec; killed together with this process
SEIZE, CONT, LISTEN = 0x4206, 7, 0x4208
EVENT_EXEC, EVENT_STOP = 4, 128
WALL = 0x40000000

OUT = "/out"
ETC = (
    *("passwd", "group", "nsswitch.conf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives"),
    *("zsh", "fish", "bash.bashrc", "profile", "profile.d", "hosts", "host.conf", "inputrc"),
)
"""Files are copied, and could be changed; folders are those of the machine, read-only."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, value=0):
    return _libc.ptrace(request, pid, None, value)


class Places:
    """The folders that a line could change, and how they were."""

    def __init__(self, root):
        self.root = root
        self.worktrees = [f"{root}/{name}" for name in sorted(os.listdir("/pristine")) if name != "home"]
        self.home = f"{root}/home"
        self.copies = [*self.worktrees, self.home, OUT]
        """Each of them is made anew from a copy if a line has changed it."""
        self.others = ["/etc", "/tmp", "/var", "/dev/shm"]
        self.listed = ["/", root, os.path.dirname(root)]
        self.seen = {}

    def build(self):
        for folder in (*self.worktrees, self.home):
            _copy(f"/pristine/{os.path.basename(folder)}", folder)
        _fill_out()

    def keep(self):
        """As it is now, with what the shells wrote into the home folder when they began for the first time."""
        os.makedirs("/kept")
        for number, folder in enumerate(self.copies):
            _copy(folder, f"/kept/{number}")
        for folder in (*self.copies, *self.others):
            self.seen[folder] = self._all_of(folder)
        for folder in self.listed:
            self.seen[folder] = _names(folder)

    def changes(self):
        """Paths that are not as they were: outside of the worktrees, and within."""
        changed: list[str] = []
        within: list[str] = []
        for folder, before in self.seen.items():
            now = _names(folder) if folder in self.listed else self._all_of(folder)
            if now == before:
                continue
            if folder in self.listed:
                changed += [os.path.join(folder, name) for name in {*now} ^ {*before}]
            else:
                place = within if folder in self.worktrees else changed
                place += [path for path in {*now, *before} if now.get(path) != before.get(path)]
        return sorted(changed), sorted(within)

    def restore(self):
        for folder in self.listed:
            for name in {*_names(folder)} - {*self.seen[folder]}:
                _remove(os.path.join(folder, name))
        for number, folder in enumerate(self.copies):
            if self._all_of(folder) != self.seen[folder]:
                _remove(folder)
                _copy(f"/kept/{number}", folder)
                self.seen[folder] = self._all_of(folder)
        for folder in self.others:
            now = self._all_of(folder)
            for path in sorted({*now} - {*self.seen[folder]}):
                _remove(path)
            self.seen[folder] = self._all_of(folder)

    def _all_of(self, folder):
        """Everything below a folder; not the world, where that lies below it."""
        seen = {}
        is_worktree = folder in self.worktrees
        waiting = [folder]
        while waiting:
            current = waiting.pop()
            if current == self.root:
                continue
            try:
                if not self.root.startswith(f"{current}/"):  # `listed` has these
                    found = os.lstat(current)
                    seen[current] = found.st_mode if is_worktree else _facts(found)
                entries = [*os.scandir(current)]
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    seen[entry.path] = _facts(entry.stat(follow_symlinks=False))
        return seen


def _names(folder):
    return sorted(os.listdir(folder))


def _remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


def _copy(source, target):
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _fill_out():
    os.makedirs(f"{OUT}/bin", exist_ok=True)
    os.makedirs(f"{OUT}/empty", exist_ok=True)
    for name in ("ls", "git", "env", "bash", "cat"):
        shutil.copy2("/pristine/w/evil.sh", f"{OUT}/bin/{name}")
    with open(f"{OUT}/target", "w") as file:
        file.write("as it was\n")
    _copy("/pristine/w/nested", f"{OUT}/repo")


def _facts(found):
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_nlink)


class Run:
    """One line in one shell."""

    def __init__(self, root, case):
        self.root = root
        self.case = case
        self.started = []
        self.is_late = False

    def go(self):
        ready, gate = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(gate)
            self._become_the_shell(ready)
        os.close(ready)
        if ptrace(SEIZE, pid, TRACED):
            raise OSError(ctypes.get_errno(), "a child cannot be traced")
        os.close(gate)
        self._watch(pid)

    def _become_the_shell(self, ready):
        try:
            os.setsid()
            os.read(ready, 1)
            nothing = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            os.closerange(3, 64)
            os.chdir(f"{self.root}/{self.case['folder']}")
            environment = {
                "HOME": f"{self.root}/home",
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "TERM": "xterm",
                "LANG": "C.UTF-8",
                "USER": "me",
                "SHELL": f"/usr/bin/{self.case['shell']}",
            }
            os.execve(f"/usr/bin/{self.case['shell']}", [self.case["shell"], "-c", self.case["line"]], environment)
        finally:
            os._exit(127)

    def _watch(self, shell):
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        has_ended = False
        while True:
            try:
                pid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                break
            if os.WIFSTOPPED(status):
                self._pass_on(pid, status)
            elif pid == shell and not has_ended:
                has_ended = True
                signal.setitimer(signal.ITIMER_REAL, AFTER)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _pass_on(self, pid, status):
        event, number = status >> 16, os.WSTOPSIG(status)
        if event == EVENT_EXEC:
            self._note(pid)
            number = 0
        elif event == EVENT_STOP:
            if number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
                ptrace(LISTEN, pid)
                return
            number = 0
        elif event:
            number = 0
        ptrace(CONT, pid, number)

    def _note(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read(2000).decode(errors="replace").split("\0")[:-1]
            self.started.append([os.readlink(f"/proc/{pid}/exe"), words])
        except OSError:
            pass


def main():
    wanted = json.loads(sys.stdin.readline())
    os.umask(0o022)
    for name in ETC:
        source = f"/real-etc/{name}"
        if os.path.isdir(source):
            os.symlink(source, f"/etc/{name}")
        elif os.path.exists(source):
            shutil.copy2(source, f"/etc/{name}")
    for folder in ("/etc/cron.d", "/var/tmp", "/tmp"):
        os.makedirs(folder, exist_ok=True)
    places = Places(wanted["root"])
    current: list[Run] = []

    def end_all(*_):
        if current:
            current[0].is_late = True
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass

    signal.signal(signal.SIGALRM, end_all)
    places.build()
    for shell in sorted({case["shell"] for case in wanted["cases"]}):
        Run(wanted["root"], {"line": "true", "shell": shell, "folder": "w"}).go()
    places.keep()
    for case in wanted["cases"]:
        run = Run(wanted["root"], case)
        current[:] = [run]
        run.go()
        changed, within = places.changes()
        said = {"id": case["id"], "changed": changed, "within": within, "started": run.started, "late": run.is_late}
        print(json.dumps(said), flush=True)
        if changed or within:
            places.restore()


main()
