# What build.spec writes into the exe about itself.
COMMIT: str
OPENSSL: str
# Files in the folder `runtime`, by the name of the module that each is.
EXTENSIONS: dict[str, str]
