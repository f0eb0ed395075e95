# What build.spec writes into the program about itself.
COMMIT: str
OPENSSL: str
