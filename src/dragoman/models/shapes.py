"""The shapes of models: one configuration for each architecture.

Imports no torch, so that a recipe or a model folder can be checked at once; `build_model` in
`models/seq2seq.py` builds the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options, entries, show

Tie = Literal["all", "decoder", "none"]
Norm = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
Activation = Literal["relu", "gelu", "quick-gelu", "swish", "swiglu"]
SinusoidLayout = Literal["sinusoidal", "sinusoidal-halves", "sinusoidal-t2t"]
InputPositions = Literal[SinusoidLayout, "learned", "index", "fraction", "none"]
AnyPositions = Literal[InputPositions, "learned-apart", "relative", "t5", "alibi", "rotary"]
Cell = Literal["lstm", "gru"]
AttentionScore = Literal["none", "dot", "general", "additive"]

WINDOW_BLOCK = 16  # least queries of a block of restricted attention: products of smaller ones are slow
FARTHEST_RELATIVE = 16  # k of relative positions: farther ones are treated alike (Shaw et al. 2018)
_LONGEST = 20_000  # positions that a dilated stack may see; more than any sentence has
_ARCHITECTURE = Option("Kind of network.")
_BY_TOKENIZER = "Training sets it from the tokenizer."


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Options, section="model"):
    """The options that every architecture has."""

    architecture: str
    source_vocab: Annotated[int, Option(f"Ids of the source vocabulary. {_BY_TOKENIZER}", at_least=0)] = 0
    target_vocab: Annotated[int, Option(f"Ids of the target vocabulary. {_BY_TOKENIZER}", at_least=0)] = 0
    d_model: Annotated[
        int,
        Option("Width of the embeddings and of the output of every layer (table 3, d_model).", at_least=1),
    ] = 512
    dropout: Annotated[
        float, Option("Dropout on the embeddings and in the layers (section 5.4).", at_least=0, below=1)
    ] = 0.1
    tie: Annotated[
        Tie,
        Option(
            "Matrices that share their weights. all: source embedding, target embedding and output layer "
            "(section 3.4); decoder: only the last two."
        ),
    ] = "all"
    output_bias: Annotated[bool, Option("Add a bias to the output layer.")] = False
    pad_id: Annotated[int, Option(f"Id of padding. {_BY_TOKENIZER}", at_least=0)] = 0
    start_id: Annotated[int, Option(f"Id that starts the decoder's input. {_BY_TOKENIZER}", at_least=0)] = 1
    end_id: Annotated[int, Option(f"Id that ends a sentence. {_BY_TOKENIZER}", at_least=0)] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("pad_id", "start_id", "end_id"):
            if 0 < self.target_vocab <= getattr(self, name):
                raise ConfigError(
                    f"model.{name} = {getattr(self, name)} in a vocabulary of {self.target_vocab}",
                    hint="an id must be less than the size of the vocabulary",
                )
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ConfigError(
                f'model.tie = "all" with vocabularies of {self.source_vocab} and {self.target_vocab}',
                hint='set tokenizer.shared=true, or model.tie="decoder"',
            )


@dataclass(frozen=True, kw_only=True)
class TransformerOptions(ModelConfig):
    """The options of a Transformer with either kind of decoder."""

    d_ff: Annotated[
        int, Option("Width of the hidden layer of the feed-forward networks (table 3, d_ff).", at_least=1)
    ] = 2048
    heads: Annotated[
        int, Option("Attention heads in each layer (table 3, h). They divide d_model.", at_least=1)
    ] = 8
    encoder_layers: Annotated[int, Option("Layers of the encoder (table 3, N).", at_least=1)] = 6
    decoder_layers: Annotated[int, Option("Layers of the decoder (table 3, N).", at_least=1)] = 6
    attention_dropout: Annotated[float, Option("Dropout on the attention weights.", at_least=0, below=1)] = (
        0.0
    )
    activation_dropout: Annotated[
        float, Option("Dropout on the hidden layer of the feed-forward networks.", at_least=0, below=1)
    ] = 0.0
    norm: Annotated[
        Norm,
        Option(
            "Normalisation after each sub-layer, as in the paper (post, section 3.1), or before it "
            "(pre), which trains better at high learning rates."
        ),
    ] = "post"
    norm_kind: Annotated[
        NormKind,
        Option(
            "Kind of normalisation. layer: LayerNorm (Ba et al. 2016), the paper's; rms: RMSNorm (Zhang and "
            "Sennrich 2019), which only divides by the root mean square."
        ),
    ] = "layer"
    norm_epsilon: Annotated[
        float,
        Option("Normalisation adds this to the variance, or to the mean square; 1e-6 in Marian.", above=0),
    ] = 1e-5
    final_norm: Annotated[
        bool, Option('With norm = "pre", normalise the output of the encoder and of the decoder.')
    ] = True
    activation: Annotated[
        Activation,
        Option(
            "Non-linearity of the feed-forward networks. relu: the paper's (section 3.3); swish: "
            "x sigmoid(x); quick-gelu: x sigmoid(1.702 x), the gelu of Marian up to 1.12.0."
        ),
    ] = "relu"
    positions: Annotated[
        AnyPositions,
        Option(
            "Positional encoding. sinusoidal (section 3.5), sinusoidal-halves, sinusoidal-t2t (as in "
            "Tensor2Tensor and Marian), learned, learned-apart (encoder and decoder have vectors of their "
            "own), index and fraction change the embeddings; relative, t5, alibi and rotary act inside "
            "self-attention."
        ),
    ] = "sinusoidal"
    embedding_scale: Annotated[bool, Option("Multiply the embeddings by sqrt(d_model) (section 3.4).")] = True
    embedding_norm: Annotated[
        bool, Option("Normalise the sums of embeddings and positions, in encoder and decoder, as mBART does.")
    ] = False
    window: Annotated[
        int | None,
        Option(
            "Positions that each position sees in self-attention (section 4, restricted self-attention). "
            "Left out, it sees all.",
            at_least=1,
        ),
    ] = None
    attention_bias: Annotated[bool, Option("Add biases to the projections of attention.")] = False
    kv_heads: Annotated[
        int | None,
        Option(
            "Heads of keys and values in the decoder, each shared by heads / kv_heads heads of queries "
            "(grouped-query attention, Ainslie et al. 2023); 1 is multi-query attention. Left out, as many "
            "as heads.",
            at_least=1,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d_model % self.heads:
            raise ConfigError(
                f"model.d_model = {self.d_model} is not a multiple of model.heads = {self.heads}",
                hint="each head gets d_model / heads dimensions",
            )
        if self.heads % (self.kv_heads or 1):
            raise ConfigError(
                f"model.heads = {self.heads} is not a multiple of model.kv_heads = {self.kv_heads}",
                hint="each head of keys and values serves heads / kv_heads heads of queries",
            )
        if self.norm == "post" and not self.final_norm:
            raise ConfigError(
                'model.final_norm = false with model.norm = "post"',
                hint="a post-norm model has no final norm to leave out: set model.final_norm=true",
            )
        if self.positions == "rotary" and self.d_model // self.heads % 2:
            raise ConfigError(
                f'model.positions = "rotary" with heads of {self.d_model // self.heads} dimensions',
                hint="it rotates pairs of dimensions: choose model.heads so that d_model / heads is even",
            )

    @property
    def kv_width(self) -> int:
        """Width of the keys, and of the values, of all heads of the decoder."""
        return self.d_model // self.heads * (self.kv_heads or self.heads)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(TransformerOptions):
    """The Transformer. The defaults are the paper's base model (table 3)."""

    architecture: Annotated[Literal["transformer"], _ARCHITECTURE] = "transformer"


