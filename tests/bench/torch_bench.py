#!/usr/bin/env python3
"""ResNet-50 of random weights in PyTorch on a GPU, in float32 without TF32:
what isotome is measured beside. Prints the median of the network alone, and
with copies of inputs and outputs from and to the host.

    torch_bench.py BATCH...
"""

import statistics
import sys
import time

import torch
from torch import nn

REPEATS = 25


def conv(inputs, outputs, size, stride=1, act=True):
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if act else nn.Sequential(*layers)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            conv(inputs, width, 1), conv(width, width, 3, stride), conv(width, outputs, 1, act=False)
        )
        same = inputs == outputs and stride == 1
        self.skip = nn.Identity() if same else conv(inputs, outputs, 1, stride, act=False)

    def forward(self, x):
        return torch.relu_(self.body(x) + self.skip(x))


def resnet50():
    layers = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def median_ms(run):
    for _ in range(5):
        run()
    times = []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    net = resnet50().eval().cuda()
    for batch in map(int, sys.argv[1:]):
        host = torch.rand(batch, 3, 224, 224).pin_memory()
        x = host.cuda()
        with torch.no_grad():
            alone = median_ms(lambda: net(x))
            copied = median_ms(lambda: net(host.cuda(non_blocking=True)).cpu())
        print(
            f"PyTorch {torch.__version__}, ResNet-50, batch {batch}: "
            f"{alone:.2f} ms, with copies {copied:.2f} ms"
        )


if __name__ == "__main__":
    main()
