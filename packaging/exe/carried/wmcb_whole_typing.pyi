# Python's own typing, under the name that it has in the exe (wmcb_typing.py).
