"""Build a graph of ONNX operators with expressions that read like PyTorch's.

A `Value` is the output of an operator. Each method adds an operator to the graph and returns its output.
Only operators of opset 17 are used (onnxruntime 1.12 and later), none of them from an extension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO, Literal, TypedDict

import numpy as np
import onnx
from onnx import TensorProto, helper
from torch import Tensor

from dragoman.version import __version__

OPSET, IR_VERSION = 17, 8
_SMALL = 4096  # bytes; a smaller constant is kept in the graph, a larger one in the file of weights
_PAGE = 4096  # large constants begin at a multiple of this, so that they can be mapped into memory
_LAST = 2**63 - 1  # the end of a slice that has no end

Kind = Literal["int64", "float32"]
Shape = list[int | str]
Array = np.ndarray[Any, Any]


class Port(TypedDict):
    """An input or an output of a graph."""

    type: Kind
    shape: Shape


class WeightFile:
    """Large constants in one file that several graphs share. Equal ones are stored once."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Write to `file`. The graphs refer to it by `name`, relative to their own folder."""
        self.name = name
        self._file = file
        self._offsets: dict[bytes, int] = {}

    def offset(self, data: Array, digest: bytes) -> int:
        """Return where the bytes `data` are in the file, after writing them if the digest is new."""
        if digest not in self._offsets:
            self._file.write(b"\0" * (-self._file.tell() % _PAGE))
            self._offsets[digest] = self._file.tell()
            self._file.write(data.data)
        return self._offsets[digest]


