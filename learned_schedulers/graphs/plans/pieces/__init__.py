"""Pieces of an ONNX file, each a part of it for one device, executed by ONNX Runtime beside the whole file."""
