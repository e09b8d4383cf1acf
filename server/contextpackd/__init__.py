"""The shell around `contextpack`: disk, git, command line."""
