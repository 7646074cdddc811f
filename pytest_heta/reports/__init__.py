"""From case results to verdicts and files."""
