"""Bytes in, specification out: one module an input format. Sources know no host."""
