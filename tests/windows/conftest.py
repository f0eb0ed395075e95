"""What tests of a whole Windows node share."""

from lab.fixtures import node

__all__ = ["node"]
