"""The penalty's gradient, by automatic differentiation of its definition."""

from __future__ import annotations

import torch
from torch import nn

from dragoman.training.step.update import Anchor


def test_the_gradient_is_that_of_the_definition() -> None:
    torch.manual_seed(1)
    model = nn.Linear(3, 2).double()
    first = {name: p.detach().clone() for name, p in model.named_parameters()}
    anchor = Anchor(model.parameters(), 0.3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    x = torch.randn(5, 3, dtype=torch.float64)

    model(x).square().sum().backward()
    anchor.pull()
    pulled = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    distance = sum((p - first[name]).square().sum() for name, p in model.named_parameters())
    (model(x).square().sum() + 0.3 / 2 * distance).backward()

    for name, parameter in model.named_parameters():
        torch.testing.assert_close(pulled[name], parameter.grad)


def test_what_does_not_learn_is_left_alone() -> None:
    model = nn.Linear(3, 2)
    model.weight.requires_grad_(False)
    anchor = Anchor(model.parameters(), 1.0)
    model.bias.grad = torch.zeros(2)
    model.bias.data += 1

    anchor.pull()

    assert model.weight.grad is None
    torch.testing.assert_close(model.bias.grad, torch.ones(2))
