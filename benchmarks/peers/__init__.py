"""Scripts that ask other programs; each is run by the Python that its program is installed for."""
