"""What array-api-tests' test_dunder_dlpack does, with its arguments, by Hypothesis alone: rate per second.

The suite itself is no package; `scripts/bench --array-api-tests CHECKOUT` measures it too.
"""

import sys
import time

import hypothesis
import hypothesis.extra.numpy as npst
import hypothesis.strategies as st
import numpy as np

EXAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


@hypothesis.settings(max_examples=EXAMPLES, deadline=None, database=None,
                     suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(
    npst.arrays(st.sampled_from(DTYPES), npst.array_shapes(min_dims=0, min_side=0, max_side=4)),
    st.fixed_dictionaries({}, optional={
        "max_version": st.sampled_from([None, (1, 0), (1, 1), (2, 0), (0, 8)]),
        "copy": st.sampled_from([None, True, False]),
        "dl_device": st.sampled_from([None, (1, 0)]),
    }))
def one(array, arguments):
    array.__dlpack__(**arguments)


start = time.monotonic()
one()
print(f"{EXAMPLES / (time.monotonic() - start):.0f} examples/s (hypothesis {hypothesis.__version__}, "
      f"numpy {np.__version__})")
