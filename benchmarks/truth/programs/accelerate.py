"""Loops of training that the library prepares, gathers and stores."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import accelerate
import accelerate.local_sgd
import torch
from accelerate import utils
from accelerate.state import AcceleratorState, GradientState, PartialState

from benchmarks.truth.programs import network, rows

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "half": {"mixed_precision": "bf16"},
    "accumulated": {"gradient_accumulation_steps": 2},
    "dispatched": {"dataloader_config": accelerate.DataLoaderConfiguration(dispatch_batches=True)},
    "split": {"dataloader_config": accelerate.DataLoaderConfiguration(
        split_batches=True, use_seedable_sampler=True)},
    "clipped": {"step_scheduler_with_optimizer": False},
}  # fmt: skip


def _accelerator(device: str, **given: Any) -> accelerate.Accelerator:
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()
    return accelerate.Accelerator(cpu=device == "cpu", **given)


def _train(kind: str, device: str) -> list[Any]:
    made = _accelerator(device, **KINDS[kind])
    utils.set_seed(3)
    data = torch.utils.data.TensorDataset(*rows("cpu", 20))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    model = network("cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    model, optimizer, loader, schedule = made.prepare(model, optimizer, loader, schedule)
    found: list[Any] = []
    for _ in range(2):
        model.train()
        for inputs, labels in loader:
            with made.accumulate(model), made.autocast():
                loss = torch.nn.functional.cross_entropy(model(inputs), labels)
                made.backward(loss)
                if made.sync_gradients:
                    if kind == "clipped":
                        made.clip_grad_value_(model.parameters(), 0.1)
                    else:
                        found.append(made.clip_grad_norm_(model.parameters(), 1.0))
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        for inputs, labels in loader:
            with torch.no_grad():
                guessed = model(inputs).argmax(-1)
            found += made.gather_for_metrics((guessed, labels))
    with tempfile.TemporaryDirectory() as folder:
        made.register_for_checkpointing(schedule)
        made.save_state(folder)
        made.load_state(folder)
        made.save_model(model, f"{folder}/model")
    made.wait_for_everyone()
    found += made.unwrap_model(model).state_dict().values()
    return [*found, made.get_state_dict(model)]


CASES = {kind: functools.partial(_train, kind) for kind in KINDS}


def operations(device: str) -> list[Any]:
    """Nested tensors gathered, reduced, padded, sliced and sent."""
    made = _accelerator(device)
    inputs, labels = rows(device)
    nested = {"a": inputs, "b": [labels, (inputs[:2],)]}
    padded = made.pad_across_processes(inputs, dim=1, pad_first=True)
    return [
        made.gather(nested), made.reduce(inputs, "mean"), padded,
        utils.send_to_device(nested, device), utils.slice_tensors(nested, slice(0, 2)),
        utils.concatenate([nested, nested]), utils.find_batch_size(nested),
        utils.convert_to_fp32({"half": inputs.bfloat16()}), utils.broadcast(inputs),
        utils.pad_input_tensors(inputs, 16, 3), made.gather_for_metrics(["text"],
            use_gather_object=True),
    ]  # fmt: skip


def stop(device: str) -> list[Any]:
    """A flag that any process may raise."""
    made = _accelerator(device)
    made.set_trigger()
    return [made.check_trigger(), made.check_trigger()]


def offloaded(device: str) -> list[Any]:
    """A model whose layers come to the device when they are asked for."""
    _accelerator(device)
    model = network("cpu")
    held = accelerate.cpu_offload(model, execution_device=torch.device(device))
    first = held(rows(device)[0])
    accelerate.hooks.remove_hook_from_submodules(model)
    placed = accelerate.dispatch_model(
        network("cpu"), {"0": device, "1": device, "2": "cpu"}, main_device=device, force_hooks=True
    )
    sizes = utils.compute_module_sizes(model)
    return [first, placed(rows(device)[0]), sizes[""]]


def empty(device: str) -> list[Any]:
    """Weights made on no device, then loaded onto one."""
    _accelerator(device)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(network("cpu").state_dict(), f"{folder}/pytorch_model.bin")
        with accelerate.init_empty_weights():
            model = network("meta")
        made = accelerate.load_checkpoint_and_dispatch(
            model, f"{folder}/pytorch_model.bin", device_map={"": device}
        )
        return [made(rows(device)[0])]


def local_steps(device: str) -> list[Any]:
    """Steps that are synchronized only now and then."""
    made = _accelerator(device)
    model = made.prepare(network("cpu"))
    optimizer = made.prepare(torch.optim.SGD(model.parameters(), lr=0.1))
    inputs, labels = rows(device)
    with accelerate.local_sgd.LocalSGD(accelerator=made, model=model, local_sgd_steps=2) as local:
        for _ in range(3):
            optimizer.zero_grad()
            made.backward(torch.nn.functional.cross_entropy(model(inputs), labels))
            optimizer.step()
            local.step()
    return list(model.parameters())
