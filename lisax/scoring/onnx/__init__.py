"""Models as ONNX graphs, computed by onnxruntime."""
