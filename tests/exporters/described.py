"""The exporters as dlpack-fuzz calls them: ``--backend py:described:NAME``.

NAME is ``Exporter``, the lawful one, or the name of a fault. Each is a function of a description, of which it
takes the NumPy array.
"""

import faults
import lawful


def __getattr__(name):
    factory = lawful.Exporter if name == "Exporter" else faults.FAULTS[name].factory
    return lambda description: factory(description.numpy)
