"""How files get here and are read."""
