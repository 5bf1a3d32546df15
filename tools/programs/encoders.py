"""encoders.py - inference in FP32 of BERT-large (8 x 512 tokens) or ViT-L (32 images), random
weights: python3 encoders.py bert|vit.  Needs torch and transformers."""

import sys

import torch
from transformers import BertConfig, BertModel, ViTConfig, ViTModel

from timing import median_ms, tell

torch.manual_seed(1)
if sys.argv[1] == "bert":
    config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                        intermediate_size=4096)
    model = BertModel(config).cuda().eval()
    given = {"input_ids": torch.randint(0, 30000, (8, 512), device="cuda")}
else:
    config = ViTConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                       intermediate_size=4096)
    model = ViTModel(config).cuda().eval()
    given = {"pixel_values": torch.randn(32, 3, 224, 224, device="cuda")}

with torch.inference_mode():
    ms = median_ms(lambda: model(**given), warm=3, repeat=10)
    out = model(**given).last_hidden_state
    values = out.flatten()[:: out.numel() // 64]
    tell(ms, values.cpu())
