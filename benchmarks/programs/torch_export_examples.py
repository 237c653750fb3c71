"""torch's own examples of export, exported and called."""

import torch

torch.manual_seed(0)  # the examples draw their inputs when they are loaded
from torch._export.db.examples import all_examples  # noqa: E402

done = 0
for name, case in sorted(all_examples().items()):
    try:
        program = torch.export.export(case.model, case.example_args, case.example_kwargs)
        result = program.module()(*case.example_args, **case.example_kwargs)
        print(name, program.graph_signature.output_specs, result)
        done += 1
    except Exception as error:  # noqa: BLE001, PERF203  some of them show what export refuses
        print(name, type(error).__name__)
print(done)
