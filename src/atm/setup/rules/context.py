"""Where we are: the machine, the workspace and the repository. Provider detection is URL parsing, no network."""

from __future__ import annotations

from dataclasses import dataclass

from atm.vendors.claude.version import SchemaVersion


@dataclass(frozen=True, slots=True)
class GitProvider:
    """Who hosts a repository. `kind` is github, azure-devops, gitlab, bitbucket or unknown."""

    kind: str
    host: str
    namespace: str = ""
    """The owner, workspace or group path; for Azure DevOps the organisation."""
    project: str = ""
    """Azure DevOps only."""
    repo: str = ""


@dataclass(frozen=True, slots=True)
class RepoContext:
    """A git repository around the workspace."""

    name: str
    path: str
    remote_url: str | None
    provider: GitProvider | None


@dataclass(frozen=True, slots=True)
class SystemContext:
    """Resolved once and shared. `root` always exists; `repo` only where git is."""

    hostname: str
    platform: str
    claude_root: str
    root: str
    schema_version: SchemaVersion
    repo: RepoContext | None
    default_team: str

    @property
    def claude_version(self) -> str:
        return self.schema_version.claude_version


def provider_of(url: str) -> GitProvider | None:
    """The provider behind a remote URL: https, ssh and scp-like forms. None for local paths."""
    host, path = _host_and_path(url.strip())
    if not host:
        return None
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    known = host.removeprefix("ssh.").removeprefix("www.")
    if known == "dev.azure.com" or known.endswith(".visualstudio.com"):
        return _azure(known, parts)
    labels = known.replace("-", ".").split(".")
    kind = next((name for name in ("github", "gitlab", "bitbucket") if name in labels), "unknown")
    if kind == "unknown" or len(parts) < 2:
        return GitProvider("unknown", host)
    return GitProvider(kind, host, namespace="/".join(parts[:-1]), repo=parts[-1])


def _azure(host: str, parts: list[str]) -> GitProvider:
    """https://dev.azure.com/org/project/_git/repo, git@ssh.dev.azure.com:v3/org/project/repo, org.visualstudio.com."""
    words = [part for part in parts if part not in ("v3", "_git", "DefaultCollection")]
    if host.endswith(".visualstudio.com") and parts[:1] != ["v3"]:
        words = [host.partition(".")[0], *words]
    if len(words) == 2:
        words = [words[0], words[1], words[1]]  # the default repository has the project's name
    if len(words) < 3:
        return GitProvider("unknown", host)
    return GitProvider("azure-devops", host, namespace=words[0], project=words[1], repo=words[2])


def _host_and_path(url: str) -> tuple[str, str]:
    if "://" in url:
        scheme, _, rest = url.partition("://")
        if scheme == "file":
            return "", ""
        authority, _, path = rest.partition("/")
        return authority.rpartition("@")[2].partition(":")[0].lower(), path
    before, colon, path = url.partition(":")
    if colon and "/" not in before and "\\" not in path[:1] and len(before) > 1:
        return before.rpartition("@")[2].lower(), path
    return "", ""
