"""The views, each a pure function from the model to rows and to what is told of the chosen one."""
