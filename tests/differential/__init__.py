"""Our reading of formats held against the programs that define them, on thousands of documents."""
