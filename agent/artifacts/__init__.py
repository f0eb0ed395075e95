"""What a node is made of and comes from elsewhere: fetched, proven and unpacked before a run changes a thing.

Until all of it is proven it lies in a folder of wmcb's own, whole or in part; what was begun is gone on with
by the next run. From there a file gets its name in one move.
"""
