"""What the screen and the page share: reading a team, and doing what is offered."""
