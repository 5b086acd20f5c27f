"""Faulty exporters: each is the lawful one with one rule of the catalogue broken.

A class here is a factory: ``faults.no_destructor(x)`` exports the NumPy array ``x``. ``FAULTS`` lists them by
name, and ``python faults.py`` prints the list as lines of

    name TAB rule TAB grade TAB also TAB probes TAB description

grade    what the oracle is to say under profile ``spec``: ``violation`` or ``warning``
also     other rules that the same fault breaks at grade violation, with ``;``: where one cause cannot but be
         seen by two rules (the class says why)
probes   names of the probes under which the fault is one fault, with ``;``; empty: all; ``none``: no probe
"""

from faults_capsule import *
from faults_managed import *
from faults_tensor import *
from faults_dtype import *
from faults_device import *
from faults_copies import *
from faults_signature import *
from faults_calls import *
from registry import FAULTS

if __name__ == "__main__":
    for name, fault in FAULTS.items():
        print(name, fault.rule, fault.grade, ";".join(fault.also), ";".join(fault.probes), fault.description, sep="\t")
