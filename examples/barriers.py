"""`waitall` waits for everything that is pending, `wait_to_read` for one value.

The chapter's exercise: with an intermediate result that nobody needs yet, waiting for the one
value that is needed returns earlier than waiting for all.
"""

from asyncguard import Benchmark
from asyncguard.compat import import_mxnet

mxnet = import_mxnet()
from mxnet import np, npx  # noqa: E402

npx.set_np()
a = np.random.normal(size=(1000, 1000))
npx.waitall()

with Benchmark("waitall"):
    b = np.dot(a, a)
    npx.waitall()

with Benchmark("wait_to_read"):
    b = np.dot(a, a)
    b.wait_to_read()

with Benchmark("wait_to_read, with another result pending"):
    b = np.dot(a, a)
    intermediate = np.dot(b, b)
    b.wait_to_read()

npx.waitall()

with Benchmark("waitall, with another result pending"):
    b = np.dot(a, a)
    intermediate = np.dot(b, b)
    npx.waitall()
