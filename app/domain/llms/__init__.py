"""Language models: their shapes and parameters, from a config or kept as facts, and what follows."""
