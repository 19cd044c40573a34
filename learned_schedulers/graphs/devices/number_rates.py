"""Peak rates of products by the type of their numbers, from the makers' data sheets.

Operations that are no products run on units that all types share, at the rate of float32; memory binds nearly all of
them. A type that a data sheet does not list counts at the rate of float32, which the answer says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learned_schedulers.graphs.devices.settings import DEVICES, DeviceName

_T = 1e12

# Of the H100 and the H200 (2023 and 2024, SXM), whose data sheets list sparse operands, at twice these rates.
_HOPPER = {
    "float64": 67 * _T,
    "float32": 67 * _T,
    "tf32": 494.5 * _T,
    "float16": 989.5 * _T,
    "bfloat16": 989.5 * _T,
    "int8": 1979 * _T,
}
# NVIDIA's data sheets of the T4 (2019; float64 from the Turing whitepaper: 1/32 of float32), of the V100 (2020, SXM2)
# and of the A100 (2020, SXM): operations per second with dense operands, by tensor cores where there are some.
NUMBER_RATES: dict[DeviceName, dict[str, float]] = {
    "t4": {"float64": 0.253 * _T, "float32": 8.1 * _T, "float16": 65 * _T, "int8": 130 * _T},
    "v100": {"float64": 7.8 * _T, "float32": 15.7 * _T, "float16": 125 * _T},
    "a100": {
        "float64": 19.5 * _T,
        "float32": 19.5 * _T,
        "tf32": 156 * _T,
        "float16": 312 * _T,
        "bfloat16": 312 * _T,
        "int8": 624 * _T,
    },
    "h100": _HOPPER,
    "h200": _HOPPER,
    # 56 cores at 2 GHz; AMX does 1,024 operations of bfloat16 in a cycle, 2,048 of int8 (Intel, 4th Xeon, 2023).
    "cpu": {
        "float64": 3.584 * _T,
        "float32": 7.168 * _T,
        "float16": 14.336 * _T,
        "bfloat16": 114.688 * _T,
        "int8": 229.376 * _T,
    },
}


def rates_of(types: Sequence[str], device: DeviceName, tf32: bool) -> np.ndarray:
    """FLOPs per second of each operation, (n,). types: of the numbers of products; empty for other operations.

    tf32: products of float32 run by tensor cores. Raises ValueError if the device has no such type.
    """
    rates = NUMBER_RATES[device]
    if tf32 and "tf32" not in rates:
        with_it = ", ".join(name for name, others in NUMBER_RATES.items() if "tf32" in others)
        raise ValueError(f"--tf32: the data sheet of the {device} has no tf32; use it with --device {with_it}")
    plain = DEVICES[device].flops_per_second
    return np.array([rates.get(_computed_as(kind, tf32), plain) for kind in types], np.float64)


def rates_text(types: Sequence[str], device: DeviceName, tf32: bool) -> str:
    """The rates that were used: `float32 15.7 TFLOP/s, bfloat16 as float32, which the data sheet does not list`."""
    rates = NUMBER_RATES[device]
    used = sorted({_computed_as(kind, tf32) for kind in types if kind} or {_computed_as("float32", tf32)})
    plain = DEVICES[device].flops_per_second
    return ", ".join(
        f"{kind} {rates[kind] / _T:g} TFLOP/s"
        if kind in rates
        else f"{kind}, which its data sheet does not list, {plain / _T:g} TFLOP/s"
        for kind in used
    )


def _computed_as(kind: str, tf32: bool) -> str:
    """Integers of more than eight bits and complex numbers have no rate; complex products count as four of float32."""
    kind = {"complex64": "float32", "complex128": "float64"}.get(kind, kind)
    return "tf32" if tf32 and kind == "float32" else kind
