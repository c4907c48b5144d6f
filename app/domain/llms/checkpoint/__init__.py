"""What a checkpoint holds, read from the headers of its files: tensors, parts, packing, and what follows."""
