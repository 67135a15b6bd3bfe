"""Experiments.

    experiment.py    the protocol (plan, run, judge, figures, words, picture, page), and the one way
                     to run, judge, write, publish and tell an experiment
    table.py         all experiments by name; `zkkit bench NAME` offers each of them
    gate/            the law of each design of a lock: `zkkit compare`, `zkkit demo`
    locks/           zkkit's locks beside kazoo's and Java Curator's: `zkkit bench locks`
    shop/            the shop that oversells
    recorder/        what recording costs
    designs.py, laws.py    the designs that are compared, and what each costs by arithmetic
    peers/           Java Curator, driven from Python
    kit/             what all of them use: sessions, witnesses, servers, child processes, options,
                     statistics, results, judgements, reports

A new experiment is a package with an `experiment.py` that has EXPERIMENT, and a line in table.py.
The load experiment is one too; it lives in loadtests/, beside its locustfiles.
"""
