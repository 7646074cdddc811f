"""Where cases come from: the registry and one adapter a benchmark family."""
