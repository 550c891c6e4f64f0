"""Which settings of a repository make git run a program."""

from __future__ import annotations

import pytest

from atm.git.rules.program_settings import CANNOT_BE_READ, setting_with_a_program


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("", ""),
        ('[core]\n\tbare = false\n\tfilemode = true\n[remote "origin"]\n\turl = /x\n', ""),
        ("[core]\n\tfsmonitor = ./evil.sh\n", "core.fsmonitor"),
        ("[core]\n\tfsmonitor = true\n", ""),
        ("[CORE]\n\tFsMonitor=sh -c x\n", "core.fsmonitor"),
        ("[core] fsmonitor = ./evil.sh", "core.fsmonitor"),
        ("[core]\r\n\thooksPath = x\r\n", "core.hookspath"),
        ('[diff "png"]\n\ttextconv = sh\n', "diff.textconv"),
        ("[diff.png]\n\tcommand = sh\n", "diff.command"),
        ("[diff]\n\texternal = sh\n", "diff.external"),
        ("[diff]\n\talgorithm = patience\n", ""),
        ('[filter "a]b"]\n\tclean = sh\n', "filter.clean"),
        ('[filter "a\\"]b"]\n\tsmudge = sh\n', "filter.smudge"),
        ('[merge "x"]\n\tdriver = sh\n', "merge.driver"),
        ("[include]\n\tpath = evil\n", "include.path"),
        ('[includeIf "gitdir:x"]\n\tpath = evil\n', "includeif.path"),
        ("[pager]\n\tlog = false\n", ""),
        ("[pager]\n\tlog = sh\n", "pager.log"),
        ("[core]\n\tcomment = a \\\n[user]\n\tfsmonitor = ./evil.sh", CANNOT_BE_READ),
        ("[core]\n\tcomment = a\r[user]\n\tfsmonitor = x", CANNOT_BE_READ),
        ('[core]\n\tfsmonitor = "true#; ./evil.sh"\n', "core.fsmonitor"),
        ("[core]\n\tfsmonitor = true # as it comes\n", ""),
        ("[core]\n\tfsmonitor = true;./evil.sh\n", "core.fsmonitor"),
        ('[hook "x"]\n\tcommand = sh\n', "hook.command"),
        ('[remote "o"]\n\turl = ext::sh -c x\n', "remote.url"),
        ('[remote "o"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/o/*\n', ""),
        ('[remote "o"]\n\tuploadpack = sh\n', "remote.uploadpack"),
        ('[submodule "s"]\n\tupdate = !sh\n', "submodule.update"),
        ('[submodule "s"]\n\tupdate = rebase\n\tactive = true\n', ""),
        ("[alias]\n\tlfs = !sh\n", "alias.lfs"),
        ("[format]\n\tpretty = %GK\n", "format.pretty"),
        ("[log]\n\tshowSignature = true\n", "log.showsignature"),
        ("# [core]\n; fsmonitor = x\n", ""),
        ("[user]\n\tname = [core] fsmonitor = x\n", ""),
    ],
    ids=repr,
)
def test_a_setting_that_names_a_program_is_found_however_it_is_written(text, setting):
    assert setting_with_a_program(text) == setting
