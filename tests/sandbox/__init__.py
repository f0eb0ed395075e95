"""Whole runs of the program against a folder that stands for a Windows machine."""
