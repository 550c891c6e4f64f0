"""Agents as processes: hosts, worktrees, salvage, a task from its start to its proof."""
