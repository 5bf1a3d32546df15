"""llama.py - four layers of a Llama of 8 billion parameters in bf16, random weights: a prompt of so
many tokens, or a step of decoding for 16 sequences: python3 llama.py 512|2048|decode [graph].  With the
last word the step is a CUDA graph, as servers run it: four layers alone keep the host busier than
the GPU.  Needs torch and transformers."""

import sys

import torch
from transformers import LlamaConfig, LlamaModel

from timing import as_graph, median_ms, tell

torch.manual_seed(1)
config = LlamaConfig(hidden_size=4096, intermediate_size=14336, num_hidden_layers=4,
                     num_attention_heads=32, num_key_value_heads=8, vocab_size=128256)
with torch.device("cuda"):
    model = LlamaModel(config).to(torch.bfloat16).eval()
shape = (16, 1) if sys.argv[1] == "decode" else (1, int(sys.argv[1]))
tokens = torch.randint(0, 128256, shape, device="cuda")

with torch.inference_mode():
    step = lambda: model(tokens, use_cache=False).last_hidden_state
    ms = median_ms(as_graph(step) if "graph" in sys.argv else step, warm=5, repeat=100)
    out = step().float()
    tell(ms, out.flatten()[:: out.numel() // 64].cpu())
