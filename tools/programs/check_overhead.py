#!/usr/bin/env python3
"""check_overhead.py - what GEMMTUNE_CHECK costs a training step whose products are all served.

    python3 tools/programs/check_overhead.py --csv db/measured/h100-check.csv build/libgemmtune_cublas.so
    tools/headlines --write              # check_overhead and check_overhead_50

Needs a GPU, torch, and NVRTC 12 or 13 (torch brings it along); about five minutes, of which the first process
takes most to compile the kernels.  The step is that of a model as large as GPT-2 small, in bf16: 8 x 1024 tokens,
vocabulary 50304, random weights, 30 ms on an H100.  It runs in processes of its own, in turns: served and not
checked, with every product checked (1), with one of 50 of each problem.  A row has the median over the turns of
the mean step, and what that is of the step that is not checked.

    --csv FILE      appends the rows; without it they are printed
    --turns N       3: processes of each kind
    --program FILE  another program than the step: it prints the JSON {"ms": MILLISECONDS} in its last line"""

import argparse
import csv
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

COLUMNS = ["check", "ms", "times", "products", "on_device", "on_host", "not_compared", "device", "driver", "torch", "date", "command"]
LAYERS, WIDTH, HEADS, VOCABULARY, SHAPE = 12, 768, 12, 50304, (8, 1024)


def step():
    """Trains, and prints the mean milliseconds of 50 steps, so that one in 50 has all of its checks."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.behind = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = (part.view(*SHAPE, HEADS, -1).transpose(1, 2) for part in self.qkv(self.before(x)).split(WIDTH, -1))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(*SHAPE, WIDTH))
            return x + self.down(functional.gelu(self.up(self.behind(x)), approximate="tanh"))

    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH),
                          nn.Linear(WIDTH, VOCABULARY, bias=False)).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, VOCABULARY, SHAPE, device="cuda")

    def train():
        optimizer.zero_grad(set_to_none=True)
        functional.cross_entropy(model(tokens).view(-1, VOCABULARY), tokens.view(-1)).backward()
        optimizer.step()

    for _ in range(10):
        train()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(50):
        train()
    end.record()
    end.synchronize()
    print(json.dumps({"ms": begin.elapsed_time(end) / 50, "device": torch.cuda.get_device_name(), "torch": torch.__version__}))


def driver():
    """The version of the kernel's driver; empty where there is none."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            return re.search(r"\d{3}\.[\d.]+", file.read())[0]
    except (OSError, TypeError):
        return ""


def run(options, check, report):
    """The program's numbers and the report's."""
    command = [sys.executable, *([options.program] if options.program else [__file__, "--step"])]
    serving = {"LD_PRELOAD": options.library, "GEMMTUNE_SERVE": "any", "GEMMTUNE_COMPILE": "1", "GEMMTUNE_WAIT": "1",
               "GEMMTUNE_CHECK": str(check), "GEMMTUNE_REPORT": report}
    done = subprocess.run(command, env={**os.environ, **serving}, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        sys.exit(f"check_overhead: {command[1]} ends with {done.returncode}: {done.stderr[-2000:]}")
    sys.stderr.writelines(line + "\n" for line in done.stderr.splitlines() if line.startswith("gemmtune:"))
    with open(report, encoding="utf-8") as file:
        text = file.read()
    counts = {"products": r"(\d+) products", "on_device": r"(\d+) compared .* on the device",
              "on_host": r"(\d+) compared .* on the host", "not_compared": r"(\d+) not compared"}
    found = {name: re.search(pattern, text) for name, pattern in counts.items()}
    return {**json.loads(done.stdout.strip().splitlines()[-1]), **{n: int(m[1]) if m else 0 for n, m in found.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--program")
    parser.add_argument("library")
    options = parser.parse_args()
    turns = {check: [] for check in (0, 1, 50)}
    with tempfile.TemporaryDirectory() as folder:
        run(options, 1, folder + "/report")  # compiles what the cache lacks
        for _ in range(options.turns):
            for check, of in turns.items():
                of.append(run(options, check, folder + "/report"))
    plain = statistics.median(turn["ms"] for turn in turns[0])
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    new = not options.csv or not os.path.exists(options.csv)
    with open(options.csv, "a", encoding="utf-8") if options.csv else sys.stdout as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for check, of in turns.items():
            ms, last = statistics.median(turn["ms"] for turn in of), of[-1]
            writer.writerow([check, f"{ms:.3f}", f"{ms / plain:.4f}", *(last[name] for name in COLUMNS[3:7]), last.get("device", ""),
                             driver(), last.get("torch", ""), date,
                             "python3 tools/programs/check_overhead.py " + os.path.relpath(options.library)])


if sys.argv[1:] == ["--step"]:
    step()
else:
    main()
