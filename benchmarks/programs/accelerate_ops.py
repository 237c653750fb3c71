"""accelerate's script that tests its collective operations, as it is run by `accelerate test`."""

import runpy

runpy.run_module("accelerate.test_utils.scripts.test_ops", run_name="__main__")
