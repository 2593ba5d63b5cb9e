"""torch.nn.Transformer with a plain training loop."""

from __future__ import annotations

import math

import torch
from timing import PAD, START, arguments, batches, shifted, time_steps
from torch import nn
from torch.nn.functional import cross_entropy, linear

options, shape = arguments()
torch.set_num_threads(options.threads)
torch.manual_seed(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        width = shape.d_model
        self.embedding = nn.Embedding(shape.target_vocab, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        angle = torch.arange(512)[:, None] * torch.exp(torch.arange(0, width, 2) * -math.log(1e4) / width)
        self.register_buffer("table", torch.stack((angle.sin(), angle.cos()), 2).flatten(1))
        self.dropout = nn.Dropout(shape.dropout)
        self.transformer = nn.Transformer(
            width, shape.heads, shape.encoder_layers, shape.decoder_layers, shape.d_ff, shape.dropout,
            batch_first=True,
        )  # fmt: skip

    def embed(self, ids):
        x = self.embedding(ids) * math.sqrt(shape.d_model)
        return self.dropout(x + self.table[: ids.shape[1]])

    def forward(self, source, read):
        hidden = source == PAD
        ahead = torch.ones(read.shape[1], read.shape[1], dtype=torch.bool, device=read.device).triu(1)
        states = self.transformer(
            self.embed(source), self.embed(read), tgt_mask=ahead, src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden, tgt_is_causal=True,
        )  # fmt: skip
        return linear(states, self.embedding.weight)


model = Model().train().to(options.device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))


def step(batch):
    source, target, read = batch
    logits = model(source, read)
    loss = cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


prepared = [
    [torch.from_numpy(array).to(options.device) for array in (source, target, shifted(target, START))]
    for source, target in batches(options)
]
parameters = sum(p.numel() for p in model.parameters())
time_steps(options, step, prepared, version=f"torch {torch.__version__}", parameters=parameters)
