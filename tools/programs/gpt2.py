"""gpt2.py - training steps of GPT-2 small in bf16 autocast: 8 x 1024 tokens, vocabulary 50257,
random weights.  Needs torch and transformers."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from timing import median_ms, tell

torch.manual_seed(1)
model = GPT2LMHeadModel(GPT2Config(attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
tokens = torch.randint(0, 50257, (8, 1024), device="cuda")
losses = []


def step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())


ms = median_ms(step, warm=8, repeat=15)
tell(ms, losses)
