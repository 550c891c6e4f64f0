"""How fast atm is, beside a bare interpreter and beside `filelock` + `json`: `make bench`."""
