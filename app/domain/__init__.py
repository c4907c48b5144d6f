"""What the rest of the program knows about prices, accelerators and their figures; standard library only."""