class Graph:
    """A graph that grows with each operator. `inputs` and `outputs` have the type and shape of each name."""

    def __init__(self, name: str, weights: WeightFile) -> None:
        self.name = name
        self.inputs: dict[str, Port] = {}
        self.outputs: dict[str, Port] = {}
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []
        self._constants: dict[tuple[Any, ...], Value] = {}

    def input(self, name: str, kind: Kind, shape: Shape) -> Value:
        """Add an input. A dimension with a name has any length."""
        self.inputs[name] = {"type": kind, "shape": shape}
        return Value(self, name)

    def output(self, value: Value, name: str, kind: Kind, shape: Shape) -> None:
        """Make `value` an output."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name], name))
        self.outputs[name] = {"type": kind, "shape": shape}

    def weight(self, tensor: Tensor) -> Value:
        """A constant in float32."""
        return self.constant(tensor.detach().cpu().float().contiguous().numpy())

    def number(self, number: float) -> Value:
        """A constant of one float32."""
        return self.constant(np.array(number, np.float32))

    def scalar(self, number: int) -> Value:
        """A constant of one int64."""
        return self.constant(np.array(number, np.int64))

    def whole(self, *numbers: int) -> Value:
        """A constant list of int64."""
        return self.constant(np.array(numbers, np.int64))

    def constant(self, array: Array) -> Value:
        """A constant, contiguous in memory. Equal constants are one."""
        data = array.reshape(-1).view(np.uint8)  # without a copy: matrices are large
        digest = blake2b(data.data, digest_size=32).digest()
        key = (array.dtype.str, array.shape, digest)
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = onnx.TensorProto(name=name, data_type=kind, dims=array.shape)
            if data.size < _SMALL:
                tensor.raw_data = data.tobytes()
            else:
                tensor.data_location = TensorProto.EXTERNAL
                offset = self._weights.offset(data, digest)
                place = {"location": self._weights.name, "offset": offset, "length": data.size}
                for key_of_place, value in place.items():
                    tensor.external_data.add(key=key_of_place, value=str(value))
            self._initializers.append(tensor)
            self._constants[key] = Value(self, name)
        return self._constants[key]

    def range(self, start: Value, end: Value) -> Value:
        """The int64 numbers from `start` to `end` - 1; both are scalars."""
        return self.add("Range", start, end, self.scalar(1))

    def add(self, operator: str, *inputs: Value, **attributes: Any) -> Value:
        """Add an operator with one output."""
        return self.add_many(operator, 1, *inputs, **attributes)[0]

    def add_many(self, operator: str, outputs: int, *inputs: Value, **attributes: Any) -> list[Value]:
        """Add an operator with several outputs."""
        name = f"{operator}_{len(self._nodes)}"
        names = [f"{name}.{i}" for i in range(outputs)] if outputs > 1 else [name]
        node = helper.make_node(operator, [value.name for value in inputs], names, name, **attributes)
        self._nodes.append(node)
        return [Value(self, each) for each in names]

    def to_bytes(self) -> bytes:
        """The finished graph as the content of an .onnx file."""
        numbers = {"int64": TensorProto.INT64, "float32": TensorProto.FLOAT}
        port_of = helper.make_tensor_value_info
        inputs, outputs = (
            [port_of(name, numbers[port["type"]], port["shape"]) for name, port in ports.items()]
            for ports in (self.inputs, self.outputs)
        )
        model = helper.make_model(
            helper.make_graph(self._nodes, self.name, inputs, outputs, self._initializers),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="dragoman",
            producer_version=__version__,
        )
        return bytes(model.SerializeToString(deterministic=True))


def _operator(name: str) -> Callable[..., Value]:
    """Return the method of `Value` that adds an operator whose inputs are the value and the arguments."""

    def method(self: Value, *others: Value) -> Value:
        return self.graph.add(name, self, *others)

    return method


@dataclass(frozen=True)
class Value:
    """The output of an operator, an input of the graph, or a constant."""

    graph: Graph
    name: str

    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("Add", "Sub", "Mul", "Div"))
    __matmul__, __lt__, __and__, __or__ = map(_operator, ("MatMul", "Less", "And", "Or"))
    equals, abs, relu, sigmoid = map(_operator, ("Equal", "Abs", "Relu", "Sigmoid"))

    def size(self, axis: int) -> Value:
        """The length of an axis, a scalar."""
        return self.graph.add("Shape", self, start=axis, end=axis + 1).squeeze(0)

    def reshape(self, *shape: int) -> Value:
        """Change the shape. 0 keeps an axis, -1 stands for the rest."""
        return self.graph.add("Reshape", self, self.graph.whole(*shape))

    def transpose(self, *order: int) -> Value:
        """Put the axes in this order."""
        return self.graph.add("Transpose", self, perm=list(order))

    def unsqueeze(self, *axes: int) -> Value:
        """Insert axes of length 1 at these places of the result."""
        return self.graph.add("Unsqueeze", self, self.graph.whole(*axes))

    def squeeze(self, *axes: int) -> Value:
        """Remove axes of length 1."""
        return self.graph.add("Squeeze", self, self.graph.whole(*axes))

    def split(self, *sizes: int) -> list[Value]:
        """Cut the last axis into parts of these sizes."""
        return self.graph.add_many("Split", len(sizes), self, self.graph.whole(*sizes), axis=-1)

    def cut(self, axis: int, start: int, end: int = _LAST, step: int = 1) -> Value:
        """Take start, start + step, ... of an axis, below `end`. Below 0 counts from the end."""
        bounds = (self.graph.whole(number) for number in (start, end, axis, step))
        return self.graph.add("Slice", self, *bounds)

    def take(self, index: Value) -> Value:
        """The rows with these numbers. onnxruntime refuses a number that is too high."""
        return self.graph.add("Gather", self, index, axis=0)

    def clip(self, low: int, high: int) -> Value:
        """Limit int64 numbers."""
        return self.graph.add("Clip", self, self.graph.scalar(low), self.graph.scalar(high))

    def as_float(self) -> Value:
        """As float32."""
        return self.graph.add("Cast", self, to=TensorProto.FLOAT)

    def gelu(self) -> Value:
        """x times the normal distribution function of x. Opset 17 has no operator for it."""
        number = self.graph.number
        return self * number(0.5) * (number(1.0) + self.graph.add("Erf", self * number(0.5**0.5)))

    def softmax(self) -> Value:
        """Over the last axis."""
        return self.graph.add("Softmax", self, axis=-1)

    def layer_norm(self, weight: Tensor, bias: Tensor, epsilon: float) -> Value:
        """Normalise the last axis (Ba et al. 2016)."""
        parameters = self.graph.weight(weight), self.graph.weight(bias)
        return self.graph.add("LayerNormalization", self, *parameters, axis=-1, epsilon=epsilon)

    def rms_norm(self, weight: Tensor, epsilon: float) -> Value:
        """Divide by the root mean square of the last axis. Opset 17 has no operator for it."""
        mean = self.graph.add("ReduceMean", self * self, axes=[-1], keepdims=1)
        return self / self.graph.add("Sqrt", mean + self.graph.number(epsilon)) * self.graph.weight(weight)

    def linear(self, weight: Tensor, bias: Tensor | None) -> Value:
        """x W^T + b, for W as in `nn.Linear`. Stores W^T, which is the faster order."""
        product = self @ self.graph.weight(weight.T)
        return product if bias is None else product + self.graph.weight(bias)

    def scores(self, weight: Tensor, bias: Tensor | None) -> Value:
        """`linear` with W stored as it is, because embeddings may share it.

        onnxruntime transposes it when it loads the graph. The operator Gemm would not need that, but
        onnxruntime's quantization breaks a graph in which Gemm shares its matrix.
        """
        product = self @ self.graph.weight(weight).transpose(1, 0)
        return product if bias is None else product + self.graph.weight(bias)
