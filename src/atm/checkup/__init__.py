"""Doctor: findings and fixes."""
