"""Who hosts a repository, from its URL alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.setup.rules.context import GitProvider, RepoContext, SystemContext, provider_of
from atm.vendors.claude.version import schema_for


def github(host="github.com", namespace="owner", repo="repo"):
    return GitProvider("github", host, namespace=namespace, repo=repo)


def azure(host="dev.azure.com", project="project"):
    return GitProvider("azure-devops", host, namespace="org", project=project, repo="repo")


@proves(
    "R001-2.1-06",
    "R001-3.3b-15",
    "R001-3.3b-16",
    "R001-3.3b-17",
    "R001-3.3b-18",
    "R001-3.3b-19",
    "R001-3.3b-20",
    "R001-3.3b-21",
    "R001-3.3b-22",
    "R001-5.3-01",
    "R001-10-06",
)
@pytest.mark.parametrize(
    ("url", "provider"),
    [
        # GitHub, and GitHub Enterprise
        ("https://github.com/owner/repo.git", github()),
        ("https://github.com/owner/repo", github()),
        ("https://github.com/owner/repo/", github()),
        ("https://github.com/owner/repo.git/", github()),
        ("  https://github.com/owner/repo.git\n", github()),
        ("https://GitHub.com/owner/repo.git", github()),
        ("https://user:token@github.com/owner/repo.git", github()),
        ("https://github.com:443/owner/repo.git", github()),
        ("http://www.github.com/owner/repo", github("www.github.com")),
        ("git://github.com/owner/repo.git", github()),
        ("git@github.com:owner/repo.git", github()),
        ("github.com:owner/repo", github()),
        ("git@github.com:/owner/repo.git", github()),
        ("ssh://git@github.com/owner/repo.git", github()),
        ("ssh://git@github.com:22/owner/repo.git", github()),
        ("ssh://git@ssh.github.com:443/owner/repo.git", github("ssh.github.com")),
        ("git+ssh://git@github.com/owner/repo", github()),
        ("https://github.com/owner/my.repo.git", github(repo="my.repo")),
        ("https://github.example.com/owner/repo.git", github("github.example.com")),
        ("git@github.example.com:owner/repo.git", github("github.example.com")),
        # GitLab, with groups in groups
        ("https://gitlab.com/group/repo.git", GitProvider("gitlab", "gitlab.com", "group", repo="repo")),
        ("https://gitlab.com/a/b/c/repo.git", GitProvider("gitlab", "gitlab.com", "a/b/c", repo="repo")),
        ("git@gitlab.com:a/b/repo.git", GitProvider("gitlab", "gitlab.com", "a/b", repo="repo")),
        (
            "ssh://git@gitlab.example.org:2222/a/b/repo.git",
            GitProvider("gitlab", "gitlab.example.org", "a/b", repo="repo"),
        ),
        # Bitbucket
        ("https://user@bitbucket.org/space/repo.git", GitProvider("bitbucket", "bitbucket.org", "space", repo="repo")),
        ("git@bitbucket.org:space/repo.git", GitProvider("bitbucket", "bitbucket.org", "space", repo="repo")),
        # Azure DevOps
        ("https://dev.azure.com/org/project/_git/repo", azure()),
        ("https://org@dev.azure.com/org/project/_git/repo", azure()),
        ("git@ssh.dev.azure.com:v3/org/project/repo", azure()),
        ("ssh://git@ssh.dev.azure.com/v3/org/project/repo", azure()),
        ("https://org.visualstudio.com/project/_git/repo", azure("org.visualstudio.com")),
        ("https://org.visualstudio.com/DefaultCollection/project/_git/repo", azure("org.visualstudio.com")),
        ("org@vs-ssh.visualstudio.com:v3/org/project/repo", azure("vs-ssh.visualstudio.com")),
        ("https://dev.azure.com/org/_git/repo", azure(project="repo")),
        ("https://org.visualstudio.com/_git/repo", azure("org.visualstudio.com", project="repo")),
        ("https://dev.azure.com/org", GitProvider("unknown", "dev.azure.com")),
        ("https://org.visualstudio.com/", GitProvider("unknown", "org.visualstudio.com")),
        # Others
        ("https://git.example.com/owner/repo.git", GitProvider("unknown", "git.example.com")),
        ("git@codeberg.org:owner/repo.git", GitProvider("unknown", "codeberg.org")),
        ("ssh://git@git.example.com:2222/owner/repo.git", GitProvider("unknown", "git.example.com")),
        ("https://github.com/", GitProvider("unknown", "github.com")),
        ("https://github.com/owner", GitProvider("unknown", "github.com")),
        ("build-server:repo", GitProvider("unknown", "build-server")),
    ],
)
def test_a_provider_is_told_by_the_url(url, provider):
    assert provider_of(url) == provider


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "/srv/git/repo.git",
        "../repo",
        "./repo",
        "repo",
        "~/repo.git",
        "file:///srv/git/repo.git",
        "file://localhost/srv/git/repo.git",
        "C:\\git\\repo",
        "C:/git/repo",
        "/srv/git:odd/repo.git",
        "./github.com:owner/repo",
        "https://",
        "https:///owner/repo",
        ":owner/repo",
    ],
)
def test_a_local_path_has_no_provider(url):
    assert provider_of(url) is None


@given(st.text(max_size=40) | st.text("gith.com:/@_-vC\\", max_size=30))
def test_no_url_makes_it_fail_and_no_provider_is_without_a_host(url):
    assert {bool(provider.host) for provider in (provider_of(url),) if provider is not None} <= {True}


@proves("R001-3.3b-07", "R001-5.3-01")
def test_the_context_tells_the_version_of_its_schema():
    context = SystemContext(
        hostname="h",
        platform="linux",
        claude_root="/c",
        root="/r",
        schema_version=schema_for("2.1.39"),
        repo=RepoContext("r", "/r", None, None),
        default_team="crew",
    )
    assert context.claude_version == "2.1.39"
