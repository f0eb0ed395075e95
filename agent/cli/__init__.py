"""Arguments in, a use case called, an exit code out."""
