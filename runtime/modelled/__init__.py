"""The modelled machine: devices whose numbers numpy computes and whose times a model gives.

Its layers, from what stands alone to what puts all together. Each imports those above it only.

    specs                       what is known of each model of device
    cost/                       the kernels of an operator, and what each takes
    clock                       the host's clock: real time less the time of numpy's work
    stream_timelines            what a device keeps of each stream
    activity                    the log of calls and work; calls that launch nothing, or wait
    caching_allocator           the memory of one device
    modelled_device             one device, and the list of those that are configured
    streams                     streams and events, and which are current
    placement                   which tensors are on which device
    current_device, memory_statistics       torch.cuda's functions about them
    operands                    the tensors among an operator's arguments
    kernel_launch, transfer     kernels, and copies, put on a stream
    to_device                   `tensor.to(device)`
    dispatch                    every operator on its way to numpy
    modelled_accelerator        what the runtime asks of devices (accelerator.py), answered: the
                                engine's rules about streams
    configuration               configure(): makes the devices and opens the door

The names below are for those who record what devices do. Everything else of the runtime comes here
by accelerator.py or by the face `cuda/`.
"""

from . import clock
from .activity import ActivityLog, DeviceMemory, DeviceWork, RuntimeCall, add_log, logs, remove_log
from .modelled_device import device_properties

__all__ = ["ActivityLog", "DeviceMemory", "DeviceWork", "RuntimeCall"]
__all__ += ["add_log", "clock", "device_properties", "logs", "remove_log"]
