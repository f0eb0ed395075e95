"""Fetching over http and https: bounded in time and memory, patient with what passes, clear about the rest.

Made of the standard library alone. `requests` comes with certifi's list of authorities, which it wants to
find as a file, where what counts is the machine's own store; its time-outs bound each wait and never the
whole; and what makes a failure clear, OpenSSL's code, lies four exceptions deep in it. It takes three times
as long to import, urllib3 alone twice. What is left of both is http.client, which with the package email it
reads headers by costs as much again as all that is here; so answers are read here too.
"""
