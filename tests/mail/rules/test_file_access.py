"""May this file be shown? Claude Code's rules about reading, matched as paths and never as parts of words."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.mail.rules.file_access import AccessRule, Scope, is_inside, judge, parse_rule

ROOTS = {"settings_root": "/settings", "working_folder": "/repo", "home": "/home/u"}


def rule(pattern: str, scope: str = "project") -> AccessRule:
    found = parse_rule(f"Read({pattern})", scope, **ROOTS)
    assert found is not None
    return found


class TestAnchors:
    @pytest.mark.parametrize(
        ("pattern", "covered", "others"),
        [
            # from the root of the file system
            ("//etc/passwd", ["/etc/passwd"], ["/repo/etc/passwd", "/settings/etc/passwd", "/etc/passwd2", "/etc"]),
            ("//etc/**", ["/etc/a", "/etc/a/b"], ["/etc", "/etcetera/a"]),
            ("//**/.env", ["/.env", "/a/b/.env"], ["/a/.env2", "/a/x.env"]),
            # from home
            ("~/.ssh", ["/home/u/.ssh", "/home/u/.ssh/id"], ["/home/u/.sshx", "/repo/.ssh", "/home/v/.ssh"]),
            ("~/.ssh/**", ["/home/u/.ssh/id", "/home/u/.ssh/a/b"], ["/home/u/.ssh2/id"]),
            ("~", ["/home/u", "/home/u/x"], ["/home/user2", "/home"]),
            # from the folder of the settings
            ("/secret", ["/settings/secret", "/settings/secret/x"], ["/secret", "/repo/secret", "/settings/a/secret"]),
            ("/a/*.txt", ["/settings/a/b.txt"], ["/settings/a/b/c.txt", "/repo/a/b.txt"]),
            # from the working folder
            ("./secret", ["/repo/secret", "/repo/secret/x"], ["/repo/secrets.txt", "/repo/foo/secret", "/secret"]),
            ("./a/**", ["/repo/a/b", "/repo/a/b/c"], ["/repo/ab/c", "/repo/x/a/b"]),
            ("foo/secret", ["/repo/foo/secret"], ["/repo/x/foo/secret", "/repo/foo/secret2", "/repo/secret"]),
            ("src/**/x.py", ["/repo/src/x.py", "/repo/src/a/b/x.py"], ["/repo/src/xx.py", "/repo/lib/src/x.py"]),
            # bare: anywhere below the working folder
            ("secret", ["/repo/secret", "/repo/a/b/secret", "/repo/secret/x"], ["/repo/secrets.txt", "/repo/mysecret"]),
            ("secret/", ["/repo/secret/x", "/repo/a/secret/x"], ["/repo/secrets/x"]),
            (".env", ["/repo/.env", "/repo/a/.env"], ["/repo/.env.local", "/repo/xenv", "/repo/a.env", "/.env"]),
            ("*.pem", ["/repo/a.pem", "/repo/a/b.pem", "/repo/.pem"], ["/repo/pem", "/repo/a.pem2", "/etc/a.pem"]),
            ("**/*.key", ["/repo/a.key", "/repo/a/b.key"], ["/a.key"]),
            # wildcards
            ("./a?c", ["/repo/abc", "/repo/a.c"], ["/repo/ac", "/repo/abbc", "/repo/a/c"]),
            ("./*/x", ["/repo/a/x"], ["/repo/x", "/repo/a/b/x"]),
            ("./a[bc]d", ["/repo/abd", "/repo/acd"], ["/repo/add", "/repo/ad"]),
            ("./a[!bc]d", ["/repo/axd"], ["/repo/abd", "/repo/ad"]),
            ("./a[^bc]d", ["/repo/axd"], ["/repo/abd"]),
            ("./a[0-9]", ["/repo/a5"], ["/repo/ax", "/repo/a"]),
            ("./a[]]b", ["/repo/a]b"], ["/repo/ab"]),
            ("./a[\\d]", ["/repo/ad", "/repo/a\\"], ["/repo/a5"]),
            ("./a[b", ["/repo/a[b"], ["/repo/ab"]),
            ("./a[]", ["/repo/a[]"], ["/repo/a"]),
            # characters that mean something to regular expressions mean themselves
            ("./a.b", ["/repo/a.b"], ["/repo/axb"]),
            ("./a+(b)|$^{1}", ["/repo/a+(b)|$^{1}"], ["/repo/aab"]),
        ],
    )
    def test_a_pattern_covers_whole_names_from_its_anchor(self, pattern, covered, others):
        assert [path for path in covered if not rule(pattern).covers(path)] == []
        assert [path for path in others if rule(pattern).covers(path)] == []

    @pytest.mark.parametrize("text", ["Read", "Read()", "Read(*)", "Read(**)", " Read ", "Read (**)"])
    def test_a_rule_without_a_pattern_covers_everything(self, text):
        found = parse_rule(text, "s", **ROOTS)
        assert found is not None
        assert found.covers("/etc/passwd")
        assert found.covers("/repo/x")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "Edit(./x)",
            "Bash(cat:*)",
            "Write",
            "read(./x)",
            "ReadAll(./x)",
            "Read(./x",
            "Read(./x) and more",
            "(./x)",
        ],
    )
    def test_a_rule_about_something_else_is_none(self, text):
        assert parse_rule(text, "s", **ROOTS) is None

    def test_a_rule_remembers_its_text_and_where_it_stands(self):
        assert (rule("./x", "managed").text, rule("./x", "managed").scope) == ("Read(./x)", "managed")

    def test_roots_may_end_in_a_slash_or_contain_any_character(self):
        found = parse_rule("Read(./x)", "s", settings_root="/", working_folder="/re.po (1)/", home="/")
        assert found is not None
        assert found.covers("/re.po (1)/x")
        assert not found.covers("/rexpo (1)/x")

    @given(st.text("abc./-_", min_size=1, max_size=12).filter(lambda name: name.strip("/.") and "//" not in name))
    def test_a_plain_name_covers_itself_and_what_is_in_it_and_nothing_longer(self, name):
        name = name.strip("/").removeprefix("./").strip("/") or "a"
        found = rule(f"./{name}")
        assert found.covers(f"/repo/{name}")
        assert found.covers(f"/repo/{name}/inside")
        assert not found.covers(f"/repo/{name}s.txt")
        assert not found.covers(f"/repo/x{name}")
        assert not found.covers(f"/other/repo/{name}")

    @pytest.mark.parametrize("pattern", ["**", "./secret", "./secret/**", "secret", "//repo/secret/**"])
    @pytest.mark.parametrize("name", ["a\nb", "\n", "a\n", "\nb/c"])
    def test_a_newline_in_a_name_is_a_character_like_any_other(self, pattern, name):
        assert rule(pattern).covers(f"/repo/secret/{name}")

    @pytest.mark.parametrize("pattern", ["./a[!b]c", "./a[^x]c", "./a[/]c", "./a[.-0]c"])
    def test_no_class_of_characters_covers_a_slash(self, pattern):
        assert not rule(pattern).covers("/repo/a/c")

    @pytest.mark.parametrize(
        "pattern", ["./[z-a]", "./[!]a]", "./x[a-]y[9-0]", "./[[a]", "./[a||b]", "./[a--b]", "./[a&&b]"]
    )
    def test_an_odd_class_of_characters_is_no_reason_to_fail(self, pattern):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not rule(pattern).covers("/repo/z]")


class TestJudge:
    def judged(self, path: str, *scopes: Scope, root: str = "/repo") -> tuple[bool, bool]:
        verdict = judge(path, root, list(scopes))
        assert verdict.reason
        return verdict.permitted, verdict.denied

    def test_what_lies_in_the_repository_is_permitted(self):
        assert self.judged("/repo/a") == (True, False)
        assert self.judged("/repo") == (True, False)

    def test_what_lies_outside_is_not_permitted_and_not_denied(self):
        assert self.judged("/etc/passwd") == (False, False)
        assert self.judged("/repository/a") == (False, False)

    def test_an_allow_rule_permits_what_lies_outside(self):
        assert self.judged("/data/x", Scope("user", allow=(rule("//data/**"),))) == (True, False)
        assert self.judged("/data2/x", Scope("user", allow=(rule("//data/**"),))) == (False, False)

    def test_an_additional_folder_permits_what_lies_in_it(self):
        scope = Scope("local", folders=("/data", "/more/"))
        assert self.judged("/data/x", scope) == (True, False)
        assert self.judged("/more/x", scope) == (True, False)
        assert self.judged("/data2/x", scope) == (False, False)

    @pytest.mark.parametrize("place", range(3))
    def test_a_deny_wins_at_whatever_level_it_stands(self, place):
        allowing = Scope("a", allow=(rule("**"),), folders=("/",))
        scopes = [allowing, allowing, allowing]
        scopes[place] = Scope("d", deny=(rule("./secret"),))
        assert self.judged("/repo/secret", *scopes) == (False, True)
        assert self.judged("/repo/other", *scopes) == (True, False)

    def test_a_deny_wins_over_an_allow_in_the_same_file(self):
        scope = Scope("s", deny=(rule("./secret"),), allow=(rule("./secret"),), folders=("/repo/secret",))
        assert self.judged("/repo/secret/x", scope) == (False, True)

    def test_the_reason_names_the_rule_and_where_it_stands(self):
        scopes = [Scope("/m.json"), Scope("/p.json", deny=(rule("./secret", "/p.json"),), folders=("/data",))]
        assert judge("/repo/secret", "/repo", scopes).reason == "Read(./secret) is denied in /p.json"
        assert "/data" in judge("/data/x", "/repo", scopes).reason
        assert "/p.json" in judge("/data/x", "/repo", scopes).reason
        allowed = judge("/x", "/repo", [Scope("/u.json", allow=(rule("//x", "/u.json"),))])
        assert allowed.reason == "Read(//x) is allowed in /u.json"
        assert judge("/repo/x", "/repo", []).reason == "inside /repo"
        assert "outside /repo" in judge("/x", "/repo", []).reason

    def test_where_only_managed_rules_count_the_others_are_not_asked(self):
        managed = Scope("managed", deny=(rule("//top"),), only_managed_rules=True)
        user = Scope("user", deny=(rule("./a"),), allow=(rule("//data/**"),), folders=("/more",))
        assert self.judged("/repo/a", managed, user) == (True, False)
        assert self.judged("/data/x", managed, user) == (False, False)
        assert self.judged("/more/x", managed, user) == (True, False)
        assert self.judged("/top/x", managed, user) == (False, True)

    def test_only_the_managed_file_can_say_so(self):
        project = Scope("project", only_managed_rules=True)
        user = Scope("user", deny=(rule("./a"),))
        assert self.judged("/repo/a", Scope("managed"), project, user) == (False, True)

    def test_without_any_settings_the_repository_decides(self):
        assert judge("/repo/x", "/repo/", []).permitted
        assert not judge("/repox", "/repo/", []).permitted


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/a", "/a/", True),
        ("/ab", "/a", False),
        ("/", "/", True),
        ("/x/y", "/", True),
        ("/a", "/a/b", False),
    ],
)
def test_inside_a_folder_is_below_it_or_itself(path, folder, inside):
    assert is_inside(path, folder) is inside
