"""Doctor: findings, mending, tidying."""
