"""The built-in embedded knowledge base."""
