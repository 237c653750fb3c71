"""Exercise of the chapter: `waitall` against `wait_to_read`, with intermediate results.

`wait_to_read` waits for what one value needs; `waitall` also for what nobody has asked for yet.
The operations are made to take as long as told, so the answer does not depend on the machine:
the intermediate result is held back until the value has been read.
"""

import threading

from asyncguard import engine
from asyncguard.engine import np

x = np.ones((2, 2))
held_back = threading.Event()

with engine.ThreadedEngine(workers=2) as two, engine.use(two):
    two.push(held_back.wait, reads=[x.variable], name="intermediate result")
    y = x * 2 + 1
    y.wait_to_read()
    print(f"wait_to_read returned with {two.depth} operation still pending")
    held_back.set()
    engine.waitall()
    print(f"waitall returned with {two.depth} operations pending")
