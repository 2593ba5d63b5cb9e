"""Hugging Face transformers: MarianMTModel in a plain training loop; --tuned sets what makes it faster.

That is oneDNN, eager attention, fused Adam and, with --precision=bf16, autocast.
"""

from __future__ import annotations

import contextlib

import torch
import transformers
from timing import PAD, arguments, batches, shifted, time_steps
from torch.nn.functional import cross_entropy

options, shape = arguments("tuned", "compile")
torch.set_num_threads(options.threads)
torch.manual_seed(1)
config = transformers.MarianConfig(
    vocab_size=shape.target_vocab, d_model=shape.d_model,
    encoder_ffn_dim=shape.d_ff, decoder_ffn_dim=shape.d_ff,
    encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads,
    encoder_layers=shape.encoder_layers, decoder_layers=shape.decoder_layers,
    dropout=shape.dropout, attention_dropout=0.0, activation_dropout=0.0, activation_function="relu",
    max_position_embeddings=512, scale_embedding=True, share_encoder_decoder_embeddings=True,
    pad_token_id=PAD, bos_token_id=1, eos_token_id=2, decoder_start_token_id=PAD, forced_eos_token_id=None,
)  # fmt: skip
if options.tuned:
    # Sends products to oneDNN. Some processors then still compute in float32: `error` shows which.
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    if options.device == "cpu":
        config._attn_implementation = "eager"  # on a CPU plain products are faster than fused attention
a, b = torch.randn(256, 256), torch.randn(256, 256)
error = float(((a @ b).double() - a.double() @ b.double()).abs().max())
model = transformers.MarianMTModel(config).train().to(options.device)
called = torch.compile(model, dynamic=True) if options.compile else model
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=options.tuned or None)
in_bf16 = options.tuned and options.precision == "bf16"
autocast = torch.autocast(options.device, torch.bfloat16) if in_bf16 else contextlib.nullcontext()


def step(batch):
    source, target, read = batch
    with autocast:
        logits = called(input_ids=source, attention_mask=source != PAD, decoder_input_ids=read).logits
    loss = cross_entropy(
        logits.float().flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=0.1
    )
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


prepared = [
    [torch.from_numpy(array).to(options.device) for array in (source, target, shifted(target, PAD))]
    for source, target in batches(options)
]
parameters = sum(p.numel() for p in model.parameters())
version = f"transformers {transformers.__version__}"
time_steps(options, step, prepared, version=version, parameters=parameters, error=error)
