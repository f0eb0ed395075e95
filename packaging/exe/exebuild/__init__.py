"""What build.spec needs besides PyInstaller.

compiler    the launcher and the log-runner, from C
resources   what Explorer and the loader read in them: version, icon, manifest, event texts
payload     the program's folder into the section .payload of the shipped file
image       a section into a program
parts       what all of this is a part of, and under which licence
materials   the bill of these parts, for those who watch for vulnerabilities
shipping    from the program's folder to what is shipped
"""
