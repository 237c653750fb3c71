"""The names of torch that it does not promise and asyncguard uses: all of them, and since when.

`torch_private` looks them up.
"""

from __future__ import annotations

from typing import NamedTuple

from asyncguard.runtime import versions

OLDEST = "2.6"  # the oldest torch that asyncguard works with
NEWEST = "2.15"  # the newest that its tests have run with


class Name(NamedTuple):
    """A name in torch, and the releases that have it.

    since: the first release that has it, of those tried (2.6, 2.11, 2.13, 2.15); 2.6 has most,
           from some earlier release on.
    until: the first release that has it no more; "": the newest has it.
    late:  whether it is looked up where it is used, since not every torch needs it or loads it.
    """

    path: str
    since: str = OLDEST
    until: str = ""
    late: bool = False

    def is_in(self, version: str) -> bool:
        """Whether this release of torch is to have it."""
        return versions.matches(version, f">={self.since}" + (f",<{self.until}" * bool(self.until)))


# What `torch_private.NAME` is.
NAMES: dict[str, Name] = {
    "C": Name("torch._C"),
    # Tensors and storages
    "TensorBase": Name("torch._C.TensorBase"),
    "StorageBase": Name("torch._C.StorageBase"),
    "storage_use_count": Name("torch._C._storage_Use_Count"),
    "new_shared": Name("torch.UntypedStorage._new_shared"),
    "storage_to": Name("torch._utils._to"),
    "shapeless": Name("torch.nn.parameter.UninitializedTensorMixin"),
    "shapeless_methods": Name("torch.nn.parameter.UninitializedTensorMixin._allowed_methods"),
    "nn": Name("torch._C._nn"),
    "parse_to": Name("torch._C._nn._parse_to"),
    "nested": Name("torch._C._nested"),
    "parallel": Name("torch.nn.parallel._functions"),
    "to_dlpack": Name("torch._C._to_dlpack"),
    "FakeTensor": Name("torch._subclasses.FakeTensor"),
    "FakeTensorMode": Name("torch._subclasses.FakeTensorMode"),
    # Transforms' wrappers round tensors
    "is_wrapped": Name("torch._C._functorch.is_functorch_wrapped_tensor"),
    "is_batched": Name("torch._C._functorch.is_batchedtensor"),
    "unwrapped": Name("torch._C._functorch.get_unwrapped"),
    # Modes and dispatch
    "has_torch_function_unary": Name("torch.overrides.has_torch_function_unary"),
    "DisableTorchFunction": Name("torch._C.DisableTorchFunction"),
    "DisableTorchFunctionSubclass": Name("torch._C.DisableTorchFunctionSubclass"),
    "DisableTorchDispatch": Name("torch._C._DisableTorchDispatch"),
    "TorchDispatchMode": Name("torch.utils._python_dispatch.TorchDispatchMode"),
    "push_mode": Name("torch.utils._python_dispatch._push_mode"),
    "pop_mode": Name("torch.utils._python_dispatch._pop_mode"),
    "current_dispatch_mode": Name("torch.utils._python_dispatch._get_current_dispatch_mode"),
    "function_mode_depth": Name("torch._C._len_torch_function_stack"),
    "function_modes": Name("torch.overrides._get_current_function_mode_stack"),
    "graph_task": Name("torch._C._current_graph_task_id"),
    "tracing_state": Name("torch._C._get_tracing_state"),
    # Optimizers
    "asgd_loop": Name("torch.optim.asgd._single_tensor_asgd"),
    "nadam_loop": Name("torch.optim.nadam._single_tensor_nadam"),
    "radam_loop": Name("torch.optim.radam._single_tensor_radam"),
    # Devices
    "DeviceContext": Name("torch.utils._device.DeviceContext"),
    "device_constructors": Name("torch.utils._device._device_constructors"),
    "device_index": Name("torch.cuda._utils._get_device_index"),
    "accelerator": Name("torch._C._get_accelerator"),
    "private_backend": Name("torch._C._get_privateuse1_backend_name"),
    # Data loaders
    "fetching": Name("torch.utils.data._utils.fetch"),
    "next_of_one": Name("torch.utils.data.dataloader._SingleProcessDataLoaderIter._next_data"),
    "next_of_many": Name("torch.utils.data.dataloader._MultiProcessingDataLoaderIter._next_data"),
    "reset_of_many": Name("torch.utils.data.dataloader._MultiProcessingDataLoaderIter._reset"),
    # Optimizers, scripts, compilers
    "foreach_utils": Name("torch.utils._foreach_utils"),
    "group_tensors": Name("torch._C._group_tensors_by_device_and_dtype"),
    "builtins": Name("torch.jit._builtins"),
    "find_builtin": Name("torch.jit._builtins._find_builtin"),
    "builtin_table": Name("torch.jit._builtins._get_builtin_table"),
    "trace_rules": Name("torch._dynamo.trace_rules", late=True),
    # Operators that the CPU has forms of its own of
    "cpu_flash": Name("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu"),
    "cpu_flash_backward": Name(
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward"
    ),
    # Collectives
    "object_device": Name("torch.distributed.distributed_c10d._get_object_coll_device", late=True),
    "BARRIER": Name("torch._C._distributed_c10d.OpType.BARRIER", late=True),
    # CUDA's own view of waits
    "gpu_trace": Name("torch.cuda._gpu_trace", late=True),
}
# Attributes of torch's objects; the functions below ask for them.
ATTRIBUTES: tuple[Name, ...] = (
    Name("torch.UntypedStorage._cdata"),
    Name("torch.Generator._cdata"),
    Name("torch.Tensor._use_count"),
    Name("torch.distributions.Distribution._validate_args"),
    Name("torch.ops.aten.add.Tensor._schema"),
    Name("torch.ops.aten.add.Tensor._overloadname"),
    Name("torch.ops.aten.add.Tensor._overloadpacket"),
    Name("torch.ops.aten.add.Tensor._op"),
    Name("torch._ops.OpOverload.redispatch"),
    Name("torch._C._dispatch_has_kernel_for_dispatch_key"),
    Name("torch._C._dispatch_dump"),
    Name("torch._C.DispatchKeySet"),
    Name("torch._C._dispatch_key_parse"),
    Name("torch._C._dispatch_tls_local_include_set"),
    Name("torch._C._dispatch_tls_local_exclude_set"),
    Name("torch._C._ForceDispatchKeyGuard"),
    Name("torch._C._AutoDispatchBelowAutograd"),
    Name("torch._C._set_tracing_state"),
    Name("torch.utils._device.CURRENT_DEVICE"),
    Name("torch.utils._python_dispatch.TorchDispatchMode.is_infra_mode"),
    Name("torch.utils._python_dispatch.TorchDispatchMode._should_skip_dynamo", since="2.11"),
    Name("torch._dynamo.trace_rules.SKIP_DIRS", late=True),
    Name("torch._dynamo.trace_rules.add", late=True),
    Name("torch._dynamo.utils.graph_break_reasons", late=True),
    Name("torch._dynamo.utils._compilation_metrics", late=True),
    Name("torch.distributed.distributed_c10d._world", late=True),
    Name("torch._C._distributed_c10d.Work._get_duration", late=True),
    Name("torch._C._distributed_c10d.Work._get_op_type", late=True),
    Name("torch._C._activate_gpu_trace", late=True),
    Name("torch.autograd._profiler_enabled"),
    Name("torch.autograd.profiler._is_profiler_enabled"),
)
# What simulated CUDA puts something in the place of; builds for the CPU lack most of torch._C's.
REPLACED: dict[str, tuple[str, ...]] = {
    "torch._C": (
        "__getattr__", "_accelerator_deviceCount", "_accelerator_emptyCache",
        "_accelerator_exchangeDevice",
        "_accelerator_getAccelerator", "_accelerator_getDeviceCapability",
        "_accelerator_getDeviceIndex", "_accelerator_getDeviceStats",
        "_accelerator_getMemoryInfo", "_accelerator_getStream",
        "_accelerator_isAllocatorInitialized", "_accelerator_maybeExchangeDevice",
        "_accelerator_resetAccumulatedStats", "_accelerator_resetPeakStats",
        "_accelerator_setDeviceIndex", "_accelerator_setStream",
        "_accelerator_synchronizeDevice", "_cuda_canDeviceAccessPeer", "_cuda_emptyCache",
        "_cuda_clearCublasWorkspaces",
        "_cuda_exchangeDevice", "_cuda_getAllocatorBackend", "_cuda_getArchFlags",
        "_cuda_getCompiledVersion", "_cuda_getCurrentRawStream", "_cuda_getDevice",
        "_cuda_getDeviceCount", "_cuda_getMemoryFraction", "_cuda_get_sync_debug_mode",
        "_cuda_init", "_cuda_ipc_collect", "_cuda_isCurrentStreamCapturing",
        "_cuda_isInBadFork", "_cuda_maybeExchangeDevice", "_cuda_memoryStats",
        "_cuda_resetAccumulatedMemoryStats", "_cuda_resetPeakMemoryStats", "_cuda_setDevice",
        "_cuda_setMemoryFraction", "_cuda_set_sync_debug_mode", "_cuda_sleep",
        "_cuda_synchronize", "_get_accelerator", "_get_default_device",
        "_group_tensors_by_device_and_dtype",
        "_broadcast", "_broadcast_coalesced", "_gather", "_graph_pool_handle", "_has_cuda",
        "_host_emptyCache", "_nccl_version",
        "_nccl_version_suffix", "_scatter", "_to_dlpack", "_to_dlpack_versioned",
    ),
    "torch._C._nested": ("nested_tensor",),
    "torch._C._nn": ("_parse_to", "binary_cross_entropy", "scaled_dot_product_attention"),
    "torch._subclasses.fake_tensor": ("FakeTensorMode.__enter__",),
    "torch.autograd.profiler": ("_supported_activities",),
    "torch.cuda": (
        "_cached_device_count", "_cudart", "_exchange_device", "_get_device_properties",
        "_initialized", "_is_in_bad_fork", "_lazy_init", "_maybe_exchange_device", "_queued_calls",
    ),
    "torch.cuda.nvtx": ("_nvtx",),
    "torch.distributed.distributed_c10d": ("_get_object_coll_device",),
    "torch.jit._builtins": ("_find_builtin",),
    "torch.nn.parallel._functions": ("_streams",),
    "torch.nn.parameter": ("UninitializedTensorMixin._allowed_methods",),
    "torch.optim.asgd": ("_multi_tensor_asgd",),
    "torch.optim.nadam": ("_multi_tensor_nadam",),
    "torch.optim.radam": ("_multi_tensor_radam",),
    "torch.storage": ("UntypedStorage._new_shared", "UntypedStorage._share_cuda_"),
    "torch.utils._foreach_utils": ("_get_fused_kernels_supported_devices",),
}  # fmt: skip
