"""What every HTTP server of ours does alike: whom it refuses, how long it waits, how it is served."""
