"""What a node should be, and making it so. Runs on any operating system."""
