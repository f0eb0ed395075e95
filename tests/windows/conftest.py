"""What tests of a whole Windows node share."""

from lab.fixtures import lasting, node, proxy, secure_web, web, web_authority

__all__ = ["lasting", "node", "proxy", "secure_web", "web", "web_authority"]
