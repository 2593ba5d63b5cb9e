"""Models of other programs in, ours out: Hugging Face, Marian, CTranslate2, Argos, ONNX."""
