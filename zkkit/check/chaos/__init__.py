"""Did the locks keep their word in a storm of faults? Judged by files alone.

The processes of `zkkit chaos` write down what they ask for, what they are given and what their
holds say of themselves; the one that breaks things writes down what it broke; and what guarded
writes left on the servers is written down as well. This package reads those files (`history`) and
looks for broken promises (`properties`). It knows nothing of the locks it judges: it imports
nothing of zkkit but itself.
"""
