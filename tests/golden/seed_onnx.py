#!/usr/bin/env python3
"""Give a light_*.onnx graph the weights of `isotome import --weights-seed`.

usage: seed_onnx.py IN.onnx OUT.onnx SEED        (Debian: python3-onnx, python3-numpy, python3-xxhash)

The generator is written here a second time, from its description in src/model/onnx/onnx_seed.c, so that another
program can run a seeded model and its output can be recorded; see README.md beside this file.
"""
import sys

import numpy as np
import onnx
import xxhash
from onnx import numpy_helper

NORMAL_UNIT = 37837.22766


def stream(start, count):
    """SplitMix64 as a counter: numbers 0 .. count-1 of the stream."""
    with np.errstate(over="ignore"):
        x = np.uint64(start) + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def normal(bits):
    parts = sum((bits >> np.uint64(s)) & np.uint64(0xFFFF) for s in (0, 16, 32, 48))
    return parts.astype(np.int64) - 2 * 0xFFFF


def weight_for(name, kind, slot, shape, seed):
    start = seed ^ xxhash.xxh3_64_intdigest(name.encode())
    bits = stream(start, int(np.prod(shape)))
    fan_in = float(np.prod(shape[1:])) if len(shape) > 1 else 1.0
    if kind == "Conv" and slot == 1:
        value = normal(bits) * (np.sqrt(2.0 / fan_in) / NORMAL_UNIT)
    elif kind == "Gemm" and slot == 1:
        value = normal(bits) * (np.sqrt(2.0 / fan_in) * 0.02 / NORMAL_UNIT)
    elif kind == "BatchNormalization" and slot not in (1, 4):
        value = normal(bits) * (0.1 / NORMAL_UNIT)
    elif kind in ("BatchNormalization", "Unsqueeze", "Mul", "Div"):
        value = 0.5 + (bits >> np.uint64(40)).astype(np.float64) * 2.0**-24
    else:
        value = normal(bits) * (0.05 / NORMAL_UNIT)
    return value.astype(np.float32).reshape(shape)


def main():
    source, target, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = onnx.load(source)
    graph = model.graph
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    fills = {n.output[0]: constants[n.input[0]] for n in graph.node if n.op_type == "ConstantOfShape"}
    user = {}
    for node in graph.node:
        for slot, name in enumerate(node.input):
            user.setdefault(name, (node.op_type, slot))
    nodes = [n for n in graph.node if n.output[0] not in fills]
    shapes = {name: tuple(int(d) for d in shape) for name, shape in fills.items()}
    shapes.update((name, v.shape) for name, v in constants.items() if v.dtype == np.float32 and name in user)
    kept = [i for i in graph.initializer if i.name not in shapes]
    weights = [
        numpy_helper.from_array(weight_for(name, *user[name], shape, seed), name) for name, shape in shapes.items()
    ]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept + weights)
    used = {name for node in graph.node for name in node.input}
    initializers = [i for i in graph.initializer if i.name in used]
    names = {i.name for i in initializers}
    inputs = [v for v in graph.input if v.name in used and v.name not in names]
    del graph.initializer[:], graph.input[:]
    graph.initializer.extend(initializers)
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)
    onnx.save(model, target)


if __name__ == "__main__":
    main()
