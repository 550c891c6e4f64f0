"""One module for each command: what it takes (`COMMAND`) and what it does (`execute`)."""
