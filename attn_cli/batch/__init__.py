"""Many problems: `find` says which, `work` does some of them, `executors` say where, `resume` what is done, `summary` what came of it."""
