"""How a response is scored."""
