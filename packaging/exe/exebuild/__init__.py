"""How wmcb.exe is put together, step by step; build.spec starts it.

sources     which modules the product has, and what they import
freezing    modules into code, the same bytes each time
modules     code into the section .modules of the program
compiler    the launcher and the log-runner, from C
resources   what Explorer and the loader read in it: version, icon, manifest, event texts
payload     program and runtime into the section .payload of the shipped file
image       sections into a program
parts       what all of this is a part of, and under which licence
materials   the bill of these parts, for those who watch for vulnerabilities
signing     a signature, where there is a key
assembly    all of these in order
"""
