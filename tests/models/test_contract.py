"""What every architecture promises. A new one adds a row to CONFIGS, and to LEARNERS one that learns fast."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.marks import one_of
from torch import Tensor, nn

from dragoman.models.folder.weights import put_weights, read_weights, weights_of, write_weights
from dragoman.models.search.beam import search
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import (
    Architecture,
    ConvolutionalConfig,
    RecurrentConfig,
    SSRUConfig,
    TransformerConfig,
)
from dragoman.training.data.batches import Batch, collate
from dragoman.training.step.loss import Objective
from dragoman.translation.search.options import Beam


def transformer(**changes: Any) -> TransformerConfig:
    shape: dict[str, Any] = {"d_model": 12, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    return TransformerConfig(**({"source_vocab": 19, "target_vocab": 19, "dropout": 0.1} | shape | changes))


def ssru(**changes: Any) -> SSRUConfig:
    shape: dict[str, Any] = {"d_model": 12, "d_ff": 20, "heads": 3, "encoder_layers": 2, "decoder_layers": 2}
    return SSRUConfig(**({"source_vocab": 19, "target_vocab": 19, "dropout": 0.1} | shape | changes))


def recurrent(**changes: Any) -> RecurrentConfig:
    shape = {"source_vocab": 19, "target_vocab": 19, "d_model": 12, "layers": 2, "dropout": 0.1}
    return RecurrentConfig(**(shape | changes))


def convolutional(**changes: Any) -> ConvolutionalConfig:
    shape = {"source_vocab": 19, "target_vocab": 19, "d_model": 12, "dropout": 0.1}
    return ConvolutionalConfig(**(shape | {"encoder_layers": 2, "decoder_layers": 2} | changes))


CONFIGS = {
    "transformer": transformer(),
    "transformer-pre": transformer(norm="pre", activation="gelu", tie="decoder", source_vocab=13),
    "transformer-swiglu": transformer(norm="pre", activation="swiglu", tie="none", heads=1),
    "transformer-gelu": transformer(activation="gelu", positions="sinusoidal-halves", tie="decoder"),
    # As imported Marian models are: biases everywhere, decoding starts with the padding token.
    "transformer-marian": transformer(
        attention_bias=True, output_bias=True, positions="sinusoidal-halves", pad_id=18, start_id=18, end_id=0
    ),
    # As Marian trains them.
    "transformer-marian-pre": transformer(
        attention_bias=True,
        output_bias=True,
        positions="sinusoidal-t2t",
        norm="pre",
        final_norm=False,
        norm_epsilon=1e-6,
        activation="swish",
    ),
    "transformer-unscaled": transformer(embedding_scale=False, activation="quick-gelu", norm_epsilon=0.1),
    "transformer-uneven": transformer(encoder_layers=1, decoder_layers=3, norm="pre", attention_dropout=0.2),
    "transformer-embedding-norm": transformer(embedding_norm=True, positions="learned-apart", norm="pre"),
    "transformer-window": transformer(window=4),
    **{
        f"transformer-{kind}-{window or 'all'}": transformer(
            positions=kind, d_model=24, norm="pre", window=window
        )
        for kind, window in (
            ("learned", None),
            ("relative", None),
            ("t5", None),
            ("alibi", None),
            ("rotary", None),
            ("index", None),
            ("fraction", None),
            ("none", None),
            ("relative", 5),
            ("t5", 3),
            ("rotary", 4),
        )
    },
    "transformer-rms-grouped": transformer(
        norm_kind="rms", norm="pre", d_model=16, heads=4, kv_heads=2, attention_bias=True
    ),
    "ssru": ssru(),
    # As Marian's are: decoding starts with the padding token.
    "ssru-marian": ssru(
        attention_bias=True,
        output_bias=True,
        positions="sinusoidal-t2t",
        norm_epsilon=1e-6,
        decoder_layers=1,
        pad_id=18,
        start_id=18,
        end_id=0,
    ),
    "ssru-pre": ssru(norm="pre", activation="swiglu", tie="none", source_vocab=13),
    "ssru-rotary-window": ssru(positions="rotary", window=4, d_model=24, norm="pre", final_norm=False),
    "ssru-t5": ssru(positions="t5", decoder_layers=3),
    "lstm": recurrent(),
    "gru": recurrent(cell="gru", bidirectional=False, tie="none", layers=1),
    "lstm-reversed": recurrent(reverse_source=True, bidirectional=False, layers=3),
    "lstm-dot": recurrent(attention="dot", tie="decoder", source_vocab=13),
    "gru-general": recurrent(cell="gru", attention="general"),
    "gru-additive": recurrent(cell="gru", attention="additive", output_bias=True),
    "convolutional": convolutional(),
    "convolutional-dilated": convolutional(
        dilated=True, encoder_layers=3, positions="sinusoidal", tie="none"
    ),
    "convolutional-deep": convolutional(kernel=5, decoder_layers=3, positions="fraction"),
}
# Smaller than `Seq2Seq`: what the tests below call on a model.
Model = Any


@pytest.fixture(params=CONFIGS)
def config(request: pytest.FixtureRequest) -> Any:
    return CONFIGS[request.param]


@pytest.fixture
def model(config: Any) -> Model:
    return drawn(config)


def drawn(config: Any, seed: int = 1) -> Model:
    """A model in float64 none of whose weights has a special value, resting."""
    torch.manual_seed(seed)
    model = build_model(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


LENGTHS = (4, 6, 1, 3)


def sources(config: Any, lengths: Sequence[int] = LENGTHS, seed: int = 2) -> tuple[Tensor, Tensor]:
    """source_BS of ordinary tokens, each sentence ending with the end token, and source_len_B."""
    rng = np.random.default_rng(seed)
    source_BS = torch.full((len(lengths), max(lengths)), config.pad_id)
    for b, length in enumerate(lengths):
        source_BS[b, : length - 1] = torch.from_numpy(words(rng, config.source_vocab, config, length - 1))
        source_BS[b, length - 1] = config.end_id
    return source_BS, torch.tensor(lengths)


def targets(config: Any, rows: int, length: int, seed: int = 3) -> Tensor:
    """target_BT: the start token, then ordinary ones."""
    rng = np.random.default_rng(seed)
    target_BT = torch.from_numpy(words(rng, config.target_vocab, config, rows * length)).view(rows, length)
    target_BT[:, 0] = config.start_id
    return target_BT


def words(rng: np.random.Generator, vocab: int, config: Any, count: int) -> np.ndarray[Any, Any]:
    ordinary = [
        token for token in range(vocab) if token not in (config.pad_id, config.start_id, config.end_id)
    ]
    return rng.choice(ordinary, count)


def close(got: Tensor, wanted: Tensor, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)


# Step by step


def test_step_by_step_equals_the_whole_sequence(config: Any, model: Model) -> None:
    target_BT = targets(config, len(LENGTHS), 19)  # longer than a block of the key-value cache
    with torch.no_grad():
        memory = model.encode(*sources(config))
        wanted_BTV = model.decode(target_BT, memory)
        state = model.start(memory, target_BT.shape[1])
        for t in range(target_BT.shape[1]):
            logits_BV, state = model.step(target_BT[:, t], state)
            close(logits_BV, wanted_BTV[:, t])


def check_selections(config: Any, model: Model, selections: Sequence[Sequence[int] | None]) -> None:
    """Steps through `selections`, one before each step, and compares every row with the whole-sequence
    pass over its own history."""
    rng = np.random.default_rng(4)
    with torch.no_grad():
        memory = model.encode(*sources(config))
        state = model.start(memory, len(selections))
        histories: list[list[int]] = [[] for _ in LENGTHS]
        sentences = list(range(len(LENGTHS)))
        for rows in selections:
            if rows is not None:
                state = state.select(torch.tensor(rows))
                histories = [list(histories[row]) for row in rows]
                sentences = [sentences[row] for row in rows]
            for history in histories:
                history.append(
                    int(words(rng, config.target_vocab, config, 1)[0]) if history else config.start_id
                )
            target_NT = torch.tensor(histories)
            logits_NV, state = model.step(target_NT[:, -1], state)
            wanted_NTV = model.decode(target_NT, memory.select(torch.tensor(sentences)))
            close(logits_NV, wanted_NTV[:, -1])


@pytest.mark.parametrize(
    "selections",
    [
        pytest.param([None, [0, 0, 1, 1, 2, 2, 3, 3], None, None], id="expand after a step"),
        pytest.param([[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], None, None], id="expand before the first step"),
        pytest.param([None, [3, 1, 0, 2], None], id="reorder sentences"),
        pytest.param([[0, 0, 1, 1, 2, 2, 3, 3], None, [1, 0, 2, 2, 5, 4, 7, 6], None], id="reorder rows"),
        pytest.param(
            [[0, 0, 1, 1, 2, 2, 3, 3], None, [2, 3, 6, 7], None, [0, 1], None], id="prune sentences"
        ),
        pytest.param([[0, 0, 1, 1, 2, 2, 3, 3], None, [0, 2, 4, 6], None, [1, 3], None], id="prune rows"),
        pytest.param([None, [0, 0, 0, 1, 2, 2, 3], None, [0, 3, 4, 6], None], id="uneven"),
        pytest.param([None, [0, 1, 0, 1], None, [0, 2, 3], None], id="interleaved"),
        pytest.param([None, [2], None, [0, 0], None, [1], None], id="one sentence"),
        pytest.param([None, [0, 1, 2, 3], [3, 2, 1, 0], [3, 2, 1, 0], None], id="twice and back"),
    ],
)
def test_step_by_step_after_rows_were_selected(
    config: Any, model: Model, selections: list[list[int] | None]
) -> None:
    check_selections(config, model, selections)


@pytest.mark.parametrize("seed", one_of(6, range(6)))
def test_step_by_step_after_any_selection(config: Any, model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    selections: list[list[int]] = []
    rows = len(LENGTHS)
    for _ in range(8):
        selections.append(rng.integers(rows, size=rng.integers(1, 9)).tolist())
        if rng.integers(2):
            selections[-1].sort()
        rows = len(selections[-1])
    check_selections(config, model, selections)


def test_decoding_twice_from_one_memory_gives_the_same(config: Any, model: Model) -> None:
    with torch.no_grad():
        memory = model.encode(*sources(config))
        before = memory.states_BSE.clone()
        said = []
        for _ in range(2):
            state = model.start(memory, 3)
            for token_N in targets(config, len(LENGTHS), 3).T:
                logits_NV, state = model.step(token_N, state)
            said.append(logits_NV)

    assert torch.equal(*said)
    assert torch.equal(memory.states_BSE, before)


def test_step_gives_at_least_single_precision(config: Any) -> None:
    model = drawn(config).bfloat16()
    with torch.no_grad():
        memory = model.encode(*sources(config))
        logits_NV, _ = model.step(targets(config, len(LENGTHS), 1)[:, 0], model.start(memory, 1))

    assert logits_NV.dtype == torch.float32


def test_greedy_search_says_what_the_whole_sequence_pass_says(config: Any, model: Model) -> None:
    limit = 12
    with torch.no_grad():
        memory = model.encode(*sources(config))
        found = search(model, memory, Beam(size=1), limit_B=torch.full((len(LENGTHS),), limit))
        for b, (hypothesis,) in enumerate(found):
            said: list[int] = []
            alone = memory.select(torch.tensor([b]))
            while len(said) < limit:
                logits_V = model.decode(torch.tensor([[config.start_id, *said]]), alone)[0, -1]
                for never in {config.pad_id, config.start_id} - {config.end_id}:
                    logits_V[never] = -torch.inf
                if (token := int(logits_V.argmax())) == config.end_id:
                    break
                said.append(token)
            assert list(hypothesis.tokens) == said


# What may depend on what


def test_a_later_target_token_changes_no_earlier_logit(config: Any, model: Model) -> None:
    target_BT = targets(config, len(LENGTHS), 6)
    with torch.no_grad():
        memory = model.encode(*sources(config))
        before_BTV = model.decode(target_BT, memory)
        for t in range(1, 6):
            changed_BT = target_BT.clone()
            changed_BT[:, t:] = targets(config, len(LENGTHS), 7, seed=t + 50)[:, t + 1 :]
            after_BTV = model.decode(changed_BT, memory)

            assert torch.equal(after_BTV[:, :t], before_BTV[:, :t])
            assert not torch.equal(after_BTV[:, t], before_BTV[:, t])


def test_every_earlier_target_token_counts(config: Any, model: Model) -> None:
    target_BT = targets(config, len(LENGTHS), 6)
    with torch.no_grad():
        memory = model.encode(*sources(config))
        before_BTV = model.decode(target_BT, memory)
        for t in range(1, 6):
            changed_BT = target_BT.clone()
            changed_BT[:, t] = (target_BT[:, t] + 1) % config.target_vocab
            after_BTV = model.decode(changed_BT, memory)

            assert float((after_BTV[:, 5] - before_BTV[:, 5]).abs().amax(-1).min()) > 1e-6


def test_every_source_token_counts(config: Any, model: Model) -> None:
    source_BS, source_len_B = sources(config, (5, 5))
    target_BT = targets(config, 2, 3)
    with torch.no_grad():
        before_BTV = model(source_BS, source_len_B, target_BT)
        for s in range(5):
            changed_BS = source_BS.clone()
            changed_BS[:, s] = (source_BS[:, s] + 1) % config.source_vocab
            after_BTV = model(changed_BS, source_len_B, target_BT)

            assert float((after_BTV - before_BTV).abs().amax(-1).min()) > 1e-6


def test_what_stands_in_the_padding_changes_nothing(config: Any, model: Model) -> None:
    source_BS, source_len_B = sources(config)
    target_BT = targets(config, len(LENGTHS), 4)
    other_BS = source_BS.clone()
    for b, length in enumerate(LENGTHS):
        other_BS[b, length:] = (source_BS[b, 0] + 5) % config.source_vocab
    with torch.no_grad():
        assert not torch.equal(other_BS, source_BS)
        assert torch.equal(
            model(other_BS, source_len_B, target_BT), model(source_BS, source_len_B, target_BT)
        )


@pytest.mark.parametrize("more", [1, 7])
def test_more_padding_changes_nothing(config: Any, model: Model, more: int) -> None:
    source_BS, source_len_B = sources(config)
    target_BT = targets(config, len(LENGTHS), 4)
    wider_BS = nn.functional.pad(source_BS, (0, more), value=config.pad_id)
    longer_BT = nn.functional.pad(target_BT, (0, more), value=config.pad_id)
    with torch.no_grad():
        wanted_BTV = model(source_BS, source_len_B, target_BT)
        close(model(wider_BS, source_len_B, longer_BT)[:, :4], wanted_BTV)

        memory = model.encode(wider_BS, source_len_B)
        assert memory.visible_BS.sum(1).tolist() == list(LENGTHS)
        logits_NV, _ = model.step(target_BT[:, 0], model.start(memory, 1))
        close(logits_NV, wanted_BTV[:, 0])


def test_company_in_the_batch_changes_nothing(config: Any, model: Model) -> None:
    source_BS, source_len_B = sources(config)
    target_BT = targets(config, len(LENGTHS), 5)
    with torch.no_grad():
        together_BTV = model(source_BS, source_len_B, target_BT)
        for b, length in enumerate(LENGTHS):
            alone_1TV = model(source_BS[b : b + 1, :length], source_len_B[b : b + 1], target_BT[b : b + 1])
            close(alone_1TV[0], together_BTV[b])


def test_the_loss_of_a_batch_is_the_sum_over_its_pairs(config: Any, model: Model) -> None:
    """Also the gradient: a pair must weigh the same in whatever batch it is trained."""
    pairs = [([4, 5, 6], [7]), ([8], [9, 10, 4, 5, 6]), ([11, 12], [11, 12])]

    def loss(pairs: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, list[Tensor]]:
        value, _ = Objective(model, 0.1)(batch(config, *zip(*pairs, strict=True)))
        return value, list(torch.autograd.grad(value, list(model.parameters())))

    together, together_gradients = loss(pairs)
    each = [loss([pair]) for pair in pairs]

    close(together, torch.stack([value for value, _ in each]).sum())
    for i, gradient in enumerate(together_gradients):
        close(gradient, torch.stack([gradients[i] for _, gradients in each]).sum(0), 1e-11)


def batch(config: Any, source: Sequence[list[int]], target: Sequence[list[int]]) -> Batch:
    return collate(source, target, pad_id=config.pad_id, start_id=config.start_id, end_id=config.end_id)


# Training


def test_decode_is_the_last_layer_over_its_states(config: Any, model: Model) -> None:
    target_BT = targets(config, len(LENGTHS), 4)
    memory = model.encode(*sources(config))

    assert torch.equal(model.logits(model.decode_states(target_BT, memory)), model.decode(target_BT, memory))
    assert torch.equal(model(*sources(config), target_BT), model.decode(target_BT, memory))


@pytest.mark.parametrize("direction", range(3))
def test_gradients_equal_finite_differences(config: Any, model: Model, direction: int) -> None:
    """Of the training loss, along a random direction through all weights."""
    objective = Objective(model, 0.1)
    examples = batch(config, [[4, 5, 6], [7], [8, 9]], [[4, 5], [6, 7, 8, 9], []])
    parameters = list(model.parameters())
    torch.manual_seed(direction)
    along = [torch.randn_like(parameter) for parameter in parameters]

    loss, _ = objective(examples)
    gradients = torch.autograd.grad(loss, parameters)
    slope = sum(float((g * a).sum()) for g, a in zip(gradients, along, strict=True))

    def loss_at(distance: float) -> float:
        with torch.no_grad():
            for parameter, a in zip(parameters, along, strict=True):
                parameter += distance * a
            value = float(objective(examples)[0])
            for parameter, a in zip(parameters, along, strict=True):
                parameter -= distance * a
        return value

    h = 2e-7  # so small because ReLU has corners
    assert (loss_at(h) - loss_at(-h)) / (2 * h) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_every_weight_learns(config: Any, model: Model) -> None:
    loss, _ = Objective(model, 0.1)(batch(config, [[4, 5, 6], [7]], [[4, 5], [6, 7, 8]]))
    loss.backward()

    still = [
        name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()
    ]
    assert still == []


def test_dropout_is_a_function_of_the_seed_and_rests_in_evaluation(config: Any, model: Model) -> None:
    inputs = (*sources(config), targets(config, len(LENGTHS), 4))
    with torch.no_grad():
        assert torch.equal(model(*inputs), model(*inputs))
        model.train()
        said = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            said.append(model(*inputs))

    assert torch.equal(said[0], said[1])
    assert not torch.equal(said[0], said[2])


def test_the_seed_draws_the_weights(config: Any) -> None:
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        weights.append(torch.cat([weight.flatten() for weight in weights_of(build_model(config)).values()]))

    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_model_knows_where_its_weights_are(config: Any) -> None:
    assert build_model(config).device == torch.device("cpu")
    assert build_model(config).to("meta").device == torch.device("meta")


def test_tied_embeddings_are_saved_under_the_target_s_name(config: Any) -> None:
    """Model folders hold these names: they stay."""
    names = set(weights_of(build_model(config)))

    assert "target_embedding.weight" in names
    assert ("source_embedding.weight" in names) == (config.tie != "all")
    assert ("logits.weight" in names) == (config.tie == "none")


def test_weights_saved_and_loaded_give_the_same_logits(config: Any, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    model, other = drawn(config).float(), drawn(config, seed=9).float()
    inputs = (*sources(config), targets(config, len(LENGTHS), 4))

    write_weights(path, weights_of(model))
    with torch.no_grad():
        assert not torch.equal(other(*inputs), model(*inputs))
        put_weights(other, read_weights(path), path)
        assert torch.equal(other(*inputs), model(*inputs))
        assert torch.equal(copy.deepcopy(model)(*inputs), model(*inputs))


# Learning

SYMBOLS = 12
VOCABULARY = {"source_vocab": 3 + SYMBOLS, "target_vocab": 3 + SYMBOLS, "dropout": 0.0}
LEARNERS: dict[str, Architecture] = {
    "transformer": transformer(
        **VOCABULARY, d_model=64, d_ff=128, heads=4, encoder_layers=1, decoder_layers=1, norm="pre"
    ),
    "ssru": ssru(**VOCABULARY, d_model=64, d_ff=128, heads=4, encoder_layers=1, decoder_layers=1, norm="pre"),
    "gru-attention": recurrent(**VOCABULARY, d_model=128, layers=1, cell="gru", attention="additive"),
    "convolutional": convolutional(**VOCABULARY, d_model=64),
    "lstm": recurrent(**VOCABULARY, d_model=128, layers=1),
}
PEAK, WARMUP, ROWS = 4e-3, 50, 32
TASKS: dict[str, Callable[[list[int]], list[int]]] = {
    "copy": lambda tokens: tokens,
    "reverse": lambda tokens: tokens[::-1],
    "sort": sorted,
}


# Only the Transformer is asked to sort: the others take many times as long to learn it.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "task", "updates"),
    [
        ("transformer", "copy", 400),
        pytest.param("transformer", "reverse", 800, marks=pytest.mark.slow),
        pytest.param("transformer", "sort", 800, marks=pytest.mark.slow),
        ("ssru", "copy", 400),
        ("gru-attention", "copy", 400),
        ("convolutional", "copy", 400),
        ("lstm", "copy", 400),
    ],
)
def test_a_task_is_learned(learner: str, task: str, updates: int) -> None:
    """More than 97% of unseen sequences are transduced without a mistake; by the LSTM, which has to put
    all of one into its last state, more than 85% of those with at most six tokens."""
    longest, needed = (6, 0.85) if learner == "lstm" else (8, 0.97)
    config, transduce = LEARNERS[learner], TASKS[task]
    rng = np.random.default_rng(0)

    def draw(count: int) -> list[list[int]]:
        return [rng.integers(3, 3 + SYMBOLS, rng.integers(4, longest + 1)).tolist() for _ in range(count)]

    unseen = draw(1000)
    held_out = set(map(tuple, unseen))
    torch.manual_seed(0)
    model = build_model(config)
    objective = Objective(model, 0.0)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    for update in range(1, updates + 1):
        seen = [tokens for tokens in draw(ROWS) if tuple(tokens) not in held_out]
        examples = batch(config, seen, [transduce(tokens) for tokens in seen])
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(1, update / WARMUP) * (1 + np.cos(np.pi * update / updates)) / 2
        loss, _ = objective(examples)
        (loss / examples.tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    model.eval()
    examples = batch(config, unseen, unseen)
    with torch.no_grad():
        memory = model.encode(examples.source_BS, examples.source_len_B)
    found = search(model, memory, Beam(size=1), limit_B=torch.full((len(unseen),), 12))
    right = [list(each[0].tokens) == transduce(tokens) for each, tokens in zip(found, unseen, strict=True)]
    assert np.mean(right) > needed
