"""Asyncguard inside other people's loops: trainers' callbacks and exporters of metrics.

Above the Python face, below the command line. Each module imports the package that it is for, so
import the one you need:

- `lightning`, `transformers`, `keras`: a `SyncTraceCallback` for each trainer;
- `scalars`: TensorBoard, Weights & Biases, or any function that takes numbers;
- `opentelemetry`: instruments that read the running trace when they are collected.
"""
