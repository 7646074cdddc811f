"""Other people's recipes."""
