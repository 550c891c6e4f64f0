"""Mail into an agent's context: hooks, briefing, panes, servers."""
