"""One run, without pytest."""
