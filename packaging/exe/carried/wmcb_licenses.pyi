# What build.spec puts into the exe: the licences of all that it carries.
TEXT: str
