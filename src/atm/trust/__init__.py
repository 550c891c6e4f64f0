"""What a person has allowed a repository's settings to do."""
