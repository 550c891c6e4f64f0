"""Messages with a type: requests, answers, notices."""