@dataclass(frozen=True, kw_only=True)
class SSRUConfig(TransformerOptions):
    """A Transformer whose decoder has an SSRU in place of self-attention (Kim et al. 2019, section 3.1)."""

    architecture: Annotated[Literal["ssru"], _ARCHITECTURE] = "ssru"
    positions: Annotated[
        AnyPositions,
        Option(
            "Positional encoding. Those that change the embeddings do so in encoder and decoder. relative, "
            "t5, alibi and rotary act inside self-attention, so in the encoder only."
        ),
    ] = "sinusoidal"
    window: Annotated[
        int | None,
        Option(
            "Positions that each position of the encoder sees in self-attention (section 4, restricted "
            "self-attention). Left out, it sees all.",
            at_least=1,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(ModelConfig):
    """A recurrent encoder and decoder of the same width and depth."""

    architecture: Annotated[Literal["recurrent"], _ARCHITECTURE] = "recurrent"
    cell: Annotated[
        Cell, Option("Recurrent cell: LSTM (Hochreiter and Schmidhuber 1997) or GRU (Cho et al. 2014).")
    ] = "lstm"
    layers: Annotated[int, Option("Layers of the encoder, and of the decoder.", at_least=1)] = 2
    bidirectional: Annotated[
        bool, Option("Read the source in both directions, each with half of d_model.")
    ] = True
    reverse_source: Annotated[
        bool, Option("Read the source from its end to its start (Sutskever et al. 2014, section 3.3).")
    ] = False
    attention: Annotated[
        AttentionScore,
        Option(
            "How the decoder scores the encoder's states: dot or general (Luong et al. 2015, section 3.1), "
            "additive (Bahdanau et al. 2015). With none it has only the last state."
        ),
    ] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional and self.reverse_source:
            raise ConfigError(
                "model.reverse_source = true, but model.bidirectional already reads in both directions",
                hint="set model.bidirectional=false, or model.reverse_source=false",
            )
        if self.bidirectional and self.d_model % 2:
            raise ConfigError(
                f"model.d_model = {self.d_model} is odd, and model.bidirectional halves it",
                hint="choose an even width, or model.bidirectional=false",
            )


@dataclass(frozen=True, kw_only=True)
class ConvolutionalConfig(ModelConfig):
    """A convolutional encoder and decoder with attention in every decoder layer (Gehring et al. 2017)."""

    architecture: Annotated[Literal["convolutional"], _ARCHITECTURE] = "convolutional"
    encoder_layers: Annotated[int, Option("Convolutional layers of the encoder.", at_least=1)] = 4
    decoder_layers: Annotated[int, Option("Convolutional layers of the decoder.", at_least=1)] = 4
    kernel: Annotated[
        int, Option("Positions that a convolution sees (Gehring et al. 2017, section 3.2); odd.", at_least=1)
    ] = 3
    dilated: Annotated[
        bool, Option("Dilate: layer l, counted from 0, skips kernel^l - 1 positions between those it sees.")
    ] = False
    positions: Annotated[
        InputPositions, Option("Positional encoding; learned in Gehring et al. 2017 (section 3.1).")
    ] = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel % 2 == 0:
            raise ConfigError(
                f"model.kernel = {self.kernel} is even",
                hint="choose an odd number: a position and equally many neighbours on each side",
            )
        layers = max(self.encoder_layers, self.decoder_layers)
        if self.dilated and self.kernel**layers > _LONGEST:
            raise ConfigError(
                f"model.dilated = true with {layers} layers of kernel {self.kernel}: the last sees "
                f"{self.kernel**layers:,} positions",
                hint="use fewer layers or a smaller kernel",
            )


Architecture = TransformerConfig | SSRUConfig | RecurrentConfig | ConvolutionalConfig

# The options of Transformers that the native engine and the exporters know, and the values of those with
# named values. An experiment needs no entry here.
EVERYWHERE = frozenset(
    "source_vocab target_vocab pad_id start_id end_id d_model d_ff heads kv_heads encoder_layers "
    "decoder_layers window dropout attention_dropout activation_dropout attention_bias output_bias "
    "embedding_scale embedding_norm final_norm norm_epsilon norm=post norm=pre norm_kind=layer norm_kind=rms "
    "tie=all tie=decoder tie=none "
    "activation=relu activation=gelu activation=quick-gelu activation=swish activation=swiglu "
    "positions=sinusoidal positions=sinusoidal-halves positions=sinusoidal-t2t positions=learned "
    "positions=learned-apart positions=index positions=fraction positions=none positions=relative "
    "positions=t5 positions=alibi positions=rotary".split()
)


def experiments(shape: TransformerOptions) -> list[str]:
    """Return the options that only PyTorch computes, as `model.x = 1`: those set, and not in `EVERYWHERE`."""
    return [
        f"model.{name} = {show(value)}"
        for name, option in entries(type(shape)).items()
        if (value := getattr(shape, name)) != option.default
        and (f"{name}={value}" if isinstance(value, str) else name) not in EVERYWHERE
    ]
