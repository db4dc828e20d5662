// A header alone is no target for the package manager.
