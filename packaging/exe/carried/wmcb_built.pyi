# What build.spec writes into the exe about itself.
COMMIT: str
OPENSSL: str
# Files in the folder `runtime`, by the name of the module that each is.
EXTENSIONS: dict[str, str]
# In the program's file: from where on modules are read, and what lies there before them.
PLACE: int
MARK: bytes
# Each of these modules, as they follow each other: its name, its code's size, whether it is a package.
READ: tuple[tuple[str, int, bool], ...]
